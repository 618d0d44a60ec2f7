"""Test GET /hash, /blocks, /user/{user_id}/hashes, /consistency, /checkpoint, and /proof."""

import base64
from hashlib import sha256
from urllib.parse import quote

import pytest
import rfc8785
from cryptography.hazmat.primitives.serialization import load_pem_public_key

from ledger import log
from ledger.checkpoint import Verifier
from ledger.models import Block, Entry
from ledger.proof_file import report_digest
from tests.ledger import foreign
from tests.ledger.conftest import assert_error, seal_reports

pytestmark = [pytest.mark.django_db(databases="__all__"), pytest.mark.urls("ledger.urls")]


ABSENT = "ab" * 32


def test_hash_lookup_finds_an_anchored_hash_in_upper_or_lower_case(client):
    anchored = client.anchor("hello").json()["hash"]
    client.anchor("hello", user="43")  # The lookup returns the earliest entry.
    body = client.get(f"/hash/{anchored.upper()}").json()
    assert list(body) == ["verified", "hash", "user_id", "report_type", "block_number", "timestamp"]
    assert (body["verified"], body["hash"], body["user_id"]) == (True, anchored, "42")
    assert body["timestamp"].endswith("Z")
    assert len(body["timestamp"]) == 27


def test_hash_lookup_of_an_absent_hash_returns_200_and_not_verified(client):
    response = client.get(f"/hash/{ABSENT}")
    assert response.status_code == 200
    assert response.json() == {"verified": False, "hash": ABSENT, "message": response.json()["message"]}
    response = client.head(f"/hash/{ABSENT}")
    assert (response.status_code, response.content) == (200, b"")
    assert int(response.headers["Content-Length"]) > 0


def test_hash_lookup_of_an_absent_hash_with_strict_handling_returns_404(client):
    for prefer in ("handling=strict", "wait=5, handling=strict", 'handling="strict"; x=y'):
        assert_error(client.get(f"/hash/{ABSENT}", headers={"prefer": prefer}), 404, "E4001")
    assert client.get(f"/hash/{ABSENT}", headers={"prefer": "handling=lenient"}).status_code == 200


def test_hash_lookup_of_an_invalid_hash_is_rejected(client):
    for bad in ("a" * 63, "a" * 65, "g" * 64, "%00" + "a" * 63, "a" * 63 + "%20", "0x" + "a" * 62, "é" * 64):
        assert_error(client.get(f"/hash/{bad}"), 400, "E7001")


def test_unknown_ledger_path_or_path_traversal_returns_404(client):
    for path in (
        "/hash", "/hash/", f"/hash/{ABSENT}/", f"//hash/{ABSENT}", f"/hash/{ABSENT}/x", "/user/../hashes",
        "/user/%2e%2e/hashes", "/user/%2e%2e%2f/hashes", "/user//hashes", "/user/42",
    ):  # fmt: skip
        assert_error(client.get(path), 404, "E4001")


@pytest.fixture
def three_blocks():
    for name in "abc":
        seal_reports([name, name + name])


def test_empty_log_has_no_blocks_hashes_or_checkpoint(client):
    assert client.get("/blocks").json() == {"blocks": [], "total": 0}
    assert client.get("/user/nobody/hashes").json() == {"user_id": "nobody", "hashes": [], "total": 0}
    assert_error(client.get("/checkpoint"), 404, "E4001")


def test_ledger_blocks_are_listed_newest_first(client, three_blocks):
    body = client.get("/blocks?limit=2").json()
    assert ([block["number"] for block in body["blocks"]], body["total"]) == ([3, 2], 3)
    assert [block["number"] for block in client.get("/blocks?offset=2").json()["blocks"]] == [1]
    assert client.get("/blocks?offset=3").json()["blocks"] == []


def test_each_block_contains_the_hash_of_the_previous_block(client, three_blocks):
    previous = "0" * 64
    for number in (1, 2, 3):
        block = client.get(f"/blocks/{number}").json()
        covered = {name: block[name] for name in ("number", "previous", "root", "timestamp", "tree_size")}
        assert covered["previous"] == previous
        previous = sha256(rfc8785.dumps(covered)).hexdigest()
        assert block["block_hash"] == previous
        assert set(block) == {*covered, "block_hash", "checkpoint"}


def test_unknown_block_number_returns_404(client, three_blocks):
    for number in ("0", "4", "-1", "01", "x", "1.0", "9" * 30, "%00", "%D9%A1"):
        assert_error(client.get(f"/blocks/{number}"), 404, "E4001")


def test_block_list_with_limit_or_offset_out_of_range_is_rejected(client):
    for query in ("limit=0", "limit=101", "offset=-1", "limit=x"):
        assert_error(client.get(f"/blocks?{query}"), 400, "E1006")
    for query in ("limit=0", "limit=1001", "limit=-1", "limit=x", "offset=-1", "limit=1&limit=2", "limit="):
        assert_error(client.get(f"/user/42/hashes?{query}"), 400, "E1006")


