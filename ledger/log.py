"""Reads of the log: its head, its records, and proofs from its tiles.

A proof needs one query for at most one tile per tile level. The tree's right edge would require further tiles, so each
block stores this edge as its frontier.
"""

import logging
from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from typing import Any

from django.db import connections, router

from config.core.json_text import canonical_json
from ledger import merkle, proof_file, tiles
from ledger.checkpoint import MAX_SIGNATURES, Checkpoint, NoteError, WitnessVerifier, open_checkpoint, open_note
from ledger.entries import ERASED
from ledger.errors import LogDamagedError
from ledger.keys import signer
from ledger.models import Block, Cosignature, Entry, Tile
from ledger.proof_file import ProofFile

logger = logging.getLogger("platform.ledger")


@dataclass(frozen=True)
class Head:
    """A block, and the data for the next block. The block of the empty log has the number 0."""

    number: int = 0
    tree_size: int = 0
    root: bytes = merkle.EMPTY_ROOT
    block_hash: bytes = bytes(merkle.HASH_BYTES)
    timestamp: str = ""
    frontier: bytes = b""
    checkpoint: str = ""


HEAD_COLUMNS = ("number", "tree_size", "root", "block_hash", "timestamp", "frontier", "checkpoint")


def block_hash(*, number: int, previous: bytes, root: bytes, timestamp: str, tree_size: int) -> bytes:
    """Return the SHA-256 of the canonical JSON of a block. Each block contains the hash of the previous block."""
    document = {"number": number, "previous": previous.hex(), "root": root.hex()}
    return sha256(canonical_json({**document, "timestamp": timestamp, "tree_size": tree_size})).digest()


def read_head(using: str | None = None) -> Head:
    """Return the last block. `using` is the alias of the database."""
    row = Block.objects.using(using).order_by("-number").values_list(*HEAD_COLUMNS).first()
    return Head(*(row or ()))


def cosigned_checkpoint(head: Head) -> str:
    """Return the head's checkpoint with the newest valid cosignature of each witness."""
    lines: dict[str, str] = {}
    columns = ("witness", "timestamp", "signature")
    newest = Cosignature.objects.filter(block_id=head.number).order_by("-timestamp").values_list(*columns)
    # The limit is twice the maximum of a note, because a witness may have several cosignatures.
    for witness, timestamp, signature in newest[: 2 * MAX_SIGNATURES]:
        if witness in lines or len(lines) == MAX_SIGNATURES - 1:
            continue
        if line := _verified_line(head.checkpoint, witness, timestamp, bytes(signature)):
            lines[witness] = line
    return head.checkpoint + "".join(lines[witness] for witness in sorted(lines))


@lru_cache(maxsize=1_000)
def _verified_line(checkpoint: str, witness: str, timestamp: int, signature: bytes) -> str:
    """Return a cosignature's line in a note, or "" for a damaged line, which would invalidate every proof."""
    try:
        verifier = WitnessVerifier.from_vkey(witness)
        line = verifier.signature(timestamp, signature).line()
        open_note(checkpoint + line, verifier)
    except (NoteError, OverflowError):
        logger.warning("a cosignature by %s at %s is damaged: run `manage.py verify_ledger`", witness, timestamp)
        return ""
    return line


@dataclass(frozen=True)
class Record:
    """An entry in the format of the API, with the time of its block."""

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
        return self.hash + self.commitment


_RECORD_COLUMNS = (
    "index", "leaf_hash", "hash", "commitment", "user_id", "report_type", "block_id", "block__timestamp",
)  # fmt: skip


def _make_record(row: Any) -> Record:
    columns: list[Any] = [ERASED if value is None else value for value in row]
    return Record(*columns)


def find_record(report_hash: bytes, index: int | None = None) -> Record | None:
    """Return the earliest entry with this hash. With `index`, return the entry at this index if it has this hash.

    Returns None if no entry matches.
    """
    entries = Entry.objects.filter(hash=report_hash)
    if index is not None:
        entries = entries.filter(index=index)
    row = entries.order_by("index").values_list(*_RECORD_COLUMNS).first()
    return None if row is None else _make_record(row)


def user_records(user_id: str, *, limit: int, offset: int) -> tuple[list[Record], int]:
    entries = Entry.objects.filter(user_id=user_id)
    rows = entries.order_by("index").values_list(*_RECORD_COLUMNS)[offset : offset + limit]
    return [_make_record(row) for row in rows], entries.count()


_SELECT_TILES = 'SELECT level, "index", hashes FROM ledger_tile WHERE (level, "index") IN (VALUES {marks})'


