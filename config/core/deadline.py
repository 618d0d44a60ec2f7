"""A time limit for requests that wait for PostgreSQL. After the limit, the API closes the connection and returns 503.

PostgreSQL's `statement_timeout` and `lock_timeout` do not end a COMMIT that waits for a synchronous standby, or the
wait for a server that does not respond. A COMMIT that waits for a standby must not be canceled, because PostgreSQL
would report success although only one machine has stored the transaction. So the API closes the connection. The outcome
of the transaction is then unknown, as after any lost connection. The caller can retry the request with the same
Idempotency-Key.
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

# After this time, a request that waits for a database loses its connection. A request has 30 s in total. The rest is
# for work after this limit, such as a wait for another lock.
REQUEST_SECONDS = 24.0
_LOOK_SECONDS = 0.5

# The start time of each current request, and its database connections, by the id of the thread that serves it.
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
            with _lock:  # the interruption must end before the thread starts its next request
                _serving.pop(thread, None)


@cache
def _start_watching() -> None:
    """Start the thread once per process. Tests build a handler, and so a middleware, for each client."""
    threading.Thread(target=_watch, name="deadline", daemon=True).start()


def _watch() -> None:
    while True:
        time.sleep(_LOOK_SECONDS)
        cut_off(began_before=time.monotonic() - REQUEST_SECONDS)


def cut_off(*, began_before: float) -> int:
    """Close the connections of waiting requests that began before this monotonic time; return the number.

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
