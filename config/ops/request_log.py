"""The request log of each account for the last 7 days.

A line contains IDs, the template of the path, a status, an error code, and the names of invalid fields, but no path,
query, header, or value. A request only adds its line to a queue, so it does not wait for the log. A thread writes the
lines once per second, when a batch is full, and at exit. If the queue is full, lines are dropped and counted.
"""

import atexit
import logging
import os
import threading
import time
from collections import deque
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import orjson
from django.db import close_old_connections, connection, models
from django.db.models import Count, Max
from django.db.models.functions import Coalesce

from config.core.databases import UNAWAITED, is_away
from config.core.ids import uuid7
from config.ops.models import RequestLine
from config.ops.request_counts import counts_of_process

logger = logging.getLogger("platform.requests")

KEPT_DAYS = 7
SHOWN_MAX = 100_000  # queries return at most this number of an account's newest lines
GROUPED_MAX = 10_000
WAITING_MAX = 20_000  # the maximum length of a process's queue
BATCH = 500
FLUSH_SECONDS = 1.0  # with 0, only `flush` writes lines

Line = dict[str, Any]  # the columns of a line without its ID; `at` is in seconds since 1970

# The separate transaction does not wait for the disk or a standby.
_INSERT = f"""
WITH unawaited AS MATERIALIZED (SELECT {UNAWAITED})
INSERT INTO ops_requestline
    (id, account_id, credential, method, route, status, code, failed_fields, duration_ms, request_id, at)
SELECT id, account_id, credential, method, route, status, code, failed_fields, duration_ms, request_id, to_timestamp(at)
FROM unawaited, json_to_recordset(%s::json) AS line(
    id uuid, account_id bigint, credential text, method text, route text, status int, code text,
    failed_fields jsonb, duration_ms int, request_id uuid, at float8
)
"""  # noqa: S608  a constant
_RANDOM_BITS = (1 << 80) - 1
_NONE = models.Value(UUID(int=0), output_field=models.UUIDField())


class RequestLog:
    def __init__(self) -> None:
        self.reset()
        os.register_at_fork(after_in_child=self.reset)

    def reset(self) -> None:
        """Reset the queue, the thread, and the locks after a fork."""
        self._waiting: deque[Line] = deque()
        self._some, self._full = threading.Event(), threading.Event()
        self._starting, self._writing = threading.Lock(), threading.Lock()
        self._writer: threading.Thread | None = None
        self._dropped = 0

    def add(self, credential: Any, *, seconds: float, **columns: Any) -> None:
        """Add the line of a request that ends now to the queue."""
        waiting = self._waiting
        if len(waiting) >= WAITING_MAX:
            self._drop(1)
            return
        account_id = credential.user_id if credential.actor_id is None else credential.actor_id
        columns |= {"account_id": account_id, "credential": credential.label}
        waiting.append({**columns, "duration_ms": round(seconds * 1000), "at": time.time()})
        if not self._some.is_set():
            self._some.set()
        if len(waiting) == BATCH:
            self._full.set()
        if self._writer is None and FLUSH_SECONDS:
            with self._starting:
                if self._writer is None:
                    self._writer = threading.Thread(target=self._run, name="request-log", daemon=True)
                    self._writer.start()
                    atexit.register(self.flush)

    def flush(self) -> None:
        """Write the queued lines. If the database is unavailable, the lines stay in the queue."""
        with self._writing:
            self._some.clear()
            self._full.clear()
            taken: list[Line] = []
            try:
                while taken := [self._waiting.popleft() for _ in range(min(BATCH, len(self._waiting)))]:
                    _write(taken)
            except Exception as error:  # noqa: BLE001  an error of the log must not end the process
                if is_away(error):
                    self._waiting.extendleft(reversed(taken))
                    self._some.set()
                else:
                    logger.warning("request lines could not be written: %s", type(error).__name__)
                    self._drop(len(taken))
            with self._starting:
                dropped, self._dropped = self._dropped, 0
            if dropped:
                logger.warning("%d request lines were dropped", dropped)
                if counts := counts_of_process():
                    counts.lines_dropped.inc(dropped)

    def _drop(self, number: int) -> None:
        with self._starting:
            self._dropped += number

    def _run(self) -> None:
        while True:
            self._some.wait()
            self._full.wait(FLUSH_SECONDS)
            close_old_connections()  # closes broken connections
            self.flush()


LOG = RequestLog()


def _write(lines: Iterable[Line]) -> None:
    rows: list[dict[str, Any]] = [{"id": _id_at(line["at"]), **line} for line in lines]
    if connection.vendor == "postgresql":
        # One JSON string needs 1/8 of the CPU time of `bulk_create` with 5,000 parameters.
        with connection.cursor() as cursor:
            cursor.execute(_INSERT, [orjson.dumps(rows).decode()])
    else:
        moments = (datetime.fromtimestamp(row.pop("at"), UTC) for row in rows)
        RequestLine.objects.bulk_create([RequestLine(**row, at=at) for at, row in zip(moments, rows, strict=True)])


def _id_at(seconds: float) -> UUID:
    """Create a UUIDv7 for a time, so that the lines of all processes are in the order of the requests."""
    return UUID(int=int(seconds * 1000) << 80 | uuid7().int & _RANDOM_BITS)


def first_id_at(moment: datetime) -> UUID:
    """Return the smallest UUIDv7 of a time. All smaller IDs are earlier."""
    return UUID(int=int(moment.timestamp() * 1000) << 80)


def lines_of(account_id: int, *, now: datetime) -> "models.QuerySet[RequestLine]":
    """Select an account's lines of the last 7 days, newest first, at most SHOWN_MAX."""
    own = RequestLine.objects.filter(account_id=account_id, id__gte=first_id_at(now - timedelta(days=KEPT_DAYS)))
    own = own.order_by("-id")
    beyond = Coalesce(models.Subquery(own.values("id")[SHOWN_MAX : SHOWN_MAX + 1]), _NONE)
    return own.filter(id__gt=beyond)


def groups_of(account_id: int, *, now: datetime) -> list[dict[str, Any]]:
    """Count an account's newest GROUPED_MAX lines by route and outcome, most frequent first."""
    newest = lines_of(account_id, now=now).values("id")[:GROUPED_MAX]
    named = RequestLine.objects.filter(id__in=newest).values("method", "route", "status", "code")
    grouped = named.annotate(number=Count("id"), last=Max("at")).order_by("-number", "route", "method", "status")
    return [dict(group) for group in grouped]
