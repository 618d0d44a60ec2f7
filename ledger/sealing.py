"""Sealing of blocks. Only this module appends to the log, with one transaction per block.

The transaction locks the log, reads the head, writes entries, tiles, and the signed block, and commits. The statements
require an unchanged head, and the expected width of each tile. So even without the lock, the log can't get two
histories.

Other blocks wait for the lock, so the transaction is short: two round trips and the commit. The transaction does not
look up duplicates first. If the database rejects a duplicate, the block is sealed again after a look-up.
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

# The log's advisory lock in the PostgreSQL database ("ledger" in ASCII).
_ADVISORY_LOCK = int.from_bytes(b"ledger", "big")
# The number of rows per INSERT. A row has eight values, and SQLite's limit is 32,766 parameters.
_ROWS_PER_STATEMENT = 1_000

_LOCK = "SELECT pg_advisory_xact_lock(%s)"
# The guard file may contain the head of the last block or of the block before.
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
# On PostgreSQL, one JSON parameter contains all rows. So the SQL is constant, and the driver quotes only one parameter.
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
# Without the CAST, SQLite would concatenate two blobs to a text.
_JOINED = {"postgresql": "hashes || %s", "sqlite": "CAST(hashes || %s AS BLOB)"}

Statement = tuple[str, list[Any]]
Identity = tuple[bytes, str, str]
# `seal` calls this after it locks the log, so that the block includes all submissions up to that time.
Take = Callable[[], Sequence[Submission]]


class _AnchoredAlreadyError(Exception):
    """The log already contains a submission, so the block must be sealed without this submission."""


def seal(take: Take) -> list[Receipt]:
    """Append the submissions that `take` returns. All of them are in one signed block.

    Return their receipts in order after the commit.

    A submission that is already anchored (same hash, user, and type) gets the earlier receipt. If all submissions are
    already anchored, no block is created. If the database, `signing.check_guard`, or `signing.check_key` fails, raises
    LogUnavailableError and appends nothing.
    """
    taken: list[Submission] = []

    def take_once() -> Sequence[Submission]:
        if not taken:
            taken.extend(take())
        return taken

    try:
        try:
            receipts, head = _seal_block(take_once, checks_duplicates=False)
        except _AnchoredAlreadyError:
            receipts, head = _seal_block(take_once, checks_duplicates=True)
    except DatabaseError as error:
        logger.warning("sealing failed: %s", type(error.__cause__ or error).__name__)  # the message may contain a row
        raise LogUnavailableError from error
    # Also update the guard file for duplicates: it may not have been writable when their block was committed.
    if head.tree_size:
        guard.advance(guard.Mark(head.tree_size, head.root))
    return receipts


def _seal_block(take: Take, *, checks_duplicates: bool) -> tuple[list[Receipt], log.Head]:
    """Seal a block in one transaction. Return the receipts and the resulting head.

    Without `checks_duplicates`, a duplicate raises _AnchoredAlreadyError, and nothing is appended.
    """
    with transaction.atomic(using=database().alias, durable=True), database().cursor() as cursor:
        vendor = database().vendor
        head, before = lock_and_read_heads(cursor, vendor)
        submissions = take()
        signing.check_guard(head, before, using=database().alias)
        signing.check_key(head)
        known = _read_known(cursor, vendor, submissions) if checks_duplicates else {}
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
            # Create the guard file before the first block, so that its later loss can be detected.
            guard.advance(guard.Mark(0, head.root))
        try:
            return answers, _append(cursor, vendor, head, timestamp, list(fresh.values()))
        except IntegrityError as error:
            raise (LogMovedError if checks_duplicates else _AnchoredAlreadyError) from error


def lock_and_read_heads(cursor: CursorWrapper, vendor: str) -> tuple[log.Head, log.Head]:
    """Lock the log, and return its last two heads. A missing head is an empty `Head`."""
    statements: list[Statement] = [(_SELECT_HEADS, [])]
    if vendor == "postgresql":
        # On SQLite, BEGIN IMMEDIATE has already locked the log.
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
    """Write a block with its entries and tiles. Return the new head. Raises IntegrityError for a duplicate entry."""
    frontier = log.frontier_of(head)
    grown = tiles.grow(frontier, (new.leaf_hash for _, new in fresh))
    new_head = signing.sign_block(head, frontier, timestamp)
    # Insert the block only if the log still has the head from which the block was computed.
    values = [new_head.number, new_head.tree_size, new_head.root, head.block_hash]
    values += [new_head.timestamp, new_head.block_hash, new_head.frontier, new_head.checkpoint]
    expected = [head.number, head.number, head.number, head.tree_size, head.root]
    statements: list[Statement] = [(_INSERT_BLOCK, [*values, *expected])]
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
    # A different count means that another program changed the head or a tile.
    if any(count != 1 for count in written[: 1 + len(grown)]):
        raise LogMovedError
    return new_head


def _with_rows(
    template: str, of_json: str, vendor: str, columns: Sequence[str], rows: Sequence[tuple[Any, ...]]
) -> list[Statement]:
    """Return statements with these rows. The rows are JSON on PostgreSQL, and VALUES on SQLite."""
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
    """Execute the statements. For each statement, return the rows of a SELECT, or the number of written rows.

    PostgreSQL executes them in one round trip, because the log is locked during this time.
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
