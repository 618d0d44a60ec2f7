"""`manage.py verify`: how it recognizes a file, and its exit status for each outcome of a decision bundle."""

from types import SimpleNamespace

import pytest

from config.api import heavy
from ledger.models import Block
from tests.ledger.conftest import assert_error, open_log, seal_reports

pytestmark = [pytest.mark.django_db(databases="__all__"), pytest.mark.urls("ledger.urls")]


@pytest.fixture
def proof(client):
    seal_reports([f"report {number}" for number in range(20)])
    anchored = client.anchor("the report").json()
    text = client.get(f"/proof/{anchored['hash']}.tlog-proof").content.decode()
    seal_reports(["later"])
    return {"hash": anchored["hash"], "proof": text}


def verdict(client, document):
    response = client.post_json("/verify", document)
    assert response.status_code == 200
    body = response.json()
    return body["verified"], [step["name"] for step in body["steps"]]


def test_the_report_or_its_hash_is_proven(client, proof):
    steps = ["file", "checkpoint", "leaf", "inclusion", "consistency"]
    assert verdict(client, proof) == (True, steps)
    assert verdict(client, {"proof": proof["proof"], "report_data": "the report"}) == (True, steps)
    assert verdict(client, {**proof, "hash": proof["hash"].upper()}) == (True, steps)


def test_another_report_is_not(client, proof):
    given = {"proof": proof["proof"], "report_data": "the report "}
    assert verdict(client, given) == (False, ["file", "checkpoint", "leaf", "inclusion"])


def test_a_file_that_is_no_proof_is_a_verdict_and_no_error(client, proof):
    assert verdict(client, {**proof, "proof": "hello"}) == (False, ["file"])


def test_a_checkpoint_that_was_tampered_with_is_found(client, proof):
    assert verdict(client, {**proof, "proof": proof["proof"].replace("\n21\n", "\n22\n")}) == (
        False,
        ["file", "checkpoint"],
    )


def test_a_log_that_forgot_what_it_signed_is_found(client, proof):
    with open_log() as cursor:
        cursor.execute("DELETE FROM ledger_block WHERE number > 1")
    assert Block.objects.count() == 1
    assert verdict(client, proof) == (False, ["file", "checkpoint", "leaf", "inclusion", "consistency"])


def test_a_body_of_another_shape_is_refused(client, proof):
    for changes in (
        {"proof": None}, {"proof": 5}, {"proof": ""}, {"hash": 5}, {"report_data": "x"}, {"hash": None},
        {"proof": "x" * 65_537},
    ):  # fmt: skip
        assert_error(client.post_json("/verify", {**proof, **changes}), 400, "E1001")
    assert_error(client.post_json("/verify", {"proof": proof["proof"]}), 400, "E1001")
    for bad in ("x" * 64, "ab", "0x" + "a" * 62):
        assert_error(client.post_json("/verify", {**proof, "hash": bad}), 400, "E7001")


def test_two_large_reports_are_checked_at_once_and_the_third_is_refused(client):
    proof = "no proof"
    large = {"proof": proof, "report_data": "x" * 1_100_000}
    callers = [SimpleNamespace(auth=None, META={"REMOTE_ADDR": f"192.0.2.{number}"}) for number in range(2)]
    with heavy.turn(callers[0]):
        assert client.post_json("/verify", large).status_code == 200
        with heavy.turn(callers[1]):
            assert_error(client.post_json("/verify", large), 503, "E5030")
            assert client.post_json("/verify", {"proof": proof, "report_data": "small"}).status_code == 200
    assert client.post_json("/verify", large).status_code == 200


def test_one_address_has_one_large_report_checked_at_a_time(client):
    here = SimpleNamespace(auth=None, META={"REMOTE_ADDR": "127.0.0.1"})
    with heavy.turn(here):
        refused = client.post_json("/verify", {"proof": "no proof", "report_data": "x" * 1_100_000})
        assert_error(refused, 429, "E6001")
