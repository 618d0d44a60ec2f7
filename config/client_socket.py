"""A client's socket as the worker sees it: it gathers a request without waiting, and ends all waiting at one moment.

Nothing here knows Django: the main thread of a worker looks at these sockets before anything is asked of it.
"""

import errno
import os
import re
import select
import socket
import struct
import time
from contextlib import suppress
from typing import Any

ANSWER_STALL_SECONDS = 30
REQUEST_READ_SECONDS = float(os.environ.get("REQUEST_READ_SECONDS") or "10")
_HEAD_MAX_BYTES = 65_536  # beyond it gunicorn refuses: it need not be waited for
_BODY_MAX_BYTES = 1_048_576  # beyond it service A refuses
GATHER_MAX_BYTES = _HEAD_MAX_BYTES + _BODY_MAX_BYTES
_RECEIVE_BYTES = 16_384  # held by each thread that waits for a request
_TOGETHER_MAX_BYTES = 65_536  # beyond it copying costs more than a call
# How long a thread that nobody waits for stays with a connection, for the next request on it.
_NEXT_REQUEST_MS = 2

_LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*([0-9]{1,18})[ \t]*\r\n")
_TIMED_OUT = (
    b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Type: text/plain\r\nContent-Length: 35\r\n\r\n"
    b"The request did not arrive in time."
)


def is_whole(received: bytearray) -> bool:
    """Say whether a thread may take what has been received: a whole request, or something not worth waiting for.

    This does not parse: what it says yes to is read by gunicorn's parser, which may still wait or refuse.
    """
    end = received.find(b"\r\n\r\n")
    if end < 0:
        # Bare line feeds are refused by the parser, which needs no more of them.
        return len(received) > _HEAD_MAX_BYTES or b"\n\n" in received
    head = bytes(received[: end + 2]).lower()
    if b"\r\ntransfer-encoding:" in head:
        # A body in chunks ends with an empty line, wherever else it may have one.
        return received.find(b"\r\n\r\n", end + 2) >= 0
    announced = _LENGTH.search(head)
    if announced is None or b"\r\nexpect:" in head:
        return True
    length = int(announced[1])
    return length > _BODY_MAX_BYTES or len(received) >= end + 4 + length


