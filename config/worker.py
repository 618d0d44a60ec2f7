"""The server's worker: gunicorn's threads, with a deadline for every request to arrive.

A thread that waits for the rest of a request serves nobody else, and gunicorn waits for ever. A few clients that send
a byte now and then would take every thread; here each request has REQUEST_READ_SECONDS to arrive in whole, head and
body together, and is answered with 408 when it has not. A buffering proxy in front makes this a second line of defence.
"""

import errno
import os
import socket
import time
from typing import Any

from gunicorn.workers.gthread import ThreadWorker

REQUEST_READ_SECONDS = float(os.environ.get("REQUEST_READ_SECONDS") or "10")
_TIMED_OUT = (
    b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Type: text/plain\r\nContent-Length: 35\r\n\r\n"
    b"The request did not arrive in time."
)


class DeadlineSocket:
    """A client's socket whose reads end together at one moment, however many there are."""

    def __init__(self, wrapped: socket.socket) -> None:
        """Read from `wrapped`; everything but reading is its own."""
        self._wrapped = wrapped
        self._deadline = 0.0
        self.timed_out = False
        self.answered = False

    def __getattr__(self, name: str) -> Any:
        """Hand every other question on."""
        return getattr(self._wrapped, name)

    def begin(self) -> None:
        """Start the time of a new request."""
        self._deadline = time.monotonic() + REQUEST_READ_SECONDS
        self.timed_out = self.answered = False

    def recv(self, *arguments: Any) -> bytes:
        """Read what there is; raises TimeoutError when the request's time is over."""
        # Not less than a moment: zero would mean a socket that does not wait at all.
        self._wrapped.settimeout(max(0.001, self._deadline - time.monotonic()))
        try:
            return self._wrapped.recv(*arguments)
        except TimeoutError as error:
            self.timed_out = True
            # With this number gunicorn does not call it a fault of ours in the log.
            raise TimeoutError(errno.ECONNRESET, "The request did not arrive in time.") from error
        finally:
            self._wrapped.settimeout(None)

    def sendall(self, *arguments: Any) -> None:
        """Write, and remember that an answer has begun."""
        self.answered = True
        self._wrapped.sendall(*arguments)


class DeadlineWorker(ThreadWorker):  # type: ignore[misc]
    """gunicorn's threaded worker over such sockets."""

    def enqueue_req(self, conn: Any) -> None:
        """Give a new connection its deadline socket; TLS of gunicorn's own needs the socket as it is."""
        if conn.parser is None and not self.cfg.is_ssl and not isinstance(conn.sock, DeadlineSocket):
            conn.sock = DeadlineSocket(conn.sock)
        super().enqueue_req(conn)

    def handle(self, conn: Any) -> Any:
        """Serve one request; when it never arrived and nobody has said so, say so."""
        client = conn.sock
        if isinstance(client, DeadlineSocket):
            client.begin()
        result = super().handle(conn)
        if isinstance(client, DeadlineSocket) and client.timed_out and not client.answered:
            try:
                client.sendall(_TIMED_OUT)
            except OSError:
                return False  # nobody is there to be told
        return result
