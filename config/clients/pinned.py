"""Sending one POST to a receiver, to an address that was checked, within one deadline for everything.

`requests` and `http.client` resolve a name themselves, follow what their environment says about proxies, and bound
each wait but not their sum: a receiver that sends a byte every ten seconds would hold a worker for hours. Here a
request is written by hand, in one piece, to a socket that is connected to an address and not to a name; every wait on
it ends at the same moment; and the standard library's reader of answers sees an end of file after ANSWER_MAX_BYTES.
"""

import http.client
import io
import socket
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass
from email.message import Message
from functools import cache
from ipaddress import IPv6Address
from typing import Any

from config.clients.addresses import AddressRefused, Resolve, Target, addresses_of, read_url, resolve_by_system

CONNECT_TIMEOUT_SECONDS = 5.0
ANSWER_MAX_BYTES = 20_000  # of the whole answer, headers included
_CHUNK_BYTES = 4096
_ADDRESSES_TRIED_MAX = 4


class AttemptFailed(Exception):
    """Nothing, or nothing whole, came back. `word` names the kind for the delivery's log.

    One of: invalid_url, blocked_address, blocked_port, unresolvable, connect, tls, timeout, reset, bad_answer.
    """

    def __init__(self, word: str) -> None:
        super().__init__(word)
        self.word = word


class _Stale(Exception):
    """The receiver had closed a connection that was kept open: nothing of the request was answered."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A receiver's answer: its status and headers; the body is read and not kept."""

    status: int
    headers: Message


@cache
def default_tls() -> ssl.SSLContext:
    """Return the context that checks certificates against the system's authorities; loading them takes a while."""
    return ssl.create_default_context()


class _Line(io.RawIOBase):
    """A connected socket, with one deadline (monotonic seconds) and one budget of bytes per answer.

    `http.client` reads an answer from `makefile` and closes that; the socket stays open until `hang_up`.
    """

    def __init__(self, connected: socket.socket) -> None:
        super().__init__()
        self._socket = connected
        self._ends_at = 0.0
        self.budget = ANSWER_MAX_BYTES

    def begin(self, ends_at: float) -> None:
        self._ends_at, self.budget = ends_at, ANSWER_MAX_BYTES

    def send(self, content: bytes) -> None:
        """Send everything; raises OSError, TimeoutError among them."""
        self._socket.settimeout(_remaining(self._ends_at))
        self._socket.sendall(content)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """Read what is there, waiting no longer than until the deadline; nothing once the budget is spent."""
        size = min(len(buffer), self.budget)
        if not size:
            return 0
        self._socket.settimeout(_remaining(self._ends_at))
        count = self._socket.recv_into(memoryview(buffer)[:size])
        self.budget -= count
        return count

    def makefile(self, _mode: str) -> io.BufferedReader:
        return io.BufferedReader(self, _CHUNK_BYTES)

    def close(self) -> None:
        """Leave the socket open: the reader of one answer closes what it reads from."""

    def hang_up(self) -> None:
        self._socket.close()


def _remaining(ends_at: float) -> float:
    """Return the seconds until `ends_at`; raises TimeoutError when there are none."""
    seconds = ends_at - time.monotonic()
    if seconds <= 0:
        raise TimeoutError
    return seconds


class Channel:
    """A way to one receiver, for one request after the other; the connection is kept while the receiver keeps it."""

    def __init__(self, url: str, *, resolve: Resolve = resolve_by_system, tls: ssl.SSLContext | None = None) -> None:
        self._url = url
        self._resolve = resolve
        self._tls = tls
        self._target: Target | None = None
        self._line: _Line | None = None

    def post(self, body: bytes, headers: Mapping[str, str], *, seconds: float) -> Reply:
        """Send one POST and read its answer, all within `seconds`; raises AttemptFailed."""
        ends_at = time.monotonic() + seconds
        try:
            if self._target is None:
                self._target = read_url(self._url)
            request = _written(self._target, body, headers)
            try:
                return self._exchange(self._target, request, ends_at)
            except _Stale:
                # At most once: what is connected now is new.
                return self._exchange(self._target, request, ends_at)
        except AddressRefused as refusal:
            raise AttemptFailed(refusal.word) from refusal

    def close(self) -> None:
        if self._line is not None:
            self._line.hang_up()
            self._line = None

    def _exchange(self, target: Target, request: bytes, ends_at: float) -> Reply:
        """Send the request and read the answer; raises AttemptFailed, or _Stale on a connection that had ended."""
        kept = self._line is not None
        line = self._line = self._line or self._connect(target, ends_at)
        line.begin(ends_at)
        response = http.client.HTTPResponse(line, method="POST")  # type: ignore[arg-type]
        is_over = True
        try:
            line.send(request)
            response.begin()
            while response.read(_CHUNK_BYTES):
                pass
            if response.length and line.budget:
                raise AttemptFailed("reset")  # it announced more than it sent
            is_over = response.will_close or not line.budget
            return Reply(response.status, response.headers)
        except http.client.IncompleteRead as error:
            if not line.budget:  # enough was read to know the status
                return Reply(response.status, response.headers)
            raise AttemptFailed("reset") from error
        except TimeoutError as error:
            raise AttemptFailed("timeout") from error
        except OSError as error:  # http.client's RemoteDisconnected is one
            if kept and line.budget == ANSWER_MAX_BYTES:
                raise _Stale from error
            raise AttemptFailed("reset") from error
        except (http.client.HTTPException, ValueError) as error:
            raise AttemptFailed("bad_answer") from error
        finally:
            response.close()
            if is_over:
                self.close()

    def _connect(self, target: Target, ends_at: float) -> _Line:
        """Connect to the first of the target's addresses that answers; raises AttemptFailed or AddressRefused."""
        addresses = addresses_of(target, resolve=self._resolve, seconds=max(0.0, ends_at - time.monotonic()))
        failure = AttemptFailed("connect")
        for address in addresses[:_ADDRESSES_TRIED_MAX]:
            family = socket.AF_INET6 if isinstance(address, IPv6Address) else socket.AF_INET
            connected = socket.socket(family, socket.SOCK_STREAM)
            try:
                connected.settimeout(min(CONNECT_TIMEOUT_SECONDS, _remaining(ends_at)))
                # An address in digits: nothing is resolved here.
                connected.connect((str(address), target.port))
                connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                if target.scheme == "https":
                    connected.settimeout(_remaining(ends_at))
                    context = self._tls or default_tls()
                    connected = context.wrap_socket(connected, server_hostname=target.host)
                return _Line(connected)
            except TimeoutError:
                failure = AttemptFailed("timeout")
            except ssl.SSLError:
                failure = AttemptFailed("tls")
            except OSError:
                failure = AttemptFailed("connect")
            connected.close()
        raise failure


def _written(target: Target, body: bytes, headers: Mapping[str, str]) -> bytes:
    lines = [f"POST {target.path} HTTP/1.1", f"Host: {target.host_header}", f"Content-Length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode("ascii") + body
