"""One transaction, one block: the only code that appends to the log.

The transaction takes the log's lock, reads the head, writes entries, tiles and the signed block, and commits. It
compares the head it read with the head it replaces, and each tile with the width it expects. Even without the lock, two
processes could never sign two histories.

While the lock is held all other blocks wait, so it is held for two round trips and the commit. Therefore duplicates are
not looked up at first: the database rejects them, and only then the block is sealed a second time, after a lookup.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import chain
from typing import Any

import orjson
from django.db import DatabaseError, IntegrityError, transaction
from django.db.backends.utils import CursorWrapper

from ledger import guard, log, merkle, signing, tiles
from ledger.entries import Receipt, Submission, format_timestamp, make_receipt
from ledger.errors import LogMovedError, LogUnavailableError
from ledger.models import database

logger = logging.getLogger("platform.ledger")

# The lock of the log among the advisory locks of its PostgreSQL database: "ledger" in ASCII.
_ADVISORY_LOCK = int.from_bytes(b"ledger", "big")
# Rows in one INSERT: eight values each, within SQLite's 32,766.
_ROWS_PER_STATEMENT = 1_000

_LOCK = "SELECT pg_advisory_xact_lock(%s)"
# The last block, and the one before: the guard file may not have heard of the last one yet.
_SELECT_HEADS = f"SELECT {', '.join(log.HEAD_COLUMNS)} FROM ledger_block ORDER BY number DESC LIMIT 2"  # noqa: S608
_INSERT_BLOCK = """
    INSERT INTO ledger_block
        (number, tree_size, root, previous, timestamp, block_hash, frontier, checkpoint)
    SELECT %s, %s, %s, %s, %s, %s, %s, %s
    WHERE COALESCE((SELECT max(number) FROM ledger_block), 0) = %s
      AND (%s = 0 OR EXISTS (SELECT 1 FROM ledger_block WHERE number = %s AND tree_size = %s AND root = %s))
"""
_INSERT_ENTRIES = """
    INSERT INTO ledger_entry
        ("index", leaf_hash, hash, commitment, nonce, user_id, report_type, block_number)
    {rows}
"""
_SELECT_KNOWN = """
    SELECT hash, user_id, report_type, "index", leaf_hash, commitment, nonce, block_number FROM ledger_entry
    WHERE (hash, user_id, report_type) IN ({rows})
"""
# PostgreSQL takes all rows as one JSON text: the statement is the same for any number of them, and the driver
# has one parameter to quote instead of eight per row.
_ENTRIES_OF_JSON = """
    SELECT "index", decode(leaf_hash, 'hex'), decode(hash, 'hex'), decode(commitment, 'hex'),
        decode(nonce, 'hex'), user_id, report_type, block_number
    FROM json_to_recordset(%s) AS rows ("index" bigint, leaf_hash text, hash text, commitment text,
        nonce text, user_id text, report_type text, block_number bigint)
"""
_IDENTITIES_OF_JSON = """
    SELECT decode(hash, 'hex'), user_id, report_type
    FROM json_to_recordset(%s) AS rows (hash text, user_id text, report_type text)
