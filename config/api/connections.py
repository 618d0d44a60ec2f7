"""A thread's database connections around a request: what Django does to them, done once, and the dead ones found.

Django looks at the connections of every alias before and after each request, through storage that first asks for an
event loop; a request without a statement spends a fifth of its time on that. Here a thread remembers which connections
it has opened, and the same is done to those.

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

from django.conf import settings
from django.core.cache import caches, close_caches
from django.core.cache.backends.base import BaseCache
from django.core.signals import request_finished, request_started
from django.db import close_old_connections, reset_queries
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created

LOOK_SECONDS = 0.5

_thread = threading.local()


def _own() -> list[BaseDatabaseWrapper]:
    """Return what this thread has opened, whether it is open now or not."""
    own: list[BaseDatabaseWrapper] | None = getattr(_thread, "own", None)
    if own is None:
        own = _thread.own = []
    return own


def remember_connection(connection: BaseDatabaseWrapper, **_signal: Any) -> None:
    """Note that this thread has opened a connection."""
    own = _own()
    if not any(known is connection for known in own):
        own.append(connection)


def renew_connections(**_signal: Any) -> None:
    """Close this thread's connections that failed or are too old, as Django's `close_old_connections` does.

    A transaction is left to whoever began it around the request: a test.
    """
    for connection in _own():
        if not connection.in_atomic_block:
            connection.close_if_unusable_or_obsolete()


def drop_dead_connections(**_signal: Any) -> None:
    """Close this thread's connections that the server has left; the next statement opens new ones."""
    now = time.monotonic()
    if now - getattr(_thread, "looked_at", 0.0) < LOOK_SECONDS:
        return
    _thread.looked_at = now
    for connection in _own():
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
    """Look at a thread's own connections around each request, in place of all that there may be."""
    connection_created.connect(remember_connection, dispatch_uid="remember-connection")
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
        signal.connect(renew_connections, dispatch_uid="renew-connections")
    request_started.connect(drop_dead_connections, dispatch_uid="drop-dead-connections")
    if not settings.DEBUG:
        # Nothing is logged, so there is nothing to forget.
        request_started.disconnect(reset_queries)
    if all(type(caches[alias]).close is BaseCache.close for alias in settings.CACHES):
        # To close one of these does nothing.
        request_finished.disconnect(close_caches)
