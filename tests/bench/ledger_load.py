"""A lean load generator: N keep-alive connections, each sending its next anchor when the last is answered."""

import asyncio
import sys
import time
from uuid import uuid4

import orjson


class _Client(asyncio.Protocol):
    """One connection; counts answers with status 200 and what else came."""

    def __init__(self, name: str, until: float, done: asyncio.Future) -> None:
        self.name, self.until, self.done = name, until, done
        self.sent = self.ok = self.failed = 0
        self.buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport
        self.send()

    def send(self) -> None:
        """Send the next report, or stop when the time is over."""
        if time.monotonic() > self.until:
            self.transport.close()
            return
        self.sent += 1
        body = orjson.dumps({"user_id": "42", "report_type": "bench", "report_data": f"report {self.name} {self.sent}"})
        head = b"POST /anchor HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        head += b"Content-Length: %d\r\n\r\n"
        self.transport.write(head % len(body) + body)

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        head, separator, rest = self.buffer.partition(b"\r\n\r\n")
        if not separator:
            return
        length = head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0]
        # Without a length the answer is chunked and ends with an empty chunk.
        if len(rest) < int(length) if length else not rest.endswith(b"0\r\n\r\n"):
            return
        self.buffer = b""
        if head.startswith(b"HTTP/1.1 200"):
            self.ok += 1
        else:
            self.failed += 1
        self.send()

    def connection_lost(self, error: Exception | None) -> None:
        if not self.done.done():
            self.done.set_result(None)


async def run(port: int, clients: int, seconds: float) -> dict[str, float]:
    """Load the server; answers per second and failures."""
    loop = asyncio.get_running_loop()
    started = time.monotonic()
    until = started + seconds
    protocols = []
    for _ in range(clients):
        done = loop.create_future()
        _, protocol = await loop.create_connection(
            lambda done=done: _Client(uuid4().hex, until, done), "127.0.0.1", port
        )
        protocols.append(protocol)
    await asyncio.gather(*(protocol.done for protocol in protocols))
    elapsed = time.monotonic() - started
    ok = sum(protocol.ok for protocol in protocols)
    return {"per_second": ok / elapsed, "failed": sum(protocol.failed for protocol in protocols)}


if __name__ == "__main__":
    outcome = asyncio.run(run(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])))
    sys.stdout.write(orjson.dumps(outcome).decode() + "\n")
