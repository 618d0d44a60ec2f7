"""Database connections that died while nobody used them, found before a request does.

A worker thread keeps its connection for as long as it lives. When the server was restarted, failed over or ended an
idle session meanwhile, the next statement on each of these connections would fail, one request per thread, long after
the database is well again. Asking with a statement whether a connection lives costs a round trip per request; asking
the operating system whether the server has said anything since costs microseconds, and a goodbye is something said. A
connection that was looked at a moment ago is not looked at again.
"""

import select
import threading
import time
from typing import Any

from django.core.signals import request_started
from django.db import connections

LOOK_SECONDS = 0.5

_thread = threading.local()


def drop_dead_connections(**_signal: Any) -> None:
    """Close this thread's connections that the server has left; the next statement opens new ones."""
    now = time.monotonic()
    if now - getattr(_thread, "looked_at", 0.0) < LOOK_SECONDS:
        return
    _thread.looked_at = now
    for connection in connections.all(initialized_only=True):
        driver = connection.connection
        if driver is None or connection.vendor != "postgresql" or connection.in_atomic_block:
            continue
        # It may have said something harmless (a setting has changed): only a statement tells.
        if driver.closed or (_has_news(driver.pgconn.socket) and not connection.is_usable()):
            connection.close()


def _has_news(descriptor: int) -> bool:
    """Say whether there is something to read, or the end of it."""
    poller = select.poll()
    poller.register(descriptor, select.POLLIN)
    return bool(poller.poll(0))


def watch_connections() -> None:
    """Look at this thread's connections before each request."""
    request_started.connect(drop_dead_connections, dispatch_uid="drop-dead-connections")
