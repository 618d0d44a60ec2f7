"""Test GET /proof/{hash} and /proof/{hash}.tlog-proof."""

import base64

import pytest

from ledger import log
from ledger.models import Entry
from ledger.proof_file import report_digest
from tests.ledger import foreign
from tests.ledger.conftest import assert_error, seal_reports

pytestmark = [pytest.mark.django_db(databases="__all__"), pytest.mark.urls("ledger.urls")]

ABSENT = "ab" * 32


def test_third_party_library_accepts_proofs_of_entries_across_the_log(client):
    for size in (1, 2, 130, 300):
        seal_reports([f"report {size} {number}" for number in range(size)])
    vkey = client.get("/key").json()["vkey"]
    entries = list(Entry.objects.order_by("index"))
    for number in (*range(0, len(entries), 7), 255, 256, 257, len(entries) - 1):
        body = client.get(f"/proof/{bytes(entries[number].hash).hex()}").json()
        assert body["index"] == number
        assert body["entry"] == body["hash"] + body["commitment"]
        path = [bytes.fromhex(digest) for digest in body["audit_path"]]
        leaf, root = bytes.fromhex(body["leaf_hash"]), bytes.fromhex(body["root"])
        assert foreign.accepts_inclusion(number, body["tree_size"], leaf, path, root)
        head = foreign.open_checkpoint(body["checkpoint"], vkey)
        assert (head.size, bytes(head.root)) == (body["tree_size"], root)


def test_third_party_library_accepts_the_proof_file(client):
    seal_reports([f"report {number}" for number in range(77)])
    anchored = client.anchor("the report").json()
    response = client.get(f"/proof/{anchored['hash']}.tlog-proof")
    assert response.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert f"{anchored['hash']}.tlog-proof" in response.headers["Content-Disposition"]
    text = response.content.decode()
    vkey = client.get("/key").json()["vkey"]
    assert foreign.accepts_proof_file(text, bytes.fromhex(anchored["leaf_hash"]), vkey)
    assert text.split("\n")[1] == "extra " + base64.b64encode(bytes.fromhex(anchored["commitment"])).decode()


def test_proof_endpoint_returns_the_earliest_or_the_requested_entry(client):
    first, second = client.anchor("same", user="1").json(), client.anchor("same", user="2").json()
    address = f"/proof/{first['hash']}"
    assert client.get(address).json()["index"] == first["index"]
    assert client.get(f"{address}?index={second['index']}").json()["leaf_hash"] == second["leaf_hash"]
    assert_error(client.get(f"{address}?index=2"), 404, "E4001")
    for index in ("-1", "x", "01", "1&index=1", "9223372036854775808"):
        assert_error(client.get(f"{address}?index={index}"), 400, "E1001")


def test_proof_of_an_absent_hash_returns_404_and_an_invalid_hash_400(client):
    for suffix in ("", ".tlog-proof"):
        assert_error(client.get(f"/proof/{ABSENT}{suffix}"), 404, "E4001")
        assert_error(client.get(f"/proof/{ABSENT}0{suffix}"), 400, "E7001")


def test_proof_reads_all_tiles_with_a_single_query(client, django_assert_num_queries):
    seal_reports([f"report {number}" for number in range(700)])
    with django_assert_num_queries(4):  # The statements read the entry, the head, the tiles, and the cosignatures.
        assert log.prove(report_digest("report 600")) is not None
