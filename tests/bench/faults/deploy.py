"""Servers are reloaded, stopped, restarted in turn, and get new keys, under load behind nginx.

Half of the callers send no Idempotency-Key: nginx may not repeat such a request, so a server that drops it loses it.
"""

import contextlib
import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cryptography.fernet import Fernet

from tests.bench.faults.cluster import cluster
from tests.bench.faults.stand import Stand, stand
from tests.bench.faults.traffic import Caller, Seen, Traffic, show
from tests.bench.proxy import nginx, nginx_program
from tests.bench.report import Line, counts
from tests.bench.server import Server
from tests.processes import wait_until

CALLERS, KEYLESS = 4, 4


def run(quick: bool) -> Iterator[Line]:
    """Check that no request fails, on open and on new connections."""
    if nginx_program() is None:
        print("    nginx is not installed, so nothing is restarted behind it.", flush=True)
        return
    with cluster() as own, stand(own) as served:
        yield from _reload(served, 1 if quick else 4)
        yield from _stop(served)
        yield from _restart_in_turn(served, 1 if quick else 4)
        yield from _rotate(served, 1 if quick else 2)


def _lines(work: str, traffic: Traffic, **told: int) -> Iterator[Line]:
    """Yield the table lines of the callers' responses."""
    failed = [
        response for response in traffic.seen if not response.proper or response.status >= 500 or response.status == 409
    ]
    slowest = max((response.seconds for response in traffic.seen), default=0.0)
    yield from counts(work, {name.replace("_", " "): count for name, count in told.items()})
    keyless = sum(response.work == "keyless" for response in traffic.seen)
    yield from counts(work, {"requests": len(traffic.seen), "of them without a key": keyless})
    yield Line(work, "slowest answer", value=slowest, unit=" s")
    yield from counts(work, {"failed requests": len(show(failed)), **traffic.judge()}, goal=0.0)


def _reload(made: Stand, times: int) -> Iterator[Line]:
    """Send SIGHUP under load; some callers pause longer than a worker lingers."""
    with (
        made.serve() as server,
        nginx(server.port) as port,
        Traffic(made, port, callers=CALLERS, keyless=KEYLESS) as traffic,
        Traffic(made, port, callers=4, pause_seconds=2.5, seen=traffic.seen),
    ):
        for _ in range(times):
            time.sleep(2.0)
            os.kill(server.group, signal.SIGHUP)
            time.sleep(6.0)
    yield from _lines("reload (SIGHUP)", traffic, reloads=times)


def _stop(made: Stand) -> Iterator[Line]:
    """Send SIGTERM to one of two servers: nginx sends every request to the other."""
    with (
        made.serve() as stopped,
        made.serve() as other,
        nginx(stopped.port, other.port) as port,
        Traffic(made, port, callers=CALLERS, keyless=KEYLESS) as traffic,
    ):
        time.sleep(2.0)
        os.kill(stopped.group, signal.SIGTERM)
        time.sleep(3.0)
    yield from _lines("stop (SIGTERM)", traffic)


def _restart_in_turn(made: Stand, times: int) -> Iterator[Line]:
    """Stop and start two servers behind nginx, one after the other."""
    with contextlib.ExitStack() as stack:
        first, second = stack.enter_context(made.serve()), stack.enter_context(made.serve())
        port = stack.enter_context(nginx(first.port, second.port))
        with Traffic(made, port, callers=CALLERS, keyless=KEYLESS) as traffic:
            for _ in range(times):
                for server in (first, second):
                    time.sleep(1.0)
                    restart(stack, made, server)
            time.sleep(1.0)
    yield from _lines("restart in turn behind nginx", traffic, restarts=2 * times)


def _rotate(made: Stand, times: int) -> Iterator[Line]:
    """Replace the encryption key as in docs/operate/keys.md: every server is restarted three times."""
    with contextlib.ExitStack() as stack:
        servers = [stack.enter_context(made.serve()) for _ in range(2)]
        port = stack.enter_context(nginx(*(server.port for server in servers)))
        with Traffic(made, port, callers=CALLERS, keyless=KEYLESS) as traffic:
            endpoint = _encrypted(made, port, "", {"url": "https://receiver.example/"})["id"]
            for _ in range(times):
                old, new = made.environment["FIELD_ENCRYPTION_KEYS"], Fernet.generate_key().decode()
                for keys in (f"{old},{new}", f"{new},{old}", new):
                    if keys == new:
                        made.manage("rotate_encryption_key")
                    made.environment["FIELD_ENCRYPTION_KEYS"] = keys
                    for server in servers:
                        restart(stack, made, server)
                        _encrypted(made, port, f"/{endpoint}/rotate-secret", {})
                        _encrypted(made, port, f"/{endpoint}/test", {})
            time.sleep(1.0)
    yield from _lines("rotation of the encryption key", traffic, rotations=times)


def _encrypted(made: Stand, port: int, path: str, body: dict[str, str]) -> dict[str, Any]:
    """Write or read a webhook secret, at the server that nginx chooses."""

    def ask() -> tuple[int, bytes] | None:
        seen: list[Seen] = []
        caller, who = Caller(port, seen), {"X-API-Key": made.api_key}
        status, answer = caller.ask("secret", "POST", f"/v1/webhooks/endpoints{path}", body, who)
        caller.close()
        return None if status == 503 else (status, answer)  # on overloaded cores, with a request to retry

    status, answer = wait_until(ask)
    if status >= 300:
        raise RuntimeError(f"a secret of a webhook: {status} {answer!r}")
    document: dict[str, Any] = json.loads(answer)
    return document


def _lives(server: Server) -> bool:
    """Return whether any process of a server still runs."""
    for process in server.processes():
        with contextlib.suppress(OSError):
            if Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z":
                return True
    return False


def restart(stack: contextlib.ExitStack, made: Stand, server: Server) -> None:
    """Stop a server, wait for its end, and start another on its port."""
    os.kill(server.group, signal.SIGTERM)
    wait_until(lambda: not _lives(server))
    stack.enter_context(made.serve(port=server.port))