class DeadlineSocket:
    """A client's socket: gathers a request without waiting, and ends all waiting for it at one moment.

    It blocks all the time, and each call that must not wait says so. Changing the mode to and fro is a call to the
    system each time, and each of those lets go of the interpreter, which all other threads are after.
    """

    def __init__(self, wrapped: socket.socket) -> None:
        """Read from `wrapped`; everything but reading is its own."""
        self._wrapped = wrapped
        wrapped.setblocking(True)
        wrapped.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, _timeval(ANSWER_STALL_SECONDS))
        self._next_request = select.poll()
        self._next_request.register(wrapped, select.POLLIN)
        self.deadline = 0.0  # 0: no request has begun
        self.ahead = bytearray()  # received, and not yet given to the parser
        self.began = 0.0
        self.timed_out = False
        self.answered = False
        self.status = 0
        self._held = b""

    def __getattr__(self, name: str) -> Any:
        """Hand every other question on."""
        return getattr(self._wrapped, name)

    def setblocking(self, flag: bool) -> None:
        """Change nothing; see the class."""

    def settimeout(self, value: float | None) -> None:
        """Change nothing: what waits here waits until the deadline."""

    def gettimeout(self) -> None:
        """Say that the socket blocks."""

    def begin(self) -> None:
        """Start the time of a request, unless it has begun."""
        if not self.deadline:
            self.began = time.perf_counter()
            self.deadline = time.monotonic() + REQUEST_READ_SECONDS
            self.timed_out = self.answered = False

    def end(self) -> None:
        """End the request; what comes next is another."""
        self.deadline = 0.0

    def start(self, length: int) -> bytes | None:
        """Return the beginning of what has arrived and leave it there; None when nothing has."""
        if self.ahead:
            return bytes(self.ahead[:length])
        try:
            return self._wrapped.recv(length, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except BlockingIOError:
            return None
        except OSError:
            return b""  # whoever reads will find out

    def has_news(self) -> bool:
        """Wait a moment (_NEXT_REQUEST_MS) for the next request, or the client's end of the connection."""
        # SO_RCVTIMEO would spare this call, and turn two milliseconds into eight: it counts in ticks of the system.
        return bool(self._next_request.poll(_NEXT_REQUEST_MS))

    def gather(self) -> bool:
        """Receive what there is, without waiting; say whether a thread may take it."""
        while len(self.ahead) <= GATHER_MAX_BYTES:
            try:
                chunk = self.receive_now()
            except BlockingIOError:
                break
            except OSError:
                return True  # the parser finds out the same way
            if not chunk:
                return True
            self.begin()
            self.ahead += chunk
            if len(chunk) < _RECEIVE_BYTES:
                break
        return len(self.ahead) > GATHER_MAX_BYTES or is_whole(self.ahead)

    def recv(self, size: int, *flags: int) -> bytes:
        """Read what there is; raises TimeoutError when the request's time is over."""
        if self.ahead:
            taken = bytes(self.ahead[:size])
            del self.ahead[:size]
            return taken
        # Not less than a moment: zero would mean a socket that does not wait at all.
        self._wrapped.settimeout(max(0.001, self.deadline - time.monotonic()))
        try:
            return self._wrapped.recv(size, *flags)
        except TimeoutError as error:
            self.timed_out = True
            # With this number gunicorn does not call it a fault of ours in the log.
            raise TimeoutError(errno.ECONNRESET, "The request did not arrive in time.") from error
        finally:
            self._wrapped.setblocking(True)

    def receive_now(self) -> bytes:
        """Read what there is, without waiting; raises BlockingIOError when that is nothing."""
        return self._wrapped.recv(_RECEIVE_BYTES, socket.MSG_DONTWAIT)

    def sendall(self, content: bytes) -> None:
        """Write. An answer's head is kept until its body comes: together they are one packet and one call.

        Raises ConnectionResetError when the client has taken nothing for ANSWER_STALL_SECONDS.
        """
        if not self.answered:
            self.answered, self.status = True, _status_of(content)
            self._held = content
            return
        if len(content) <= _TOGETHER_MAX_BYTES:
            content, self._held = self._held + content, b""
        self.flush()
        self._write(content)

    def sendfile(self, *arguments: Any, **named: Any) -> int:
        """Write a file, after what was kept; raises as `sendall` does."""
        self.flush()
        self._wrapped.settimeout(ANSWER_STALL_SECONDS)
        try:
            return self._wrapped.sendfile(*arguments, **named)
        except TimeoutError as error:
            raise ConnectionResetError(errno.ECONNRESET, "The client reads nothing.") from error
        finally:
            self._wrapped.setblocking(True)

    def flush(self) -> None:
        """Write what was kept."""
        if self._held:
            content, self._held = self._held, b""
            self._write(content)

    def _write(self, content: bytes) -> None:
        try:
            self._wrapped.sendall(content)
        except BlockingIOError as error:
            raise ConnectionResetError(errno.ECONNRESET, "The client reads nothing.") from error

    def refuse(self) -> None:
        """Say that the request did not arrive in time, unless something was answered or nobody is there."""
        if not self.answered:
            self.answered = True
            with suppress(OSError):
                self._wrapped.send(_TIMED_OUT, socket.MSG_DONTWAIT)
            self.record_refusal(408)

    def record_refusal(self, status: int) -> None:
        """Record a request that was answered without the application."""
        from config.api import access

        access.record("", access.UNMATCHED, status, time.perf_counter() - self.began)


def _timeval(seconds: float) -> bytes:
    """Return a duration as the system's calls take it."""
    return struct.pack("@ll", int(seconds), int(seconds % 1 * 1_000_000))


def _status_of(answer: Any) -> int:
    """Return the status of an answer's first bytes; 0 when they are none."""
    words = bytes(answer[:16]).split(b" ", 2)
    return int(words[1]) if len(words) > 1 and words[0].startswith(b"HTTP/") and words[1].isdigit() else 0