def test_hashes_of_every_accepted_user_id_can_be_read_from_the_ledger(client):
    for user_id in (
        "org/42", "/42", "a//b/", "a b", "%2F", "x/hashes", "a\nb", "ü?#", "...", "a\\b", "a%2Fb", "%", "e\u0301",
        "\U0001f600", "~x", " x", "x ", "a;b", "a+b", "a:b@c", "a\u200bb", "user/x/hashes",
    ):  # fmt: skip
        anchored = client.anchor("hello", user=user_id).json()["hash"]
        shown = client.get(f"/user/{quote(user_id, safe='')}/hashes").json()
        assert (shown["user_id"], [row["hash"] for row in shown["hashes"]]) == (user_id, [anchored])


def test_user_id_with_dot_segments_of_a_url_path_is_rejected(client):
    for user_id in (".", "..", "a/../b", "./a", "a/."):
        assert_error(client.anchor("hello", user=user_id), 400, "E1001")


def test_hashes_of_a_user_are_listed_oldest_first_with_their_total_number(client):
    seal_reports([f"report {number}" for number in range(5)])
    seal_reports(["of somebody else"], user="43")
    body = client.get("/user/42/hashes?limit=2&offset=1").json()
    assert (body["user_id"], body["total"], len(body["hashes"])) == ("42", 5, 2)
    assert set(body["hashes"][0]) == {"hash", "report_type", "block_number", "timestamp"}
    everything = client.get("/user/42/hashes").json()["hashes"]
    assert body["hashes"] == everything[1:3]


def test_hash_list_has_100_items_by_default_and_at_most_1000(client):
    seal_reports([f"report {number}" for number in range(1001)])
    assert len(client.get("/user/42/hashes").json()["hashes"]) == 100
    assert len(client.get("/user/42/hashes?limit=1000").json()["hashes"]) == 1000


def test_hash_list_of_an_invalid_user_id_is_rejected(client):
    for user_id in ("%00", "a%00b", "x" * 256):
        assert_error(client.get(f"/user/{user_id}/hashes"), 400, "E1001")


def test_all_signed_checkpoints_of_a_log_are_consistent(client):
    for size in (1, 1, 3, 120, 200, 7, 2):
        seal_reports([f"report {size} {number}" for number in range(size)], kind=str(Block.objects.count()))
    heads = {block.tree_size: bytes(block.root) for block in Block.objects.all()}
    for old, old_root in heads.items():
        for new, new_root in heads.items():
            if old <= new:
                body = client.get(f"/consistency?from={old}&to={new}").json()
                assert (body["from"], body["to"]) == (old, new)
                proof = [bytes.fromhex(digest) for digest in body["proof"]]
                assert foreign.accepts_consistency(old, new, proof, old_root, new_root)


def test_consistency_proof_requires_two_sizes_within_the_log(client):
    seal_reports(["a", "b"])
    assert client.get("/consistency?from=0&to=2").json() == {"from": 0, "to": 2, "proof": []}
    for query in ("from=2&to=1", "from=0&to=3", "from=-1&to=2", "from=x&to=2", "from=1.0&to=2", "from=1&to=2&to=2"):
        assert_error(client.get(f"/consistency?{query}"), 400, "E1001")
    for query in ("", "from=1", "to=1"):
        assert_error(client.get(f"/consistency?{query}"), 400, "E1005")


def test_third_party_library_verifies_the_checkpoint_with_the_published_key(client):
    seal_reports(["a", "b", "c"])
    key = client.get("/key").json()
    response = client.get("/checkpoint")
    assert response.headers["Content-Type"] == "text/plain; charset=utf-8"
    head = foreign.open_checkpoint(response.content.decode(), key["vkey"])
    assert (head.origin, head.size) == (key["origin"], 3)


def test_published_pem_and_verifier_key_are_the_same_key(client, settings):
    key = client.get("/key").json()
    assert set(key) == {"origin", "vkey", "pem", "previous", "next"}
    assert (key["previous"], key["next"]) == (None, None)
    public = load_pem_public_key(key["pem"].encode()).public_bytes_raw()
    assert Verifier(key["origin"], public).vkey == key["vkey"]
    settings.LEDGER_PREVIOUS_URL, settings.LEDGER_NEXT_URL = "https://old.example", "https://new.example"
    key = client.get("/key").json()
    assert (key["previous"], key["next"]) == ("https://old.example", "https://new.example")


def test_checkpoint_is_served_for_text_and_json_accept_headers(client):
    seal_reports(["a"])
    for accept in ("text/plain", "*/*", "text/*;q=0.5", "application/json"):
        assert client.get("/checkpoint", headers={"accept": accept}).status_code == 200, accept
    assert_error(client.get("/checkpoint", headers={"accept": "image/png"}), 406, "E1014")


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


def test_proof_request_for_an_absent_hash_returns_404_and_for_an_invalid_hash_400(client):
    for suffix in ("", ".tlog-proof"):
        assert_error(client.get(f"/proof/{ABSENT}{suffix}"), 404, "E4001")
        assert_error(client.get(f"/proof/{ABSENT}0{suffix}"), 400, "E7001")


def test_inclusion_proof_reads_all_tiles_with_a_single_sql_query(client, django_assert_num_queries):
    seal_reports([f"report {number}" for number in range(700)])
    with django_assert_num_queries(4):  # The statements read the entry, the head, the tiles, and the cosignatures.
        assert log.prove(report_digest("report 600")) is not None