"""
_ENTRY_COLUMNS = (
    "index", "leaf_hash", "hash", "commitment", "nonce", "user_id", "report_type", "block_number"
)  # fmt: skip
_IDENTITY_COLUMNS = ("hash", "user_id", "report_type")
_INSERT_TILE = 'INSERT INTO ledger_tile (level, "index", hashes) VALUES (%s, %s, %s)'
_GROW_TILE = 'UPDATE ledger_tile SET hashes = {joined} WHERE level = %s AND "index" = %s AND length(hashes) = %s'
# SQLite joins two blobs to a text unless told otherwise.
_JOINED = {"postgresql": "hashes || %s", "sqlite": "CAST(hashes || %s AS BLOB)"}

Statement = tuple[str, list[Any]]
Identity = tuple[bytes, str, str]
# Called once the log is locked: what came until then still gets into the block.
Take = Callable[[], Sequence[Submission]]


class _AnchoredAlreadyError(Exception):
    """The log has one of the submissions: the block has to be made without it."""


def seal(take: Take) -> list[Receipt]:
    """Append what `take` gives, in order, in one signed block; receipts in the same order.

    A submission that is anchored already (same hash, user and type) gets the first receipt, and if all are, no new
    block is made. Returns only after the commit. Raises LogUnavailableError, with nothing appended, when the database
    cannot be used or `signing.check_guard` or `signing.check_key` refuses.
    """
    taken: list[Submission] = []

    def take_once() -> Sequence[Submission]:
        if not taken:
            taken.extend(take())
        return taken

    try:
        try:
            receipts, head = _seal_block(take_once, looks_first=False)
        except _AnchoredAlreadyError:
            receipts, head = _seal_block(take_once, looks_first=True)
    except DatabaseError as error:
        logger.warning("sealing failed: %s", type(error.__cause__ or error).__name__)  # its text may quote a row
        raise LogUnavailableError from error
    # The point of no return: the block is committed, and from here on this machine knows that it is. Also of a block
    # that was committed before: the guard may have been out of reach then, and nothing is acknowledged without it.
    if head.tree_size:
        guard.advance(guard.Mark(head.tree_size, head.root))
    return receipts


def _seal_block(take: Take, *, looks_first: bool) -> tuple[list[Receipt], log.Head]:
    """Receipts of one transaction, and the head that they stand under.

    Raises _AnchoredAlreadyError, with nothing appended, unless it `looks_first` at what the log has.
    """
    with transaction.atomic(using=database().alias, durable=True), database().cursor() as cursor:
        vendor = database().vendor
        head, before = lock_and_read_heads(cursor, vendor)
        submissions = take()
        signing.check_guard(head, before, using=database().alias)
        signing.check_key(head)
        known = _read_known(cursor, vendor, submissions) if looks_first else {}
        timestamp = max(format_timestamp(datetime.now(UTC)), head.timestamp)
        fresh: dict[Identity, tuple[Submission, Receipt]] = {}
        answers = []
        for submission in submissions:
            identity = submission.identity
            receipt = known.get(identity)
            if receipt is None and identity in fresh:
                receipt = replace(fresh[identity][1], duplicate=True)
            if receipt is None:
                receipt = make_receipt(
                    submission, index=head.tree_size + len(fresh), block_number=head.number + 1, timestamp=timestamp
                )
                fresh[identity] = submission, receipt
            answers.append(receipt)
        if not fresh:
            return answers, head
        if head.number == 0:
            # Before the first block, so that a log that lost its guard differs from one that never had any.
            guard.advance(guard.Mark(0, head.root))
        try:
            return answers, _append(cursor, vendor, head, timestamp, list(fresh.values()))
        except IntegrityError as error:
            raise (LogMovedError if looks_first else _AnchoredAlreadyError) from error


def lock_and_read_heads(cursor: CursorWrapper, vendor: str) -> tuple[log.Head, log.Head]:
    """Lock the log; return its head and the one before. If there are fewer blocks, it is an empty `Head`."""
    statements: list[Statement] = [(_SELECT_HEADS, [])]
    if vendor == "postgresql":
        # On SQLite the transaction itself, begun IMMEDIATE, is the lock.
        statements.insert(0, (_LOCK, [_ADVISORY_LOCK]))
    heads = [log.Head(*row) for row in _run(cursor, vendor, statements)[-1]]
    head, before, *_ = [*heads, log.Head(), log.Head()]
    return head, before


def _read_known(cursor: CursorWrapper, vendor: str, submissions: Sequence[Submission]) -> dict[Identity, Receipt]:
    identities = [submission.identity for submission in submissions]
    statements = _with_rows(_SELECT_KNOWN, _IDENTITIES_OF_JSON, vendor, _IDENTITY_COLUMNS, identities)
    known: dict[Identity, Receipt] = {}
    for report_hash, user_id, report_type, *place in chain.from_iterable(_run(cursor, vendor, statements)):
        index, leaf, commitment, nonce, number = place
        receipt = Receipt(report_hash, index, leaf, commitment, nonce, number, duplicate=True)
        known[report_hash, user_id, report_type] = receipt
    return known


def _append(
    cursor: CursorWrapper, vendor: str, head: log.Head, timestamp: str, fresh: Sequence[tuple[Submission, Receipt]]
) -> log.Head:
    """Write the block, its entries and tiles; return it as the new head. IntegrityError for an entry that is there."""
    frontier = log.frontier_of(head)
    grown = tiles.grow(frontier, (new.leaf_hash for _, new in fresh))
    new_head = signing.sign_block(head, frontier, timestamp)
    statements: list[Statement] = [_block_statement(head, new_head)]
    for (level, index), added in grown.items():
        width = tiles.width_of(level, index, head.tree_size)
        if width:
            grow = _GROW_TILE.format(joined=_JOINED[vendor])
            statements.append((grow, [added, level, index, width * merkle.HASH_BYTES]))
        else:
            statements.append((_INSERT_TILE, [level, index, added]))
    rows = [
        (new.index, new.leaf_hash, new.report_hash, new.commitment, new.nonce, *entry.identity[1:], new.block_number)
        for entry, new in fresh
    ]
    statements += _with_rows(_INSERT_ENTRIES, _ENTRIES_OF_JSON, vendor, _ENTRY_COLUMNS, rows)
    written = _run(cursor, vendor, statements)
    # Block and tiles each match the head and the width they were computed from, or nothing does.
    if any(count != 1 for count in written[: 1 + len(grown)]):
        raise LogMovedError
    return new_head


def _with_rows(
    template: str, of_json: str, vendor: str, columns: Sequence[str], rows: Sequence[tuple[Any, ...]]
) -> list[Statement]:
    """Statements that bring these rows along: as JSON on PostgreSQL, as VALUES on SQLite."""
    if vendor == "postgresql":
        documents = [
            {name: value.hex() if isinstance(value, bytes) else value for name, value in zip(columns, row, strict=True)}
            for row in rows
        ]
        return [(template.format(rows=of_json), [orjson.dumps(documents).decode()])]
    statements = []
    for start in range(0, len(rows), _ROWS_PER_STATEMENT):
        batch = rows[start : start + _ROWS_PER_STATEMENT]
        marks = ", ".join([f"({', '.join(['%s'] * len(columns))})"] * len(batch))
        statements.append((template.format(rows=f"VALUES {marks}"), [value for row in batch for value in row]))
    return statements


def _run(cursor: CursorWrapper, vendor: str, statements: Sequence[Statement]) -> list[Any]:
    """Execute the statements and return what each gave: rows of a SELECT, else how many rows it wrote.

    On PostgreSQL they travel together: the log is locked meanwhile, and a round trip is what it waits for.
    """
    together = vendor == "postgresql"
    if together:
        cursor.execute(
            ";".join(sql for sql, _ in statements), [value for _, parameters in statements for value in parameters]
        )
    results = []
    for position, (sql, parameters) in enumerate(statements):
        if not together:
            cursor.execute(sql, parameters)
        elif position:
            cursor.nextset()
        results.append(cursor.fetchall() if sql.lstrip().startswith("SELECT") else cursor.rowcount)
    return results


def _block_statement(head: log.Head, new: log.Head) -> Statement:
    """Write the block, but only on top of the very head that it was computed from."""
    values = [new.number, new.tree_size, new.root, head.block_hash]
    values += [new.timestamp, new.block_hash, new.frontier, new.checkpoint]
    expected = [head.number, head.number, head.number, head.tree_size, head.root]
    return _INSERT_BLOCK, [*values, *expected]
