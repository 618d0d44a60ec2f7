"""The time limit of a request's wait for PostgreSQL: its connection is then closed, and the API returns 503.

The server's `statement_timeout` and `lock_timeout` end neither a COMMIT that waits for a synchronous standby nor the
wait for a silent server. Such a COMMIT must not be canceled: the server would report success, although only one machine
has stored it. So the client closes the connection. The outcome of the transaction is then unknown, as after any lost
connection. The caller can retry the request with its Idempotency-Key.
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

# A request has 30 s in total, which include the work after this time, such as a wait for another lock.
REQUEST_SECONDS = 24.0
_LOOK_SECONDS = 0.5

# By the id of a serving thread: the start time of its request, and its database connections.
_serving: dict[int, tuple[float, Sequence[BaseDatabaseWrapper]]] = {}
_lock = threading.Lock()


class DeadlineMiddleware:
    """Records the requests in progress; a separate thread interrupts those that wait too long."""

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
            with _lock:  # the interruption must end before the thread starts its next request
                _serving.pop(thread, None)


@cache
def _start_watching() -> None:
    """Start the watching thread once per process, although tests build a handler for each client."""
    threading.Thread(target=_watch, name="deadline", daemon=True).start()


def _watch() -> None:
    while True:
        time.sleep(_LOOK_SECONDS)
        cut_off(began_before=time.monotonic() - REQUEST_SECONDS)


def cut_off(*, began_before: float) -> int:
    """Close the connections on which requests wait that began before this monotonic time; return their number.

    A request that waits for something else, such as a vendor's response, continues.
    """
    cut = 0
    with _lock:
        late = [database for began, databases in _serving.values() if began < began_before for database in databases]
        for database in late:
            session = database.connection
            with suppress(OSError, psycopg.Error):
                waits = psycopg.pq.TransactionStatus.ACTIVE
                if isinstance(session, psycopg.Connection) and session.info.transaction_status == waits:
                    # The request's thread gets an error and closes the connection.
                    with socket.socket(fileno=os.dup(session.fileno())) as line:
                        line.shutdown(socket.SHUT_RDWR)
                    cut += 1
    if cut:
        logger.warning("the database kept %s requests waiting for %s s: cut off", cut, REQUEST_SECONDS)
    return cut
