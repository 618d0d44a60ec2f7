"""Recompute the whole log from its entries, for `verify_ledger`.

The audit reads all rows in order and in chunks, and compares the rows with values that it computes from the entries
alone. It verifies leaf hashes, commitments, the tiles of every level, and the guard file. It also verifies the root,
hash, chain, signature, and cosignatures of every block. Memory use does not grow with the log. The audit also compares
the types of stored values, because SQLite can store text in a numeric column.
"""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

from django.db import DatabaseError, transaction

from ledger import guard, log, merkle, tiles
from ledger.checkpoint import Checkpoint, NoteError, Verifier, WitnessVerifier, open_checkpoint, open_note
from ledger.entries import commitment_of
from ledger.errors import LogUnavailableError
from ledger.models import Block, Cosignature, Entry, Tile, database

# The number of entries per read is a multiple of a tile. It is small to limit memory use.
_ENTRIES_PER_READ = 16 * tiles.TILE_WIDTH
_BLOCKS_PER_READ = 1_000
_ENTRY_COLUMNS = ("index", "leaf_hash", "hash", "commitment", "nonce", "user_id", "report_type", "block_id")


class FaultError(Exception):
    """The audit found a fault. `where` is the table, row, and column."""

    def __init__(self, where: str, what: str) -> None:
        super().__init__(f"{where}: {what}")


def verify_log(verifier: Verifier, progress: Callable[[int], object] = lambda _entries: None) -> tuple[int, int]:
    """Recompute the log. Return the numbers of entries and blocks.

    `progress` is called with the number of entries since the previous call. Raises FaultError.
    """
    audit = _Audit(verifier)
    try:
        with _snapshot():
            audit.run(progress)
    except DatabaseError as error:
        # The database's message describes the fault, for example invalid UTF-8 or an unreadable page.
        raise FaultError(f"behind ledger_entry {audit.frontier.size}", str(error)) from error
    return audit.frontier.size, audit.block.number


@contextmanager
def _snapshot() -> Iterator[None]:
    """Read one snapshot of the database during concurrent writes."""
    connection = database()
    if connection.in_atomic_block:
        yield
    elif connection.vendor == "postgresql":
        with transaction.atomic(using=connection.alias), connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            yield
    else:
        # On SQLite, Django's BEGIN IMMEDIATE would block all writers during the audit.
        with connection.cursor() as cursor:
            cursor.execute("BEGIN DEFERRED")
            try:
                yield
            finally:
                cursor.execute("ROLLBACK")


def _expect(actual: Any, expected: Any, where: str, what: str = "is not what follows from the entries") -> None:
    """Raise FaultError if the stored value differs from the computed value, or has a different type."""
    if type(actual) is not type(expected) or actual != expected:
        raise FaultError(where, what)


