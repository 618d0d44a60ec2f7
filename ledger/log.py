"""Reading the log: its head, its records, and proofs computed from tiles.

A proof costs one query for at most one tile per tile level, five for any tree that fits on this planet: the
right edge of the tree, which would need as many again, is kept with the block as its frontier.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from django.db import connections, router

from ledger import merkle, tiles
from ledger.entries import ERASED, canonical_json
from ledger.errors import LogDamagedError
from ledger.models import Block, Entry, Tile
from ledger.proofs import ProofFile

NO_BLOCK = bytes(merkle.HASH_BYTES)


@dataclass(frozen=True)
class Head:
    """A block as the next one needs to see it; number 0 is the empty log."""

    number: int = 0
    tree_size: int = 0
    root: bytes = merkle.EMPTY_ROOT
    block_hash: bytes = NO_BLOCK
    timestamp: str = ""
    frontier: bytes = b""
    checkpoint: str = ""


HEAD_COLUMNS = ("number", "tree_size", "root", "block_hash", "timestamp", "frontier", "checkpoint")


def block_hash(*, number: int, previous: bytes, root: bytes, timestamp: str, tree_size: int) -> bytes:
    """SHA-256 over the canonical JSON of what a block says; the chain of blocks is made of these."""
    return sha256(
        canonical_json(
            {
                "number": number,
                "previous": previous.hex(),
                "root": root.hex(),
                "timestamp": timestamp,
                "tree_size": tree_size,
            }
        )
    ).digest()


def read_head(using: str | None = None) -> Head:
    """The last block; `using` names the database when it must be the one that is written."""
    row = Block.objects.using(using).order_by("-number").values_list(*HEAD_COLUMNS).first()
    return Head() if row is None else make_head(row)


def make_head(row: Iterable[Any]) -> Head:
    return Head(*_plain(row))


def _plain(row: Iterable[Any]) -> list[Any]:
    """The row with every blob as bytes; some drivers hand out memoryviews."""
    return [bytes(value) if isinstance(value, memoryview) else value for value in row]


@dataclass(frozen=True)
class Record:
    """An entry with its block's time, as the interface shows it."""

    index: int
    leaf_hash: bytes
    hash: bytes
    commitment: bytes
    user_id: str
    report_type: str
    block_number: int
    timestamp: str

    @property
    def entry(self) -> bytes:
        """The 64 bytes in the tree."""
        return self.hash + self.commitment


_RECORD_COLUMNS = (
    "index",
    "leaf_hash",
    "hash",
    "commitment",
    "user_id",
    "report_type",
    "block_id",
    "block__timestamp",
)


def _make_record(row: tuple[Any, ...]) -> Record:
    index, leaf, report_hash, commitment, user_id, report_type, block_number, timestamp = row
    return Record(
        index,
        bytes(leaf),
        bytes(report_hash),
        bytes(commitment),
        ERASED if user_id is None else user_id,
        ERASED if report_type is None else report_type,
        block_number,
        timestamp,
    )


def find_record(report_hash: bytes, index: int | None = None) -> Record | None:
    """The earliest entry of this hash, or the one at `index` if it is of this hash; None when absent."""
    found = Entry.objects.filter(hash=report_hash)
    if index is not None:
        found = found.filter(index=index)
    row = found.order_by("index").values_list(*_RECORD_COLUMNS).first()
    return None if row is None else _make_record(row)


def user_records(user_id: str, *, limit: int, offset: int) -> tuple[list[Record], int]:
    """One page of a user's records in the order they were anchored, and how many there are in all."""
    found = Entry.objects.filter(user_id=user_id)
    rows = found.order_by("index").values_list(*_RECORD_COLUMNS)[offset : offset + limit]
    return [_make_record(row) for row in rows], found.count()


_SELECT_TILES = 'SELECT level, "index", hashes FROM ledger_tile WHERE (level, "index") IN (VALUES {marks})'


def read_tile(name: tiles.TileName) -> bytes | None:
    """The bytes of a tile (hashes) or an entry bundle as named, None when the log is not that wide."""
    if name.level is None:
        first = name.index * tiles.TILE_WIDTH
        rows = list(
            Entry.objects.filter(index__gte=first, index__lt=first + name.width)
            .order_by("index")
            .values_list("hash", "commitment")
        )
        if len(rows) < name.width:
            return None
        return tiles.pack_bundle(bytes(report_hash) + bytes(commitment) for report_hash, commitment in rows)
    packed = read_tiles([(name.level, name.index)]).get((name.level, name.index), b"")
    # A partial tile is the beginning of what has grown since.
    wanted = name.width * merkle.HASH_BYTES
    return packed[:wanted] if len(packed) >= wanted else None


