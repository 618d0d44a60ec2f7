"""Five hundred clients that never finish what they send, and what the others notice of them."""

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from typing import Self

from tests.bench import load
from tests.bench.faults.cluster import cluster
from tests.bench.faults.stand import Stand, stand
from tests.bench.proxy import nginx, nginx_program
from tests.bench.report import Line

SLOW_CLIENTS = 500
ROUNDS, SECONDS = 5, 4.0
HALF_A_BODY = (
    b"POST /v1/applications HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    b'Content-Length: 400\r\n\r\n{"consumer_id": "'
)
HALF_A_HEAD = b"GET /v1/applications HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Api"


class Crowd:
    """Clients that send the half of a request, then a byte now and then, and begin anew when they are hung up on."""

    def __init__(self, port: int) -> None:
        self._port = port

    def __enter__(self) -> Self:
        """Come."""
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._stay)
        self._sockets = [self._begin(number) for number in range(SLOW_CLIENTS)]
        self._thread.start()
        return self

    def __exit__(self, *_caught: object) -> None:
        """Go."""
        self._over.set()
        self._thread.join()
        for one in self._sockets:
            one.close()

    def _begin(self, number: int) -> socket.socket:
        made = socket.create_connection(("127.0.0.1", self._port), timeout=10)
        made.sendall(HALF_A_BODY if number % 2 else HALF_A_HEAD)
        made.setblocking(False)
        return made

    def _stay(self) -> None:
        """Each sends a byte every five seconds."""
        number = 0
        while not self._over.wait(5.0 / SLOW_CLIENTS):
            number = (number + 1) % SLOW_CLIENTS
            one = self._sockets[number]
            try:
                one.send(b"x")
                if one.recv(4096) == b"":
                    raise ConnectionResetError
            except BlockingIOError:
                continue
            except OSError:
                one.close()
                with contextlib.suppress(OSError):
                    self._sockets[number] = self._begin(number)


def run(quick: bool) -> Iterator[Line]:
    """Measure the others with the crowd and without it, in turn, behind nginx.

    Not at gunicorn itself: eight half-sent bodies hold its threads, which is why nginx is in front of it.
    """
    rounds, seconds = (1, 1.5) if quick else (ROUNDS, SECONDS)
    if nginx_program() is None:
        print("    nginx is not installed, so slow clients are not measured behind it.", flush=True)
        return
    with cluster() as own, stand(own) as made, made.serve() as platform, nginx(platform.port) as port:
        yield from _measure("500 slow clients at nginx", made, port, rounds, seconds)


def _measure(work: str, made: Stand, port: int, rounds: int, seconds: float) -> Iterator[Line]:
    """Yield the p99 of the others, alone and with the crowd."""
    request = (
        f"GET /v1/applications HTTP/1.1\r\nHost: 127.0.0.1\r\nX-API-Key: {made.api_key}\r\n\r\n"
    ).encode()  # fmt: skip

    def others(length: float) -> load.Outcome:
        return load.run(port, [iter(lambda: request, None) for _ in range(4)], status=200, seconds=length)

    others(1.0)
    alone, crowded = load.Outcome(), load.Outcome()
    for _ in range(rounds):
        _add(alone, others(seconds))
        with Crowd(port):
            time.sleep(0.5)
            _add(crowded, others(seconds))
        time.sleep(0.5)
    for name, outcome in (("alone", alone), ("with them", crowded)):
        yield Line(work, name, outcome.per_second, outcome.quantile_ms(0.5), outcome.quantile_ms(0.99))
    yield Line(work, "p99 with ÷ alone", value=crowded.quantile_ms(0.99) / alone.quantile_ms(0.99), goal=2.0)


def _add(total: load.Outcome, more: load.Outcome) -> None:
    """Add a turn to what was measured."""
    total.elapsed += more.elapsed
    total.latencies += more.latencies