class _Audit:
    """A pass over the log. Its state is the tree up to the current entry, and the entry's block."""

    def __init__(self, verifier: Verifier) -> None:
        self.verifier = verifier
        self.frontier = merkle.Frontier()
        self.block = log.Head()
        self.blocks: Any = Block.objects.order_by("number").values().iterator(chunk_size=_BLOCKS_PER_READ)
        self.pending: dict[str, Any] = {}
        # Each key is a tree level. Each value contains the hashes of the level's last, incomplete tile.
        self.filling: dict[int, list[bytes]] = {}
        try:
            self.guarded = guard.read()
        except LogUnavailableError as error:
            raise FaultError("guard file", str(error)) from error

    def run(self, progress: Callable[[int], object]) -> None:
        entries: Any = Entry.objects.order_by("index").values_list(*_ENTRY_COLUMNS).iterator(_ENTRIES_PER_READ)
        with closing(entries), closing(self.blocks):  # a fault must also close the cursors
            self._next_block()
            for row in entries:
                self._add(row)
                progress(1)
        if self.pending:
            raise FaultError(f"ledger_entry {self.frontier.size}", "is missing")
        for level, hashes in self.filling.items():
            if hashes:
                self._verify_tile(level, self.frontier.size >> tiles.TILE_HEIGHT * (level + 1), hashes)
        expected, stored = sum(count for _, count in tiles.tiles_of(self.frontier.size)), Tile.objects.count()
        if stored != expected:
            raise FaultError("ledger_tile", f"{stored} tiles are stored, the tree has {expected}")
        self._verify_cosignatures()
        if self.guarded is not None and self.guarded.size > self.frontier.size:
            raise FaultError("guard file", f"remembers {self.guarded.size} entries, the database has fewer")

    def _next_block(self) -> None:
        self.pending = next(self.blocks, {})
        if not self.pending:
            return
        where = f"ledger_block {self.block.number + 1}"
        _expect(self.pending["number"], self.block.number + 1, where, "is missing, or its number was changed")
        size, timestamp = self.pending["tree_size"], self.pending["timestamp"]
        if type(size) is not int or size <= self.block.tree_size:
            raise FaultError(f"{where} tree_size", "does not grow")
        if not isinstance(timestamp, str) or timestamp < self.block.timestamp:
            raise FaultError(f"{where} timestamp", "goes backwards")

    def _add(self, row: tuple[Any, ...]) -> None:
        if not self.pending:
            raise FaultError(f"ledger_entry {row[0]}", "stands in no block")
        index = self.frontier.size
        for (level, tile), digest in tiles.push(self.frontier, self._verify_entry(index, row)):
            hashes = self.filling.setdefault(level, [])
            hashes.append(digest)
            if len(hashes) == tiles.TILE_WIDTH:
                self._verify_tile(level, tile, hashes)
                hashes.clear()
        if self.frontier.size == self.pending["tree_size"]:
            self._verify_block()
            self._next_block()

    def _verify_entry(self, index: int, row: tuple[Any, ...]) -> bytes:
        stored_index, stored_leaf, report_hash, commitment, nonce, user_id, report_type, block_number = row
        where = f"ledger_entry {index}"
        if stored_index != index:
            raise FaultError(where, "is missing, or its index was changed")
        try:
            report_hash = bytes(report_hash)
            leaf = merkle.leaf_hash(report_hash + bytes(commitment))
            opened = commitment
            if nonce is not None or user_id is not None or report_type is not None:
                metadata = {"report_type": report_type, "timestamp": self.pending["timestamp"], "user_id": user_id}
                opened = commitment_of(bytes(nonce), report_hash=report_hash, **metadata)
        except (TypeError, ValueError) as error:
            raise FaultError(where, f"holds a value of the wrong type ({error})") from error
        if stored_leaf != leaf:
            raise FaultError(f"{where} leaf_hash, hash or commitment", "do not belong together")
        if opened != commitment:
            raise FaultError(f"{where} nonce, user_id or report_type", "is not what the commitment covers")
        if block_number != self.pending["number"]:
            raise FaultError(f"{where} block_number", f"is not {self.pending['number']}")
        return leaf

    def _verify_tile(self, level: int, index: int, hashes: list[bytes]) -> None:
        row = Tile.objects.filter(level=level, index=index).values_list("hashes").first()
        if row is None:
            raise FaultError(f"ledger_tile {level}/{index}", "is missing, or its key was changed")
        _expect(row[0], b"".join(hashes), f"ledger_tile {level}/{index} hashes")

    def _verify_block(self) -> None:
        stored, number = self.pending, self.block.number + 1
        where = f"ledger_block {number}"
        size, root = self.frontier.size, self.frontier.root()
        try:
            checkpoint = open_checkpoint(stored["checkpoint"], self.verifier)
        except (NoteError, TypeError, AttributeError) as error:
            raise FaultError(f"{where} checkpoint", str(error)) from error
        _expect(checkpoint, Checkpoint(self.verifier.name, size, root), f"{where} checkpoint or its entries")
        _expect(stored["root"], root, f"{where} root")
        _expect(stored["previous"], self.block.block_hash, f"{where} previous")
        _expect(stored["frontier"], self.frontier.packed(), f"{where} frontier")
        block_hash = log.block_hash(
            number=number, previous=self.block.block_hash, root=root, timestamp=stored["timestamp"], tree_size=size
        )
        _expect(stored["block_hash"], block_hash, f"{where} block_hash or timestamp")
        self.block = log.Head(number, size, root, block_hash, stored["timestamp"])
        if self.guarded is not None and self.guarded.size == size and self.guarded.root != root:
            raise FaultError("guard file", f"remembers another root for {size} entries")

    def _verify_cosignatures(self) -> None:
        """Verify each cosignature with the witness and the block in its row."""
        rows = Cosignature.objects.order_by("block_id", "timestamp", "witness").select_related("block")
        cosignatures: Any = rows.iterator(_BLOCKS_PER_READ)
        with closing(cosignatures):  # a fault must also close the cursor
            for cosignature in cosignatures:
                try:
                    note = cosignature.block.checkpoint + cosignature.line()
                    open_note(note, WitnessVerifier.from_vkey(cosignature.witness))
                except (NoteError, TypeError, ValueError, AttributeError, OverflowError) as error:
                    where = f"ledger_cosignature of block {cosignature.block_id} at {cosignature.timestamp}"
                    where = f"{where} by {cosignature.witness}"
                    raise FaultError(f"{where}: block_number, timestamp, witness or signature", str(error)) from error
        expected = Cosignature.objects.count()
        joined = Cosignature.objects.filter(block__number__isnull=False, block__tree_size__gt=0).count()
        _expect(joined, expected, "ledger_cosignature block_number", "refers to a missing block")