def read_tile(name: tiles.TileName) -> bytes | None:
    """Return the bytes of a tile or an entry bundle. Returns None if the log has too few entries."""
    if name.level is None:
        first = name.index * tiles.TILE_WIDTH
        entries = Entry.objects.filter(index__gte=first, index__lt=first + name.width).order_by("index")
        rows: Any = list(entries.values_list("hash", "commitment"))
        if len(rows) < name.width:
            return None
        return tiles.pack_bundle(report_hash + commitment for report_hash, commitment in rows)
    packed = read_tiles([(name.level, name.index)]).get((name.level, name.index), b"")
    # A partial tile is the start of the stored tile.
    length = name.width * merkle.HASH_BYTES
    return packed[:length] if len(packed) >= length else None


def read_tiles(keys: Collection[tiles.TileKey]) -> dict[tiles.TileKey, bytes]:
    """Return the stored bytes of these tiles in one query. Omits tiles that don't exist."""
    if not keys:
        return {}
    connection = connections[router.db_for_read(Tile)]
    marks = ", ".join(["(%s, %s)"] * len(keys))
    with connection.cursor() as cursor:
        # Every proof runs this query, and the ORM would be slower than the database.
        cursor.execute(_SELECT_TILES.format(marks=marks), [number for key in keys for number in key])
        return {(level, index): hashes for level, index, hashes in cursor.fetchall()}


def range_roots(ranges: list[merkle.Range], head: Head) -> list[bytes]:
    """Return the roots of these ranges of the head's entries. Raises LogDamagedError if a tile lacks a hash."""
    plan = tiles.Plan(ranges, known=frontier_of(head).nodes())
    try:
        return plan.roots(read_tiles(plan.tiles))
    except (KeyError, IndexError) as error:
        raise LogDamagedError from error


def frontier_of(head: Head) -> merkle.Frontier:
    """Return the right edge of the head's tree. Raises LogDamagedError if the edge doesn't match the tree's size."""
    try:
        return merkle.Frontier(head.tree_size, head.frontier)
    except ValueError as error:
        raise LogDamagedError from error


def consistency_proof(old_size: int, new_size: int, head: Head) -> list[bytes]:
    """Return the proof that the tree of `new_size` (at most the head's size) extends the tree of `old_size`."""
    return range_roots(merkle.consistency_ranges(old_size, new_size), head)


@dataclass(frozen=True)
class Proof:
    """An inclusion proof: an entry, a head that covers it, the audit path, and the head's cosigned checkpoint."""

    record: Record
    head: Head
    path: list[bytes]
    checkpoint: str

    @property
    def audit_path(self) -> list[str]:
        return [digest.hex() for digest in self.path]

    def file(self) -> ProofFile:
        return ProofFile(self.record.index, tuple(self.path), self.checkpoint, self.record.commitment)


def prove(report_hash: bytes, index: int | None = None) -> Proof | None:
    """Return the proof of the entry at `index`, or of the earliest entry with this hash.

    Return None if no entry matches.
    """
    record = find_record(report_hash, index)
    return None if record is None else prove_record(record, read_head())


def prove_record(record: Record, head: Head) -> Proof:
    """Return the inclusion proof of an entry under a head that covers it."""
    path = range_roots(merkle.inclusion_ranges(record.index, head.tree_size), head)
    return Proof(record, head, path, cosigned_checkpoint(head))


def list_blocks(*, limit: int, offset: int) -> tuple[list[Block], int]:
    total = read_head().number
    # Block numbers are consecutive, so a range is faster than an offset.
    return list(Block.objects.filter(number__lte=total - offset).order_by("-number")[:limit]), total


def verify_proof(text: str, report_hash: bytes) -> list[proof_file.Step]:
    """Verify a proof file offline. Then verify that the proof is consistent with this log.

    Returns the steps up to the first failure. If the last step is ok, the report is proven.
    """
    verifier = signer().verifier
    steps = proof_file.check_proof(text, report_hash, verifier)
    if steps[-1].ok:
        steps.append(_consistency_step(open_checkpoint(ProofFile.from_text(text).checkpoint_note, verifier)))
    return steps


def _consistency_step(checkpoint: Checkpoint) -> proof_file.Step:
    """Check whether the log still contains the tree of the checkpoint."""
    head = read_head()
    if checkpoint.size > head.tree_size:
        detail = f"This log has only {head.tree_size} entries: it forgot some, or its database is old."
        return proof_file.Step("consistency", ok=False, detail=detail)
    if range_roots([(0, checkpoint.size)], head) != [checkpoint.root]:
        detail = "This log's tree had another root at that size: the log has two histories."
        return proof_file.Step("consistency", ok=False, detail=detail)
    detail = f"The log of today, {head.tree_size} entries, still begins with that tree."
    return proof_file.Step("consistency", ok=True, detail=detail)