def read_tiles(keys: Collection[tiles.TileKey]) -> dict[tiles.TileKey, bytes]:
    """The stored bytes of these tiles, in one query; tiles that do not exist are left out."""
    if not keys:
        return {}
    connection = connections[router.db_for_read(Tile)]
    marks = ", ".join(["(%s, %s)"] * len(keys))
    with connection.cursor() as cursor:
        # Every proof runs this, and the ORM would take longer to write it than the database to answer.
        cursor.execute(_SELECT_TILES.format(marks=marks), [number for key in keys for number in key])
        return {(level, index): bytes(hashes) for level, index, hashes in cursor.fetchall()}


def range_roots(ranges: list[merkle.Range], known: dict[merkle.Node, bytes]) -> list[bytes]:
    """Roots of these ranges of entries; `known` are nodes that need no tile.

    Raises LogDamagedError when a tile lacks a hash that the head says is there.
    """
    parts = [merkle.complete_nodes(start, end) for start, end in ranges]
    unknown = {node: tiles.tile_of(node) for part in parts for node in part if node not in known}
    stored = read_tiles(set(unknown.values()))
    try:
        finders = {key: tiles.nodes_in_tile(key[0], hashes) for key, hashes in stored.items()}
        found = {node: finders[key](node) for node, key in unknown.items()} | known
        return [merkle.fold([found[node] for node in part]) for part in parts]
    except (KeyError, IndexError) as error:
        raise LogDamagedError from error


def frontier_of(head: Head) -> merkle.Frontier:
    """The right edge of the head's tree; LogDamagedError when what is stored does not fit its size."""
    try:
        return merkle.Frontier(head.tree_size, head.frontier)
    except ValueError as error:
        raise LogDamagedError from error


def audit_path(index: int, head: Head) -> list[bytes]:
    """Inclusion proof of an entry in the head's tree, from the leaf's sibling upwards."""
    known = frontier_of(head).nodes()
    return range_roots(merkle.inclusion_ranges(index, head.tree_size), known)


def consistency_proof(old_size: int, new_size: int, head: Head) -> list[bytes]:
    """Proof that the tree of `new_size` extends that of `old_size`; both within the head's tree."""
    known = frontier_of(head).nodes()
    return range_roots(merkle.consistency_ranges(old_size, new_size), known)


def root_at(size: int, head: Head) -> bytes:
    """Root of the tree as it was with `size` entries, at most the head's."""
    known = frontier_of(head).nodes()
    return range_roots([(0, size)], known)[0]


@dataclass(frozen=True)
class Proof:
    """An entry, the newest head, and the path from one to the other."""

    record: Record
    head: Head
    path: list[bytes]

    def file(self) -> ProofFile:
        """The same as a tlog-proof, to keep."""
        return ProofFile(self.record.index, tuple(self.path), self.head.checkpoint, self.record.commitment)


def prove(report_hash: bytes, index: int | None = None) -> Proof | None:
    """Inclusion proof of the earliest entry of this hash, or of the one at `index`; None when absent."""
    record = find_record(report_hash, index)
    if record is None:
        return None
    head = read_head()
    return Proof(record, head, audit_path(record.index, head))


@dataclass(frozen=True)
class BlockRecord:
    """A block as the interface shows it."""

    number: int
    tree_size: int
    root: bytes
    previous: bytes
    timestamp: str
    block_hash: bytes
    checkpoint: str


_BLOCK_COLUMNS = ("number", "tree_size", "root", "previous", "timestamp", "block_hash", "checkpoint")


def _make_block(row: tuple[Any, ...]) -> BlockRecord:
    return BlockRecord(*_plain(row))


def find_block(number: int) -> BlockRecord | None:
    row = Block.objects.filter(number=number).values_list(*_BLOCK_COLUMNS).first()
    return None if row is None else _make_block(row)


def list_blocks(*, limit: int, offset: int) -> tuple[list[BlockRecord], int]:
    """One page of blocks, newest first, and how many there are in all."""
    total = read_head().number
    # Numbers have no gaps, so a page deep in the list is found as fast as the first one.
    rows = Block.objects.filter(number__lte=total - offset).order_by("-number").values_list(*_BLOCK_COLUMNS)[:limit]
    return [_make_block(row) for row in rows], total
