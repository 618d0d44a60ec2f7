"""HTTP requests to other servers. One deadline applies to each request and its response.

The library `requests` limits each wait, but not the sum of all waits, so a server that sends single bytes could block a
thread forever. In this module, each socket checks the limits of the current exchange before each operation. Redirects,
proxies, cookies, and log-ins from the environment are ignored.
"""

import re
import socket
import ssl
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import lru_cache
from http.client import HTTPException, IncompleteRead
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any

import requests
import urllib3
from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

Address = IPv4Address | IPv6Address
Resolve = Callable[[str], Sequence[Address]]

CONNECT_SECONDS = 5.0
HEAD_MAX_BYTES = 65_536
_ADDRESSES_TRIED_MAX = 4
_STOP_CHECK_SECONDS = 1.0
_TLS_RECORD_BYTES = 16_384
_STATUS_LINE = re.compile(rb"HTTP/1\.[01] ([1-9][0-9]{2})[ \r\n]")
_END_OF_HEAD = re.compile(rb"\r?\n\r?\n")


class NoAnswer(Exception):
    """No complete response arrived. `word` is connect, tls, timeout, reset, stopped, too_large or unreadable.

    `was_sent` is False if no byte was sent. `status` is 0 if no status code arrived.
    """

    def __init__(self, word: str, *, was_sent: bool, status: int = 0) -> None:
        super().__init__(word)
        self.word, self.was_sent, self.status = word, was_sent, status


@dataclass(frozen=True, slots=True)
class Answer:
    """A complete response. The names of `headers` are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(slots=True)
class Exchange:
    """The limits and the progress of a request and its response. The sockets read and update this object."""

    ends_at: float
    connect_seconds: float
    max_bytes: int  # includes headers
    resolve: Resolve
    ca_file: str = ""
    is_stopped: Callable[[], bool] | None = None
    is_new_connection: bool = False
    was_sent: bool = False
    received: int = 0
    head: bytearray = field(default_factory=bytearray)
    word: str = ""

    def end(self, word: str) -> OSError:
        """Record why the exchange ends, and return the error to raise."""
        self.word = self.word or word
        return TimeoutError(word) if word == "timeout" else OSError(word)

    def seconds_left(self) -> float:
        """Return the maximum wait of the next operation in seconds. Raises OSError after the deadline or a stop."""
        if self.is_stopped is not None and self.is_stopped():
            raise self.end("stopped")
        left = self.ends_at - time.monotonic()
        if left <= 0:
            raise self.end("timeout")
        return left

    def count(self, piece: memoryview) -> None:
        self.received += len(piece)
        if len(self.head) < HEAD_MAX_BYTES:
            self.head += piece[: HEAD_MAX_BYTES - len(self.head)]

    @property
    def status(self) -> int:
        """Return the status code of the final response, or 0 before it arrives. Interim responses (1xx) are ignored."""
        line = _STATUS_LINE.match(self.head)
        while line and line[1].startswith(b"1"):
            end = _END_OF_HEAD.search(self.head, line.end(1))
            line = _STATUS_LINE.match(self.head, end.end()) if end else None
        return int(line[1]) if line else 0


_current: ContextVar[Exchange] = ContextVar("exchange")


class _LimitedSocket(socket.socket):
    """A socket that waits at most until the deadline of this thread's current exchange."""

    def recv_into(self, buffer: Any, nbytes: int = 0, flags: int = 0) -> int:
        exchange = _current.get()
        room = exchange.max_bytes - exchange.received
        if room <= 0:
            raise exchange.end("too_large")
        view = memoryview(buffer)[: min(nbytes or len(buffer), room)]
        while True:
            left = exchange.seconds_left()
            self.settimeout(left if exchange.is_stopped is None else min(left, _STOP_CHECK_SECONDS))
            with suppress(TimeoutError):
                count = super().recv_into(view, len(view), flags)
                exchange.count(view[:count])
                return count

    def sendall(self, data: Any, flags: int = 0) -> None:
        exchange = _current.get()
        exchange.was_sent = True
        # TLS applies the timeout to each record, so each send is one record.
        for position in range(0, len(data), _TLS_RECORD_BYTES):
            self.settimeout(exchange.seconds_left())
            super().sendall(data[position : position + _TLS_RECORD_BYTES], flags)


class _LimitedTlsSocket(_LimitedSocket, ssl.SSLSocket):  # type: ignore[misc]
    """A `_LimitedSocket` with TLS."""


@lru_cache(maxsize=8)
def _tls_context(ca_file: str, _system_paths: ssl.DefaultVerifyPaths) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=ca_file or None)
    context.sslsocket_class = _LimitedTlsSocket
    return context


def _connect(host: str, port: int) -> _LimitedSocket:
    """Connect to an address of `host` within the limits of the current exchange. Raises OSError."""
    exchange = _current.get()
    exchange.is_new_connection = True
    ends_at = min(exchange.ends_at, time.monotonic() + exchange.connect_seconds)
    for address in exchange.resolve(host)[:_ADDRESSES_TRIED_MAX]:
        exchange.seconds_left()
        connecting = _LimitedSocket(socket.AF_INET if address.version == 4 else socket.AF_INET6, socket.SOCK_STREAM)
        connecting.settimeout(max(0.001, ends_at - time.monotonic()))
        try:
            connecting.connect((str(address), port))
        except OSError:
            connecting.close()
            continue
        connecting.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connecting
    raise exchange.end("timeout" if time.monotonic() >= ends_at else "connect")


class _Connection(HTTPConnection):
    def connect(self) -> None:
        self.sock = _connect(self.host, self.port)


