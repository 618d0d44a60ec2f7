"""A small load generator: each keep-alive connection sends its next request after the previous response.

It runs in the benchmark's process, so that its CPU time does not count as a server's.
"""

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from tests.bench.paced import Connection

# An endless stream of raw requests for one connection.
Requests = Iterator[bytes]


@dataclass
class Outcome:
    """The result of a round: its duration and latencies in s, and the responses with an unexpected status."""

    elapsed: float = 0.0
    latencies: list[float] = field(default_factory=list)
    unexpected: list[bytes] = field(default_factory=list)

    @property
    def per_second(self) -> float:
        """Return the responses per second."""
        return len(self.latencies) / self.elapsed

    def quantile_ms(self, share: float) -> float:
        """Return the quantile of the latencies in ms; `share` is between 0 and 1."""
        ordered = sorted(self.latencies)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))] * 1000


class _Connection(asyncio.Protocol):
    """A keep-alive connection."""

    def __init__(self, requests: Requests, status: int, until: float, outcome: Outcome, done: asyncio.Future) -> None:
        self.requests, self.until, self.outcome, self.done = requests, until, outcome, done
        self.expected = b"HTTP/1.1 %d" % status
        self.buffer = b""
        self.is_waiting = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport
        self.send()

    def send(self) -> None:
        """Send the next request, or close the connection if the time is over."""
        if time.perf_counter() > self.until:
            self.transport.close()
            return
        request = next(self.requests)
        self.sent_at = time.perf_counter()
        self.is_waiting = True
        self.transport.write(request)

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        head, separator, rest = self.buffer.partition(b"\r\n\r\n")
        if not separator:
            return
        length = head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0]
        # A response without a length is chunked, and ends with an empty chunk.
        if len(rest) < int(length) if length else not rest.endswith(b"0\r\n\r\n"):
            return
        self.outcome.latencies.append(time.perf_counter() - self.sent_at)
        if not head.startswith(self.expected):
            self.outcome.unexpected.append(self.buffer)
        self.buffer = b""
        self.is_waiting = False
        self.send()

    def connection_lost(self, error: Exception | None) -> None:
        if self.is_waiting:
            self.outcome.unexpected.append(b"nothing: the connection was closed")
        if not self.done.done():
            self.done.set_result(None)


async def _run(port: int, streams: list[Requests], status: int, seconds: float) -> Outcome:
    """Open one connection per stream, and wait until all connections are closed."""
    loop = asyncio.get_running_loop()
    outcome = Outcome()
    started = time.perf_counter()
    waiting = []
    for stream in streams:
        done = loop.create_future()
        make: Callable[[], asyncio.Protocol] = lambda stream=stream, done=done: _Connection(  # noqa: E731
            stream, status, started + seconds, outcome, done
        )
        await loop.create_connection(make, "127.0.0.1", port)
        waiting.append(done)
    await asyncio.gather(*waiting)
    outcome.elapsed = time.perf_counter() - started
    return outcome


def run(port: int, streams: list[Requests], *, status: int, seconds: float) -> Outcome:
    """Load the server for this many seconds. Exits the program if a response has another status."""
    outcome = asyncio.run(_run(port, streams, status, seconds))
    if outcome.unexpected or not outcome.latencies:
        unexpected = outcome.unexpected[0].decode(errors="replace") if outcome.unexpected else "nothing"
        raise SystemExit(f"The server on port {port} returned an unexpected response: {unexpected}")
    return outcome


def fetch(port: int, raw: bytes) -> tuple[int, bytes]:
    """Send a raw request; return status and body."""

    async def exchange() -> tuple[int, bytes]:
        with contextlib.closing(Connection(port)) as connection:
            return await connection.exchange(raw)

    return asyncio.run(exchange())
