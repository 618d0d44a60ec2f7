"""The server's worker: gunicorn's threads, which slow clients cannot hold, and which stop without dropping anybody.

A thread that waits for the rest of a request serves nobody else, and gunicorn's threads wait. Here a request is handed
to a thread once it is there, head and body; until then its connection costs a place in the poller and no thread. Each
request has REQUEST_READ_SECONDS to arrive in whole, and is answered with 408 when it has not. What is too large to be
kept waiting in memory (more than GATHER_MAX_BYTES, or than WAITING_MAX_BYTES in all) is read by a thread, under the
same deadline; a buffering proxy in front has room for that, too. Who takes nothing of an answer for
ANSWER_STALL_SECONDS is hung up on.

A worker that is told to stop takes in who has connected already, closes its listening sockets so that whoever comes
next is refused at once, and answers what arrives within STOP_LINGER_SECONDS on the connections that are open, each
with `Connection: close`. A proxy that keeps its idle connections for less long than that never loses a request.

When the database hangs, every thread soon waits for it, and a question about the service's health would wait behind
them. Such questions have a thread of their own, which never speaks to a database.
"""

import logging
import selectors
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from gunicorn.workers import gthread

from config import memory
from config.client_socket import REQUEST_READ_SECONDS, DeadlineSocket

STOP_LINGER_SECONDS = 5.0
WAITING_MAX_BYTES = 67_108_864
# How long a connection that was shut down on our side is read from, so that the answer on its way is not cut off.
_FAREWELL_SECONDS = 2.0
_FAREWELL_MAX_BYTES = 1_048_576
_LOOK_SECONDS = 0.25
_NOTIFY_SECONDS = 0.5
_GIVE_BACK_SECONDS = 60.0
_HEALTH_STARTS = tuple(
    f"{method} {path}{end}".encode()
    for method in ("GET", "HEAD")
    for path in ("/v1/health", "/health")
    for end in (" ", "?")
)
_HEALTH_START_BYTES = max(map(len, _HEALTH_STARTS))

# gunicorn's own two seconds are less than a proxy keeps an idle connection.
gthread.STOP_KEEPALIVE_LINGER = STOP_LINGER_SECONDS


