"""Test POST /anchor (specification section 4.3)."""

from hashlib import sha256

import pytest

from ledger.entries import commitment_of
from ledger.models import Block, Entry
from tests.config import json_corpus
from tests.ledger.conftest import assert_error

pytestmark = [pytest.mark.django_db(databases="__all__"), pytest.mark.urls("ledger.urls")]

BODY = {"user_id": "42", "report_type": "credit_report", "report_data": "hello"}


def test_anchor_response_contains_the_hash_the_block_and_the_commitment_opening_of_the_report(client):
    response = client.anchor("hello")
    body = response.json()
    assert response.status_code == 200
    assert body["success"] is True
    assert body["hash"] == sha256(b"hello").hexdigest()
    assert body["block_number"] == 1
    assert body["extrinsic_hash"] == "0x" + body["leaf_hash"]
    assert body["duplicate"] is False
    entry = bytes.fromhex(body["hash"] + body["commitment"])
    assert body["leaf_hash"] == sha256(b"\0" + entry).hexdigest()
    opened = commitment_of(
        bytes.fromhex(body["nonce"]), report_hash=bytes.fromhex(body["hash"]), report_type="credit_report",
        timestamp=client.get(f"/hash/{body['hash']}").json()["timestamp"], user_id="42",
    )  # fmt: skip
    assert opened.hex() == body["commitment"]


def test_repeated_anchoring_of_the_same_report_returns_the_first_record(client):
    first = client.anchor("hello").json()
    again = client.anchor("hello")
    assert again.status_code == 200
    assert again.json() == {**first, "duplicate": True}
    assert Entry.objects.count() == 1
    assert client.anchor("hello", user="43").json()["index"] == 1, "another user"
    assert client.anchor("hello", kind="other").json()["index"] == 2, "another type"


def test_report_text_is_hashed_as_received(client):
    for data in ("\u202ertl\u200b", "e\u0301", "\u00e9", "😀", " ", "\n", "'; DROP TABLE x", "{{7*7}}", "<script>"):
        response = client.anchor(data, user=data, kind=data)
        assert response.json()["hash"] == sha256(data.encode()).hexdigest()
        record = client.get(f"/hash/{response.json()['hash']}").json()
        assert (record["user_id"], record["report_type"]) == (data, data)


@pytest.mark.parametrize("member", BODY)
def test_report_with_a_missing_or_invalid_field_is_rejected(client, member):
    longest = {"user_id": 255, "report_type": 64}.get(member, 64)
    assert client.post_json("/anchor", {**BODY, member: "x" * longest}).status_code == 200
    before = Entry.objects.count()
    too_long = [] if member == "report_data" else ["x" * (longest + 1)]
    for value in (None, 5, 1.5, True, ["a"], {"a": "b"}, "", "a\0b", *too_long):
        answer = client.post_json("/anchor", {**BODY, member: value})
        assert_error(answer, 400, "E1002" if value == "a\0b" else "E1001")
    missing = client.post_json("/anchor", {name: value for name, value in BODY.items() if name != member})
    assert_error(missing, 400, "E1001")
    assert missing.json()["details"][0]["field"] == member
    assert Entry.objects.count() == before


def test_report_of_ten_mebibytes_is_accepted_and_one_byte_more_is_rejected(client):
    assert client.anchor("x" * (10 * 1024 * 1024)).status_code == 200
    assert_error(client.anchor("x" * (10 * 1024 * 1024 + 1)), 413, "E1007")
    too_long = "é" * (5 * 1024 * 1024 + 1)  # The limit counts bytes, not characters.
    assert_error(client.post_json("/anchor/batch", {"items": [item(0), item(1, report_data=too_long)]}), 413, "E1007")
    assert Entry.objects.count() == 1


def test_anchor_request_with_a_body_that_is_not_a_json_object_is_rejected(client):
    for raw in (b"null", b"[]", b'"x"', b"1"):  # test_json_corpus.py covers invalid JSON.
        assert_error(client.post("/anchor", raw, content_type="application/json"), 400, "E1001")
    for media_type in ("text/plain", "application/x-www-form-urlencoded", "application/json; charset=latin-1"):
        assert_error(client.post("/anchor", b"{}", content_type=media_type), 415, "E1013")


def item(number, **changes):
    return {"user_id": "42", "report_type": "credit_report", "report_data": f"report {number}", **changes}


def test_anchor_batch_of_1000_reports_creates_one_block_in_order(client):
    response = client.post_json("/anchor/batch", {"items": [item(number) for number in range(1000)]})
    body = response.json()
    assert response.status_code == 200
    assert body["block_number"] == 1
    assert [result["index"] for result in body["results"]] == list(range(1000))
    assert {result["block_number"] for result in body["results"]} == {1}
    assert Block.objects.count() == 1


def test_report_anchored_before_its_batch_retains_its_log_index(client):
    first = client.anchor("report 1").json()
    body = client.post_json("/anchor/batch", {"items": [item(0), item(1), item(0)]}).json()
    assert body["block_number"] == 2
    assert body["results"][1] == {**first, "duplicate": True}
    assert body["results"][2] == {**body["results"][0], "duplicate": True}
    body = client.post_json("/anchor/batch", {"items": [item(1)]}).json()
    assert (body["block_number"], Block.objects.count()) == (1, 2), "it creates no block"


def test_anchor_batch_with_an_invalid_item_is_rejected(client):
    for items in (None, [], {}, "x", [1], [{}], [item(0), item(1, user_id=5)], [item(0)] * 1001):
        assert_error(client.post_json("/anchor/batch", {"items": items}), 400, "E1001")
        assert not Entry.objects.exists()


def test_anchor_request_with_malformed_json_returns_400_and_stores_nothing(client):
    for path in ("/anchor", "/anchor/batch", "/verify"):
        for body in list(dict.fromkeys(json_corpus.malformed()))[::37]:
            assert_error(client.post(path, body, content_type="application/json"), 400, "E1002")
        assert not Entry.objects.exists()
