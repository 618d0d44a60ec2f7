"""Names, hashes, and nodes of tree tiles in the format C2SP tlog-tiles.

A tile of level L has up to 256 consecutive hashes of tree level 8 * L. Full tiles never change. The last tile of a
level only grows at its end, so a partial tile is always a prefix of the full tile.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256

from ledger.merkle import HASH_BYTES, Frontier, Node, Range, complete_nodes, fold

TILE_HEIGHT = 8
TILE_WIDTH = 1 << TILE_HEIGHT
FULL_TILE_BYTES = TILE_WIDTH * HASH_BYTES
MAX_LEVEL = 63
# The largest index of a tile. Indexes are signed 64-bit integers, which are sufficient for any realistic tree.
MAX_INDEX = (1 << 63) - 1

TileKey = tuple[int, int]

_PATH = re.compile(
    r"(?P<level>entries|0|[1-9][0-9]?)/(?P<index>(?:x[0-9]{3}/)*[0-9]{3})(?:\.p/(?P<width>[1-9][0-9]{0,2}))?", re.ASCII
)


@dataclass(frozen=True)
class TileName:
    """The name of a tile in a client's request. A `level` of None means an entry bundle. `width` is 1 to 256."""

    level: int | None
    index: int
    width: int = TILE_WIDTH

    def path(self) -> str:
        groups = [f"{self.index % 1000:03d}"]
        rest = self.index // 1000
        while rest:
            groups.append(f"x{rest % 1000:03d}")
            rest //= 1000
        level = "entries" if self.level is None else str(self.level)
        suffix = "" if self.width == TILE_WIDTH else f".p/{self.width}"
        return f"{level}/{'/'.join(reversed(groups))}{suffix}"


def parse_tile_path(path: str) -> TileName:
    """Parse a tile's path. Raises ValueError if the path is not canonical."""
    match = _PATH.fullmatch(path)
    if match is None:
        raise ValueError("not a tile path")
    level = None if match["level"] == "entries" else int(match["level"])
    index = int(match["index"].replace("x", "").replace("/", ""))
    width = int(match["width"] or TILE_WIDTH)
    name = TileName(level, index, width)
    # The pattern also accepts two forms that are not canonical: extra x000 groups, and `.p/256` for a full tile.
    if name.path() != path or (level or 0) > MAX_LEVEL or index > MAX_INDEX or width > TILE_WIDTH:
        raise ValueError("not a canonical tile path")
    return name


def width_of(level: int, index: int, size: int) -> int:
    """Return the number of hashes (0 to 256) of this tile in a tree of `size` entries."""
    hashes_in_level = size >> (TILE_HEIGHT * level)
    return max(0, min(TILE_WIDTH, hashes_in_level - index * TILE_WIDTH))


def tile_of(node: Node) -> TileKey:
    level, index = node
    return level // TILE_HEIGHT, index >> (TILE_HEIGHT - level % TILE_HEIGHT)


def tiles_of(size: int) -> list[tuple[int, int]]:
    """Return `(level, number of tiles)` for each level of a tree of `size` entries."""
    counts = []
    level = 0
    while hashes_in_level := size >> (TILE_HEIGHT * level):
        counts.append((level, -(-hashes_in_level // TILE_WIDTH)))
        level += 1
    return counts


def push(frontier: Frontier, leaf: bytes) -> list[tuple[TileKey, bytes]]:
    """Append a leaf hash to the frontier. Return `(tile, hash)` for each completed hash that a tile stores."""
    index = frontier.size
    return [
        ((level // TILE_HEIGHT, index >> level >> TILE_HEIGHT), digest)
        for level, digest in frontier.push(leaf)
        if level % TILE_HEIGHT == 0
    ]


def grow(frontier: Frontier, leaves: Iterable[bytes]) -> dict[TileKey, bytes]:
    """Append leaf hashes to the frontier. Return the bytes to append to each tile that grows."""
    added: dict[TileKey, list[bytes]] = {}
    for leaf in leaves:
        for key, digest in push(frontier, leaf):
            added.setdefault(key, []).append(digest)
    return {key: b"".join(hashes) for key, hashes in added.items()}


def build_pyramid(hashes: bytes) -> tuple[bytes, ...]:
    """Return all complete nodes inside a tile. Row r contains the packed nodes r levels above the tile's hashes."""
    rows = [hashes]
    while len(row := rows[-1]) > HASH_BYTES:
        # The children are already adjacent bytes, so hashing a slice is faster than `node_hash`.
        pairs = range(0, len(row) - HASH_BYTES, 2 * HASH_BYTES)
        rows.append(b"".join([sha256(b"\x01" + row[at : at + 2 * HASH_BYTES]).digest() for at in pairs]))
    return tuple(rows)


# Only tiles above level 0 are cached: they are few, and every proof needs some of them. The key is the tile's content,
# so the cache is never stale. A cached pyramid has at most 24 KiB.
_cached_pyramid = lru_cache(maxsize=256)(build_pyramid)


def nodes_in_tile(level: int, hashes: bytes) -> Callable[[Node], bytes]:
    """Return a function that returns the hash of a complete node from the bytes of a tile.

    The function raises IndexError for a node beyond the tile's width.
    """
    rows = _cached_pyramid(hashes) if level else build_pyramid(hashes)

    def find(node: Node) -> bytes:
        row = node[0] % TILE_HEIGHT
        start = HASH_BYTES * (node[1] & ((TILE_WIDTH >> row) - 1))
        digest = rows[row][start : start + HASH_BYTES]
        if not digest:
            raise IndexError(f"the tile has no node {node}")
        return digest

    return find


class Plan:
    """The tiles for the roots of ranges of entries. `known` hashes require no tile."""

    def __init__(self, ranges: Sequence[Range], known: Mapping[Node, bytes]) -> None:
        self._known = known
        self._parts = [complete_nodes(start, end) for start, end in ranges]
        self._unknown = {node: tile_of(node) for part in self._parts for node in part if node not in known}
        self.tiles = set(self._unknown.values())

    def roots(self, stored: Mapping[TileKey, bytes]) -> list[bytes]:
        """Compute the roots from the bytes of the tiles. Raises KeyError or IndexError if a hash is missing."""
        finders = {key: nodes_in_tile(key[0], hashes) for key, hashes in stored.items()}
        nodes = {node: finders[key](node) for node, key in self._unknown.items()}
        return [fold([nodes[node] if node in nodes else self._known[node] for node in part]) for part in self._parts]


def pack_bundle(entries: Iterable[bytes]) -> bytes:
    """Return an entry bundle.

    For each entry, the bundle contains the entry's length as a big-endian uint16, and then the entry.
    """
    return b"".join(len(entry).to_bytes(2, "big") + entry for entry in entries)