class DeadlineWorker(gthread.ThreadWorker):  # type: ignore[misc]
    """gunicorn's threaded worker over such sockets. The poller and all lists of connections are the main thread's."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        """Start with no connection."""
        super().__init__(*arguments, **named)
        self._leaving: set[Any] = set()
        self._waiting_bytes = 0
        self._looked_at = 0.0
        self._health_thread: ThreadPoolExecutor | None = None
        self._in_hand = self._said_in_hand = 0
        self._notified_at = 0.0
        self._gave_back_at = time.monotonic()

    def init_process(self) -> None:
        """Begin to serve."""
        # gunicorn asks for its settings forty times a request, and looks each up in two dictionaries; here they stay.
        self.cfg.__dict__.update({name: setting.get() for name, setting in self.cfg.settings.items()})
        self._health_thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="health")
        self.log.error_log.addFilter(_names_nobody)
        super().init_process()

    def enqueue_req(self, conn: Any) -> None:
        """Give a connection to a thread once there is something to read; TLS of gunicorn's own is left to gunicorn."""
        pool, work = self.tpool, self.handle
        if not self.cfg.is_ssl:
            if conn.parser is None and not isinstance(conn.sock, DeadlineSocket):
                conn.sock = DeadlineSocket(conn.sock)
            start = conn.sock.start(_HEALTH_START_BYTES)
            if start is None and conn.parser is None and not conn.data_ready:
                self._await_more(conn)
                return
            if start and start.startswith(_HEALTH_STARTS):
                pool, work = self._health_thread, self._serve
        self._in_hand += 1
        future = pool.submit(work, conn)
        future.add_done_callback(lambda done: self.method_queue.defer(self.finish_request, conn, done))

    def notify(self) -> None:
        """Tell the master that this worker lives, and whoever watches how much it has to do; not at every turn.

        Now and then what lies free in memory is given back as well.
        """
        now = time.monotonic()
        if now - self._notified_at < _NOTIFY_SECONDS:
            return
        self._notified_at = now
        super().notify()
        if now - self._gave_back_at >= _GIVE_BACK_SECONDS:
            self._gave_back_at = now
            memory.give_back()
        if self._in_hand != self._said_in_hand:
            from config.api import counters

            self._said_in_hand = self._in_hand
            counters.hold_requests(self._in_hand)

    def handle(self, conn: Any) -> Any:
        """Serve a connection's request, and those that follow at once while no other connection waits for a thread."""
        result = self._serve(conn)
        while result is True and self._comes_at_once(conn):
            result = self._serve(conn)
        return result

    def _comes_at_once(self, conn: Any) -> bool:
        """Wait a moment for the next request: handing a connection to the poller and back costs more than that."""
        client = conn.sock
        if not (self.alive and isinstance(client, DeadlineSocket) and self.tpool._work_queue.empty()):  # noqa: SLF001
            return False
        if client.ahead or conn.parser.unreader.buf.getvalue():
            return False  # the poller's turn is to see that it is not alone
        return client.has_news()

    def _serve(self, conn: Any) -> Any:
        """Serve one request once it is there; when it never arrived and nobody has said so, say so."""
        client = conn.sock
        if not isinstance(client, DeadlineSocket):
            return super().handle(conn)
        parsed_ahead = conn.parser is not None and conn.parser.unreader.buf.getvalue()
        if not parsed_ahead and not client.gather() and self._waiting_bytes < WAITING_MAX_BYTES:
            return gthread._DEFER  # noqa: SLF001  gunicorn's word for a connection that goes back to the poller
        client.begin()
        conn.data_ready = True
        result = super().handle(conn)
        try:
            client.flush()
        except OSError:
            result = False  # nobody is there any more
        if client.timed_out:
            client.refuse()
        client.end()
        return result

    def handle_error(self, req: Any, client: Any, _addr: Any, exc: Exception) -> None:
        """Answer for what gunicorn itself refuses; neither the address nor who sent it is gunicorn's to log."""
        super().handle_error(None, client, None, exc)
        if req is None and isinstance(client, DeadlineSocket):
            # With a request, the application was asked, and has recorded it.
            client.record_refusal(client.status)

    def finish_request(self, conn: Any, future: Any) -> None:
        """Go on with a connection whose thread is done with it."""
        self._in_hand -= 1
        client = conn.sock
        if not isinstance(client, DeadlineSocket) or future.cancelled() or future.exception() is not None:
            super().finish_request(conn, future)
            return
        result = future.result()
        if result is gthread._DEFER:  # noqa: SLF001
            self._await_more(conn)
        elif not result:
            self._hang_up(conn)
        elif client.ahead:
            # The next request is here already, so the poller would never hear of it.
            self.enqueue_req(conn)
        else:
            super().finish_request(conn, future)

    def _await_more(self, conn: Any) -> None:
        """Put a connection back into the poller until more of its request comes, or its time is over."""
        client, now = conn.sock, time.monotonic()
        conn.timeout = client.deadline or now + min(REQUEST_READ_SECONDS, self.cfg.keepalive)
        if not self.alive:
            conn.timeout = min(conn.timeout, now + STOP_LINGER_SECONDS)
        if client.deadline and client.deadline <= now:
            # Here as well: who sends a byte now and then may never be found waiting.
            self._give_up(conn)
            return
        self._waiting_bytes += len(client.ahead)
        self.pending_conns.append(conn)
        self.poller.register(client, selectors.EVENT_READ, partial(self.on_pending_socket_readable, conn))

    def on_pending_socket_readable(self, conn: Any, client: Any) -> None:
        """Look at a connection of which more has come."""
        self._waiting_bytes -= len(getattr(client, "ahead", b""))
        super().on_pending_socket_readable(conn, client)

    def murder_pending(self) -> None:
        """End the waiting for requests that have not arrived in time, and for clients that do not hang up."""
        now = time.monotonic()
        if now - self._looked_at < _LOOK_SECONDS:
            return
        self._looked_at = now
        for conn in [conn for conn in self.pending_conns if conn.timeout <= now]:
            self.pending_conns.remove(conn)
            self.poller.unregister(conn.sock)
            self._waiting_bytes -= len(getattr(conn.sock, "ahead", b""))
            self._give_up(conn)
        for conn in [conn for conn in self._leaving if conn.timeout <= now]:
            self._close(conn)

    def _give_up(self, conn: Any) -> None:
        """Wait no longer for a request; whoever has begun one is told."""
        if not isinstance(conn.sock, DeadlineSocket):
            self.nr_conns -= 1
            conn.close()
            return
        if conn.sock.deadline:
            conn.sock.refuse()
        self._hang_up(conn)

    def _hang_up(self, conn: Any) -> None:
        """Close a connection from our side; the poller reads what the client still sends, so that nobody waits."""
        try:
            conn.sock.shutdown(socket.SHUT_WR)
        except OSError:
            self.nr_conns -= 1
            conn.close()
            return
        conn.timeout = time.monotonic() + _FAREWELL_SECONDS
        self._leaving.add(conn)
        left = [_FAREWELL_MAX_BYTES]
        self.poller.register(conn.sock, selectors.EVENT_READ, partial(self._read_farewell, conn, left))

    def _read_farewell(self, conn: Any, left: list[int], _client: Any) -> None:
        """Read what a client sends that was hung up on; close once it hangs up, too."""
        try:
            received = len(conn.sock.receive_now())
        except BlockingIOError:
            return
        except OSError:
            received = 0
        left[0] -= received
        if not received or left[0] <= 0:
            self._close(conn)

    def _close(self, conn: Any) -> None:
        """Be done with a connection that was hung up on."""
        self._leaving.discard(conn)
        self.poller.unregister(conn.sock)
        self.nr_conns -= 1
        conn.close()

    def set_accept_enabled(self, enabled: bool) -> None:
        """Take in new connections or not; a worker that stops takes in who is there, and refuses who comes later."""
        super().set_accept_enabled(enabled)
        if enabled or self.alive:
            return
        for listener in self.sockets:
            listener.setblocking(False)
            known = -1
            while known != self.nr_conns:
                known = self.nr_conns
                self.accept(listener)
            listener.close()
        until = time.monotonic() + STOP_LINGER_SECONDS
        for conn in self.pending_conns:
            conn.timeout = min(conn.timeout, until)


def _names_nobody(line: logging.LogRecord) -> bool:
    """Refuse gunicorn's lines about malformed requests: they hold the caller's address, and a header with its value."""
    return not str(line.msg).startswith("Invalid request from")
