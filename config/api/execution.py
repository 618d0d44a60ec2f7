"""Executing statements of constant shape the quickest way the driver knows.

Django's cursor writes every argument into the SQL and reads every value back from text, and it is made anew for each
statement. For a statement that is written once and executed all day, PostgreSQL's own protocol is quicker on both
sides: the arguments travel beside the SQL, the server prepares it after a few executions, and values come in binary.
One cursor per connection serves all of them. Elsewhere, and while somebody watches the statements (a test that counts
them, an execute wrapper), Django's cursor does the work.
"""

from collections.abc import Sequence
from typing import Any, Self, cast
from weakref import WeakKeyDictionary

import psycopg
from django.db.backends.base.base import BaseDatabaseWrapper

Row = tuple[Any, ...]


class _DirectCursor(psycopg.Cursor[Row]):
    """The driver's cursor, which alone has statements prepared.

    Were the connection to prepare statements at all times, the driver would also count what Django's cursor sends, and
    to count it keeps it: a hundred statements for each connection, with the data that is written into them.
    """

    def __init__(self, connection: "psycopg.Connection[Row]", threshold: int) -> None:
        """Have a statement prepared after `threshold` executions."""
        super().__init__(connection)
        self._threshold = threshold

    def execute(self, *arguments: Any, **options: Any) -> Self:
        """Execute a statement, prepared if it is due."""
        self._conn.prepare_threshold = self._threshold
        try:
            return super().execute(*arguments, **options)
        finally:
            self._conn.prepare_threshold = None


_cursors: WeakKeyDictionary[BaseDatabaseWrapper, _DirectCursor] = WeakKeyDictionary()


def fetch(connection: BaseDatabaseWrapper, sql: str, parameters: Sequence[Any], *, binary: bool = True) -> list[Row]:
    """Execute a statement that returns rows; return them.

    `binary` may be False for columns that Django reads from text only.
    """
    cursor = _direct_cursor(connection)
    if cursor is None:
        with connection.cursor() as watched:
            watched.execute(sql, parameters)
            return cast("list[Row]", watched.fetchall())
    statement = cast("Any", sql)
    with connection.wrap_database_errors:
        try:
            cursor.execute(statement, parameters, binary=binary)
        except psycopg.errors.FeatureNotSupported:
            # A migration has changed a column's type under a prepared statement. A rollback forgets what is prepared;
            # without a transaction to roll back, the statement can be sent as if for the first time.
            if connection.in_atomic_block:
                raise
            cursor.execute(statement, parameters, binary=binary, prepare=False)
        rows = cursor.fetchall()
        # The cursor is kept; what it has read must not be.
        if cursor.pgresult is not None:
            cursor.pgresult.clear()
        return rows


def change(connection: BaseDatabaseWrapper, sql: str, parameters: Sequence[Any]) -> int:
    """Execute a statement that writes; return how many rows it wrote."""
    cursor = _direct_cursor(connection)
    if cursor is None:
        with connection.cursor() as watched:
            watched.execute(sql, parameters)
            return int(watched.rowcount)
    with connection.wrap_database_errors:
        cursor.execute(cast("Any", sql), parameters)
        return cursor.rowcount


def _direct_cursor(connection: BaseDatabaseWrapper) -> _DirectCursor | None:
    """Return the driver's own cursor, or None where Django's is needed."""
    if connection.vendor != "postgresql" or connection.queries_logged or connection.execute_wrappers:
        return None
    connection.ensure_connection()
    connection.validate_no_broken_transaction()
    driver = cast("psycopg.Connection[Row]", connection.connection)
    cursor = _cursors.get(connection)
    if cursor is None or cursor.connection is not driver:
        cursor = _cursors[connection] = _DirectCursor(driver, connection.settings_dict["PREPARE_THRESHOLD"])
    return cursor
