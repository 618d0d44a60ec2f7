"""Measure how 500 clients that never finish a request, or never read a response, affect other clients."""

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from functools import partial

from tests.bench import load
from tests.bench.faults.cluster import cluster
from tests.bench.faults.stand import stand
from tests.bench.proxy import nginx, nginx_program
from tests.bench.report import Line
from tests.bench.workloads import request

WORK, SLOW_CLIENTS = "500 slow clients at nginx", 500
HALF_A_BODY = (
    b"POST /v1/applications HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    b'Content-Length: 400\r\n\r\n{"consumer_id": "'
)
HALF_A_HEAD = b"GET /v1/applications HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Api"
LARGE = "/v1/openapi.json"  # its response does not fit into the buffers of the sockets
KINDS = 3
SETTLED_SECONDS = 5.0  # until nginx has received the unread responses


def _reads(number: int) -> bool:
    """Return whether a client with this number reads responses; it then never finishes its request."""
    return number % KINDS != 0


def _begin(port: int, number: int, api_key: str) -> socket.socket:
    """Connect a client: its kind depends on its number."""
    unread = request("GET", LARGE, {"X-API-Key": api_key})
    connection = socket.socket()
    connection.settimeout(60)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.connect(("127.0.0.1", port))
    connection.sendall((unread, HALF_A_HEAD, HALF_A_BODY)[number % KINDS])
    connection.setblocking(False)
    return connection


@contextlib.contextmanager
def crowd(port: int, api_key: str) -> Iterator[None]:
    """Run clients that send half a request, then a byte every 5 s, and clients that never read their response.

    The clients with half a request reconnect after a disconnect.
    """
    over, sockets = threading.Event(), [_begin(port, number, api_key) for number in range(SLOW_CLIENTS)]

    def stay() -> None:
        number = 0
        while not over.wait(5.0 / SLOW_CLIENTS):
            number = (number + 1) % SLOW_CLIENTS
            if not _reads(number):
                continue
            try:
                sockets[number].send(b"x")
                if sockets[number].recv(4096) == b"":
                    raise ConnectionResetError
            except BlockingIOError:
                continue
            except OSError:
                sockets[number].close()
                with contextlib.suppress(OSError):
                    sockets[number] = _begin(port, number, api_key)

    staying = threading.Thread(target=stay)
    staying.start()
    try:
        time.sleep(SETTLED_SECONDS)
        yield
    finally:
        over.set()
        staying.join()
        for item in sockets:
            item.close()


def run(quick: bool) -> Iterator[Line]:
    """Measure other clients behind nginx, alternating between runs with and without slow clients.

    The slow clients do not connect to gunicorn directly: eight half-sent bodies would block all its threads.
    """
    rounds, seconds = (1, 1.5) if quick else (5, 4.0)
    if nginx_program() is None:
        print("    nginx is not installed, so slow clients are not measured.", flush=True)
        return
    with cluster() as own, stand(own) as services, services.serve() as platform, nginx(platform.port) as port:
        listing = request("GET", "/v1/applications", {"X-API-Key": services.api_key})
        turns = {"alone": contextlib.nullcontext, "with slow clients": partial(crowd, api_key=services.api_key)}
        outcomes_by_name = {name: load.Outcome() for name in turns}

        def others(length: float) -> load.Outcome:
            return load.run(port, [iter(lambda: listing, None) for _ in range(4)], status=200, seconds=length)

        others(1.0)
        for _ in range(rounds):
            for name, around in turns.items():
                with around(port):
                    more = others(seconds)
                outcomes_by_name[name].elapsed += more.elapsed
                outcomes_by_name[name].latencies += more.latencies
                time.sleep(0.5)
    for name, outcome in outcomes_by_name.items():
        yield Line(WORK, name, outcome.per_second, outcome.quantile_ms(0.5), outcome.quantile_ms(0.99))
    tails = [outcome.quantile_ms(0.99) for outcome in outcomes_by_name.values()]
    yield Line(WORK, "p99 with ÷ alone", value=tails[1] / tails[0], goal=2.0)
