"""A time limit for requests that wait for PostgreSQL. After the limit, the API closes the connection and returns 503.

PostgreSQL's `statement_timeout` and `lock_timeout` do not end a COMMIT that waits for a synchronous standby, or the
wait for a server that does not respond. If a COMMIT that waits for a standby is canceled, PostgreSQL reports success,
although only one machine has stored the transaction. So the API closes the connection, and the outcome of the
transaction is unknown. The caller can retry the request with the same Idempotency-Key.
"""

import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from typing import Any

import psycopg
from django.core.exceptions import MiddlewareNotUsed
from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper

logger = logging.getLogger("platform.errors")

# A request that waits for a database loses its connection after this time. The rest of the 30 s of a request is for
# other work.
REQUEST_SECONDS = 24.0
_LOOK_SECONDS = 0.5

# For each thread's ID: the start time of its current request, and its database connections.
_serving: dict[int, tuple[float, Sequence[BaseDatabaseWrapper]]] = {}
_lock = threading.Lock()


class DeadlineMiddleware:
    """Records the requests in progress. A separate thread interrupts requests that wait too long."""

    def __init__(self, get_response: Callable[[Any], Any]) -> None:
        if not any(connection.vendor == "postgresql" for connection in connections.all()):
            raise MiddlewareNotUsed
        self._get_response = get_response
        _start_watching()

    def __call__(self, request: Any) -> Any:
        thread = threading.get_ident()
        with _lock:
            _serving[thread] = time.monotonic(), connections.all()
        try:
            return self._get_response(request)
        finally:
            with _lock:  # a thread must not start its next request during an interruption
                _serving.pop(thread, None)


@cache
def _start_watching() -> None:
    """Start the thread once per process, because tests create several middlewares."""
    threading.Thread(target=_watch, name="deadline", daemon=True).start()


def _watch() -> None:
    while True:
        time.sleep(_LOOK_SECONDS)
        cut_off(began_before=time.monotonic() - REQUEST_SECONDS)


def cut_off(*, began_before: float) -> int:
    """Close the connections of waiting requests that began before this monotonic time. Return their number.

    A request that waits for other servers continues.
    """
    cut = 0
    with _lock:
        late = [database for began, databases in _serving.values() if began < began_before for database in databases]
        for database in late:
            session = database.connection
            with suppress(OSError, psycopg.Error):
                waits = psycopg.pq.TransactionStatus.ACTIVE
                if isinstance(session, psycopg.Connection) and session.info.transaction_status == waits:
                    # The request's thread then gets an error and closes the connection.
                    with socket.socket(fileno=os.dup(session.fileno())) as line:
                        line.shutdown(socket.SHUT_RDWR)
                    cut += 1
    if cut:
        logger.warning("the database kept %s requests waiting for %s s: cut off", cut, REQUEST_SECONDS)
    return cut
