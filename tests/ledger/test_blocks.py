"""GET /blocks and /blocks/{number}."""

from hashlib import sha256

import pytest
import rfc8785

from tests.ledger.conftest import assert_error, seal_reports

pytestmark = [pytest.mark.django_db(databases="__all__"), pytest.mark.urls("ledger.urls")]


@pytest.fixture
def three_blocks():
    for name in "abc":
        seal_reports([name, name + name])


def test_blocks_are_listed_newest_first(client, three_blocks):
    body = client.get("/blocks?limit=2").json()
    assert ([block["number"] for block in body["blocks"]], body["total"]) == ([3, 2], 3)
    assert [block["number"] for block in client.get("/blocks?offset=2").json()["blocks"]] == [1]
    assert client.get("/blocks?offset=3").json()["blocks"] == []


def test_each_block_is_chained_to_the_one_before(client, three_blocks):
    previous = "0" * 64
    for number in (1, 2, 3):
        block = client.get(f"/blocks/{number}").json()
        covered = {name: block[name] for name in ("number", "previous", "root", "timestamp", "tree_size")}
        assert covered["previous"] == previous
        previous = sha256(rfc8785.dumps(covered)).hexdigest()
        assert block["block_hash"] == previous
        assert set(block) == {*covered, "block_hash", "checkpoint"}


def test_an_empty_log_has_no_blocks(client):
    assert client.get("/blocks").json() == {"blocks": [], "total": 0}


@pytest.mark.parametrize("number", ["0", "4", "-1", "01", "x", "1.0", "9" * 30, "%00", "%D9%A1"])
def test_another_number_is_not_found(client, three_blocks, number):
    assert_error(client.get(f"/blocks/{number}"), 404, "E4001")


@pytest.mark.parametrize("query", ["limit=0", "limit=101", "offset=-1", "limit=x"])
def test_a_page_out_of_range_is_refused(client, query):
    assert_error(client.get(f"/blocks?{query}"), 400, "E1006")
