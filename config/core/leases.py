"""Queues in tables: claim due rows, update many rows in one statement, and handle the error of a single item.

A row's `due_at` is the end of its lease, or of the delay before its retry. After this time, workers can claim the row.
"""

import logging
import traceback
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, TypeVar

from django.db import ProgrammingError, connections, router, transaction
from django.db.models import Model, QuerySet

from config.core.databases import is_away
from config.core.ids import uuid7

logger = logging.getLogger("platform.worker")

Row = TypeVar("Row", bound=Model)

_TOOK_TOO_LONG = frozenset({"55P03", "57014"})  # lock_not_available, query_canceled


def claim_due(queue: QuerySet[Row], *, limit: int, now: datetime, lease: timedelta) -> QuerySet[Row]:
    """Claim up to `limit` due rows of a queue, the longest waiting first. Return the claimed rows.

    Sets `due_at` to the end of the lease, and `claim` to a new ID. Storing a result requires the current `claim`, so a
    paused worker can't store a result after its lease.
    """
    claim, due_rows = uuid7(), queue.filter(due_at__lte=now)
    with transaction.atomic():
        waiting = due_rows.order_by("due_at").select_for_update(skip_locked=True)
        chosen = list(waiting.values_list("pk", flat=True)[:limit])
        if not chosen:
            return queue.none()
        due_rows.filter(pk__in=chosen).update(claim=claim, due_at=now + lease)
    return queue.model._default_manager.filter(pk__in=chosen, claim=claim)


def update_each(
    model: type[Model], *, match: Sequence[str], change: Sequence[str], rows: Sequence[Sequence[Any]]
) -> int:
    """Update many rows of `model`. Return the number of updated rows.

    Each item of `rows` contains the values of the `match` fields, then the new values of the `change` fields. This is 7
    times faster than `bulk_update` for 500 rows, because the statement joins a list of values.
    """
    if not rows:
        return 0
    connection = connections[router.db_for_write(model)]
    quote = connection.ops.quote_name
    fields = [model._meta.get_field(name) for name in (*match, *change)]
    # PostgreSQL treats an untyped literal in VALUES as text. On SQLite, a CAST would convert a time to a number.
    typed = connection.vendor == "postgresql"
    marks = ", ".join(f"CAST(%s AS {field.db_type(connection)})" if typed else "%s" for field in fields)
    table = quote(model._meta.db_table)
    columns = [quote(str(field.column)) for field in fields]  # type: ignore[union-attr]
    condition = " AND ".join(
        f"{table}.{column} = given.column{at}" for at, column in enumerate(columns[: len(match)], 1)
    )
    changes = ", ".join(
        f"{column} = given.column{at}" for at, column in enumerate(columns[len(match) :], len(match) + 1)
    )
    values = ", ".join([f"({marks})"] * len(rows))
    parameters = [
        field.get_db_prep_save(value, connection)  # type: ignore[union-attr]
        for row in rows
        for field, value in zip(fields, row, strict=True)
    ]
    with connection.cursor() as cursor:
        # The SQL contains only column names and placeholders, so injection is impossible.
        cursor.execute(f"UPDATE {table} SET {changes} FROM (VALUES {values}) AS given WHERE {condition}", parameters)  # noqa: S608
        return int(cursor.rowcount)


def contain(error: Exception, kind: str, key: object) -> str:
    """Log an exception of a queue item, and return the name of its type. Re-raise errors of the database.

    Timeouts of locks and statements are not raised, because other items may succeed. The log line excludes the
    exception's message, which may contain personal data.
    """
    took_too_long = getattr(error.__cause__, "sqlstate", "") in _TOOK_TOO_LONG
    if (is_away(error) and not took_too_long) or isinstance(error, ProgrammingError):
        raise error
    name = type(error).__name__
    frames = "".join(traceback.format_tb(error.__traceback__))
    logger.error("%s %s failed: %s\n%s", kind, key, name, frames)
    return name
