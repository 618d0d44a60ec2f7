"""A paced load generator: it sends each request when the request is due, even while earlier responses are missing.

A latency starts at the time at which the request was due, so that it shows a stalled server. To measure capacity, omit
the pace: each connection then sends its next request after the previous response.
"""

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Call:
    """A request, its correct statuses, and a function that gets the response body."""

    kind: str
    raw: bytes
    statuses: tuple[int, ...] = (200,)
    then: Callable[[bytes], None] | None = None


@dataclass
class Tally:
    """The latencies in s since the last reset, all latencies by kind of request, and all failures."""

    latencies: list[float] = field(default_factory=list)
    by_kind: dict[str, list[float]] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)

    def pop_latencies(self) -> list[float]:
        """Return the latencies, and reset them."""
        taken, self.latencies = self.latencies, []
        return taken


class Connection:
    """A keep-alive connection that opens with its first request."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def exchange(self, raw: bytes) -> tuple[int, bytes]:
        """Send one request; return status and body."""
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self._port)
        reader, writer = self._streams
        writer.write(raw)
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        status = int(head[9:12])
        _, result, rest = head.partition(b"content-length:")
        if result:
            body = await reader.readexactly(int(rest.partition(b"\r\n")[0]))
        elif b"transfer-encoding: chunked" in head:
            body = b""
            while size := int(await reader.readline(), 16):
                body += (await reader.readexactly(size + 2))[:-2]
            await reader.readline()
        else:
            body = b""
        if b"connection: close" in head:
            self.close()
        return status, body

    def close(self) -> None:
        """Close the connection."""
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


async def _send(connection: Connection, call: Call, due: float, tally: Tally) -> None:
    """Send a call, and record its outcome; the latency starts at `due`."""
    try:
        status, body = await asyncio.wait_for(connection.exchange(call.raw), 60)
    except (OSError, EOFError, TimeoutError) as error:
        connection.close()
        tally.failures.append(f"{call.kind}: {error!r}")
        return
    seconds = time.perf_counter() - due
    tally.latencies.append(seconds)
    tally.by_kind.setdefault(call.kind, []).append(seconds)
    if status not in call.statuses:
        tally.failures.append(f"{call.kind}: {status} {body[:200]!r}")
    elif call.then is not None:
        call.then(body)


async def drive(
    port: int, calls: Iterator[Call], tally: Tally, *, connections: int, seconds: float, per_second: float | None
) -> None:
    """Send calls for this many seconds. Without `per_second`, send them as fast as responses arrive."""
    started = time.perf_counter()
    until = started + seconds
    number = 0

    def next_due() -> float | None:
        nonlocal number
        due = started + number / per_second if per_second else time.perf_counter()
        number += 1
        return due if due < until else None

    async def work() -> None:
        connection = Connection(port)
        with contextlib.closing(connection):
            while (due := next_due()) is not None:
                await asyncio.sleep(max(0.0, due - time.perf_counter()))
                await _send(connection, next(calls), due, tally)

    await asyncio.gather(*(work() for _ in range(connections)))