class _TlsConnection(HTTPSConnection):
    def connect(self) -> None:
        exchange = _current.get()
        connected = _connect(self.host, self.port)
        context = _tls_context(exchange.ca_file, ssl.get_default_verify_paths())
        connected.settimeout(exchange.seconds_left())  # limits the complete handshake
        try:
            self.sock = context.wrap_socket(connected, server_hostname=self.host)
        except TimeoutError as error:
            raise exchange.end("timeout") from error
        except (OSError, ValueError) as error:  # a certificate can't contain some host names, which raises ValueError
            raise exchange.end("tls") from error
        self.is_verified = True


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Connection


class _TlsPool(HTTPSConnectionPool):
    ConnectionCls = _TlsConnection


class Adapter(HTTPAdapter):
    """Sends requests over reusable connections with the limits of the current exchange."""

    def init_poolmanager(self, *args: Any, **options: Any) -> None:
        super().init_poolmanager(*args, **options)
        self.poolmanager.pool_classes_by_scheme = {"http": _Pool, "https": _TlsPool}


_adapters = threading.local()  # a connection serves only one exchange at a time


def exchange(
    method: str,
    url: str,
    *,
    seconds: float,
    max_bytes: int,
    body: bytes = b"",
    headers: Mapping[str, str] | None = None,
    ca_file: str = "",
    is_stopped: Callable[[], bool] | None = None,
) -> Answer:
    """Send a GET or a POST and read its response within `seconds`. Raises NoAnswer.

    The body of the response may have up to `max_bytes`. The exchange ends if `is_stopped`, which is called about once
    per second, returns True. A POST uses a new connection, and is sent once. A GET is repeated if its reused connection
    was closed.
    """
    limits = Exchange(
        ends_at=time.monotonic() + seconds,
        connect_seconds=CONNECT_SECONDS,
        max_bytes=max_bytes + HEAD_MAX_BYTES,
        ca_file=ca_file,
        resolve=lambda host: resolve_within(resolve_by_system, host, CONNECT_SECONDS),
        is_stopped=is_stopped,
    )
    if method == "POST":
        with closing(Adapter()) as adapter:
            return send(adapter, method, url, limits, body=body, headers=headers, max_body_bytes=max_bytes)
    if not hasattr(_adapters, "adapter"):
        _adapters.adapter = Adapter()
    try:
        return send(_adapters.adapter, method, url, limits, headers=headers, max_body_bytes=max_bytes)
    except NoAnswer:
        if limits.is_new_connection or limits.received or limits.word:
            raise
        limits.was_sent = False
        return send(_adapters.adapter, method, url, limits, headers=headers, max_body_bytes=max_bytes)


def send(
    adapter: Adapter,
    method: str,
    url: str,
    limits: Exchange,
    *,
    max_body_bytes: int,
    body: bytes = b"",
    headers: Mapping[str, str] | None = None,
) -> Answer:
    """Send one request within `limits`. Raises NoAnswer."""
    if not all(f"{name}: {value}".isprintable() for name, value in (headers or {}).items()):
        raise NoAnswer("unreadable", was_sent=False)
    content = bytearray()
    token = _current.set(limits)
    try:
        request = requests.Request(method, url, headers=dict(headers or {}), data=body or None).prepare()
        request.url = url  # `prepare` would remove dot segments
        with adapter.send(request, stream=True) as response:
            while piece := response.raw.read(min(_TLS_RECORD_BYTES, max_body_bytes + 1), decode_content=False):
                content += piece
                if len(content) > max_body_bytes:
                    raise limits.end("too_large")
            if response.status_code < 200:  # http.client skips only responses with the status 100
                raise limits.end("unreadable")
            by_name = {name.lower(): value for name, value in response.headers.items()}
            return Answer(response.status_code, by_name, bytes(content))
    except (requests.RequestException, urllib3.exceptions.HTTPError, HTTPException, OSError, ValueError) as error:
        raise NoAnswer(_word_of(error, limits), was_sent=limits.was_sent, status=limits.status) from error
    finally:
        _current.reset(token)


def _word_of(error: BaseException, limits: Exchange) -> str:
    if limits.word or not limits.was_sent:
        return limits.word or "unreadable"
    causes: list[BaseException] = [error]
    for cause in causes:  # requests and urllib3 wrap the original error
        inner = (*cause.args, cause.__cause__, cause.__context__)
        causes += [exception for exception in inner if isinstance(exception, BaseException) and exception not in causes]
    return "reset" if any(isinstance(cause, ConnectionError | IncompleteRead) for cause in causes) else "unreadable"


def resolve_by_system(host: str) -> list[Address]:
    """Return the distinct addresses of a name. Raises OSError if none exists."""
    addresses = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    # Only link-local addresses have a zone such as %eth0, and `config.clients.addresses` blocks these addresses.
    return list(dict.fromkeys(ip_address(str(entry[4][0]).partition("%")[0]) for entry in addresses))


def resolve_within(resolve: Resolve, host: str, seconds: float) -> Sequence[Address]:
    """Return the addresses that `resolve` finds for a name within `seconds`, or an empty list.

    An IP address is returned without a call of `resolve`. The system's resolver can't be interrupted, so after the time
    limit its thread is abandoned.
    """
    with suppress(ValueError):
        return [ip_address(host)]
    outcome: list[Sequence[Address]] = []

    def work() -> None:
        with suppress(OSError, UnicodeError, ValueError):
            outcome.append(resolve(host))

    thread = threading.Thread(target=work, daemon=True, name="resolver")
    thread.start()
    thread.join(max(0.0, seconds))
    return outcome[0] if outcome else []
