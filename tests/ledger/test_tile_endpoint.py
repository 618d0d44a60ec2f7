"""Test GET /tile/... (C2SP tlog-tiles) by rebuilding the tree from tiles."""

import base64

import pytest

from ledger import merkle
from tests.ledger.conftest import assert_error, seal_reports
from tests.ledger.trees import tree_root

pytestmark = [pytest.mark.django_db(databases="__all__"), pytest.mark.urls("ledger.urls")]


@pytest.fixture
def log_of_600():
    seal_reports([f"report {number}" for number in range(300)])
    seal_reports([f"report {number}" for number in range(300, 600)])


def read_tile(client, path):
    response = client.get(f"/tile/{path}")
    assert response.status_code == 200
    assert response.headers["Content-Type"] == "application/octet-stream"
    assert "immutable" in response.headers["Cache-Control"]
    return response.content


def test_served_entries_and_tiles_reproduce_the_signed_root(client, log_of_600):
    entries, leaves = [], b""
    for path in ("000", "001", "002.p/88"):
        bundle = read_tile(client, f"entries/{path}")
        assert len(bundle) % 66 == 0
        assert all(bundle[at : at + 2] == b"\x00\x40" for at in range(0, len(bundle), 66))
        entries += [bundle[at + 2 : at + 66] for at in range(0, len(bundle), 66)]
        leaves += read_tile(client, f"0/{path}")
    hashes = [merkle.leaf_hash(entry) for entry in entries]
    assert b"".join(hashes) == leaves
    root = client.get("/checkpoint").content.decode().split("\n")[2]
    assert tree_root(hashes) == base64.b64decode(root)
    assert read_tile(client, "1/000.p/2") == tree_root(hashes[:256]) + tree_root(hashes[256:512])


def test_partial_tile_remains_unchanged_as_the_log_grows(client):
    seal_reports([f"report {number}" for number in range(5)])
    before = read_tile(client, "0/000.p/5"), read_tile(client, "entries/000.p/5")
    seal_reports([f"report {number}" for number in range(5, 400)])
    assert (read_tile(client, "0/000.p/5"), read_tile(client, "entries/000.p/5")) == before


def test_missing_or_malformed_tile_path_returns_404(client, log_of_600):
    for path in (
        "0/002", "0/002.p/89", "0/003.p/1", "0/003", "1/000", "1/000.p/3", "2/000.p/1", "63/000.p/1", "", "entries/002",
        "entries/002.p/89", "entries/003", "0/0", "0/x000/000", "0/000.p/0", "0/000.p/256", "00/000", "64/000",
        "0/x009/x223/x372/x036/x854/x775/807", "0/x009/x223/x372/x036/x854/x775/808",
        "entries/x036/x028/x797/x018/x963/967",
    ):  # fmt: skip
        assert_error(client.get(f"/tile/{path}"), 404, "E4001")
