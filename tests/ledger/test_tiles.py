"""Test canonical tile names, tile arithmetic, and hashes computed from tiles."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger import merkle, tiles
from tests.ledger.trees import tree_root

LEAVES = [merkle.leaf_hash(number.to_bytes(4, "big")) for number in range(256 * 3 + 9)]


@given(level=st.one_of(st.none(), st.integers(0, 63)), index=st.integers(0, tiles.MAX_INDEX), width=st.integers(1, 256))
def test_every_tile_path_is_parsed_back_to_its_tile_name(level, index, width):
    name = tiles.TileName(level, index, width)
    assert tiles.parse_tile_path(name.path()) == name


def test_tile_paths_and_bundles_equal_the_examples_of_the_specification():
    assert tiles.TileName(0, 1234067).path() == "0/x001/x234/067"
    assert tiles.TileName(None, 0, 7).path() == "entries/000.p/7"
    assert tiles.TileName(2, 999).path() == "2/999"
    assert tiles.TileName(2, 1000).path() == "2/x001/000"
    assert tiles.pack_bundle([b"ab", b"", b"c" * 64]) == b"\x00\x02ab\x00\x00\x00\x40" + b"c" * 64


def test_malformed_tile_path_is_rejected():
    for path in (
        "", "0", "0/", "/0/000", "0/000/", "0/0", "0/00", "0/0000", "0/x000", "0/x000/000", "0/001/x000",
        "0/x001/x234/67", "0/001/002", "00/000", "01/000", "64/000", "-1/000", "+1/000", "1 /000",
        "0/000.p", "0/000.p/", "0/000.p/0", "0/000.p/00", "0/000.p/01", "0/000.p/256", "0/000.p/999",
        "0/000.p/1/", "0/000.p/-1", "0/X001/000", "0/000\n", "0/\u0660\u0660\u0660", "entry/000",
        "Entries/000", "entries/x000/000", "entries/000.p/256", "0/" + "x001/" * 7 + "000",
        "0/" + "x999/" * 500 + "000",
    ):  # fmt: skip
        with pytest.raises(ValueError, match="tile path"):
            tiles.parse_tile_path(path)


@given(st.text(alphabet="x0123459/.pe", max_size=24))
def test_tile_path_parser_accepts_only_canonical_paths(path):
    try:
        name = tiles.parse_tile_path(path)
    except ValueError:
        return
    assert name.path() == path


def test_tile_counts_equal_the_worked_examples_of_the_specification():
    assert tiles.tiles_of(0) == []
    assert tiles.tiles_of(1) == [(0, 1)]
    assert tiles.tiles_of(256) == [(0, 1), (1, 1)]
    assert tiles.tiles_of(70_000) == [(0, 274), (1, 2), (2, 1)]
    assert tiles.width_of(0, 273, 70_000) == 112
    assert tiles.width_of(1, 1, 70_000) == 17
    assert tiles.width_of(2, 0, 70_000) == 1
    assert tiles.width_of(0, 274, 70_000) == 0
    assert tiles.width_of(1, 0, 256) == 1


def test_growing_log_writes_every_tile_of_the_specification():
    frontier = merkle.Frontier()
    stored: dict[tuple[int, int], bytes] = {}
    # The steps are uneven, so that batches end inside and across tiles.
    at = 0
    for step in [1, 2, 250, 3, 1, 255, 200, 65]:
        for key, added in tiles.grow(frontier, LEAVES[at : at + step]).items():
            stored[key] = stored.get(key, b"") + added
        at += step
        for level, count in tiles.tiles_of(at):
            for index in range(count):
                assert len(stored[level, index]) == 32 * tiles.width_of(level, index, at)
    assert at == len(LEAVES)
    assert b"".join(stored[0, index] for index in range(4)) == b"".join(LEAVES)
    assert stored[1, 0] == b"".join(tree_root(LEAVES[n * 256 : n * 256 + 256]) for n in range(3))
    assert set(stored) == {(0, 0), (0, 1), (0, 2), (0, 3), (1, 0)}
    for size in (1, 255, 256, 257, 512, 700, len(LEAVES)):
        for node in merkle.complete_nodes(0, size):
            level, index = node
            expected = tree_root(LEAVES[index << level : (index + 1) << level])
            assert tiles.nodes_in_tile(tiles.tile_of(node)[0], stored[tiles.tile_of(node)])(node) == expected
    find = tiles.nodes_in_tile(0, b"".join(LEAVES[:3]))
    for node in [(0, 3), (1, 1), (2, 0), (7, 0)]:  # These nodes are outside of the partial tile.
        with pytest.raises(IndexError):
            find(node)


def test_inclusion_proof_reads_one_tile_per_level_if_the_right_edge_is_known():
    places = [(10**9, 0), (10**9, 10**9 - 1), (10**9 + 12345, 5 * 10**8), (256**3 + 257, 1), (2**40, 77)]
    for size, index in places:
        edge = set(merkle.complete_nodes(0, size))
        nodes = {
            node
            for inclusion_range in merkle.inclusion_ranges(index, size)
            for node in merkle.complete_nodes(*inclusion_range)
        } - edge
        assert len({tiles.tile_of(node) for node in nodes}) <= 5
