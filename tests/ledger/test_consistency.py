"""GET /consistency?from=&to=: every checkpoint ever signed is a prefix of every later one."""

import pytest

from ledger.models import Block
from tests.ledger import foreign
from tests.ledger.conftest import assert_error, seal_reports

pytestmark = [pytest.mark.django_db(databases="__all__"), pytest.mark.urls("ledger.urls")]


def test_all_checkpoints_ever_signed_are_consistent(client):
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


def test_every_tree_extends_the_empty_one(client):
    seal_reports(["a", "b"])
    assert client.get("/consistency?from=0&to=2").json() == {"from": 0, "to": 2, "proof": []}


@pytest.mark.parametrize(
    "query",
    ["from=2&to=1", "from=0&to=3", "from=-1&to=2", "from=x&to=2", "from=1.0&to=2", "from=1&to=2&to=2"],
)
def test_sizes_out_of_range_are_refused(client, query):
    seal_reports(["a", "b"])
    assert_error(client.get(f"/consistency?{query}"), 400, "E1001")


@pytest.mark.parametrize("query", ["", "from=1", "to=1"])
def test_both_sizes_are_needed(client, query):
    assert_error(client.get(f"/consistency?{query}"), 400, "E1005")
