"""Reload, stop, and restart servers, and rotate their encryption key, under load behind nginx.

Half of the callers send no Idempotency-Key. nginx does not repeat their requests, so a dropped request is lost.
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
from tests.bench.faults.traffic import Caller, RecordedResponse, Traffic, print_first
from tests.bench.proxy import nginx, nginx_program
from tests.bench.report import Line, counts
from tests.bench.server import Server
from tests.processes import wait_until

# The callers of the quick form pause, because tests run at the same time.
CALLERS: dict[str, Any] = {"callers": 4, "keyless": 4}
QUICK_CALLERS = {**CALLERS, "pause_seconds": 0.02}


def run(quick: bool, data: Path | None = None) -> Iterator[Line]:
    """Count failed requests on open and on new connections. `data` is a migrated cluster to copy."""
    if nginx_program() is None:
        print("    nginx is not installed, so no server is restarted behind it.", flush=True)
        return
    callers = QUICK_CALLERS if quick else CALLERS
    with cluster(data=data) as own, stand(own) as services:
        yield from _reload(services, 1 if quick else 4, callers)
        yield from _stop(services, callers)
        # The rotation also restarts the servers in turn.
        if not quick:
            yield from _restart_in_turn(services, 4)
        yield from _rotate(services, 1 if quick else 2, callers)


def _lines(work: str, traffic: Traffic, **figures: int) -> Iterator[Line]:
    """Yield the table lines for the callers' responses."""
    failed = [
        response
        for response in traffic.responses
        if not response.is_documented or response.status >= 500 or response.status == 409
    ]
    slowest = max((response.seconds for response in traffic.responses), default=0.0)
    yield from counts(work, {name.replace("_", " "): count for name, count in figures.items()})
    keyless = sum(response.work == "keyless" for response in traffic.responses)
    yield from counts(work, {"requests": len(traffic.responses), "requests without a key": keyless})
    yield Line(work, "slowest response", value=slowest, unit=" s")
    yield from counts(work, {"failed requests": len(print_first(failed)), **traffic.judge()}, goal=0.0)


def _reload(services: Stand, times: int, callers: dict[str, Any]) -> Iterator[Line]:
    """Send SIGHUP under load; four callers pause for longer than the idle timeout of an old worker's connections."""
    with (
        services.serve() as server,
        nginx(server.port) as port,
        Traffic(services, port, **callers) as traffic,
        Traffic(services, port, callers=4, pause_seconds=2.5, responses=traffic.responses),
    ):
        for _ in range(times):
            time.sleep(2.0)
            os.kill(server.group, signal.SIGHUP)
            time.sleep(6.0)
    yield from _lines("reload (SIGHUP)", traffic, reloads=times)


def _stop(services: Stand, callers: dict[str, Any]) -> Iterator[Line]:
    """Send SIGTERM to one of two servers; nginx then sends every request to the other server."""
    with (
        services.serve() as stopped,
        services.serve() as other,
        nginx(stopped.port, other.port) as port,
        Traffic(services, port, **callers) as traffic,
    ):
        time.sleep(2.0)
        os.kill(stopped.group, signal.SIGTERM)
        time.sleep(3.0)
    yield from _lines("stop (SIGTERM)", traffic)


def _restart_in_turn(services: Stand, times: int) -> Iterator[Line]:
    """Stop and start two servers behind nginx, one after the other."""
    with contextlib.ExitStack() as stack:
        servers = [stack.enter_context(services.serve()) for _ in range(2)]
        port = stack.enter_context(nginx(*(server.port for server in servers)))
        with Traffic(services, port, **CALLERS) as traffic:
            for _ in range(times):
                for number, server in enumerate(servers):
                    time.sleep(1.0)
                    servers[number] = restart(stack, services, server)
            time.sleep(1.0)
    yield from _lines("restart in turn behind nginx", traffic, restarts=2 * times)


def _rotate(services: Stand, times: int, callers: dict[str, Any]) -> Iterator[Line]:
    """Replace the encryption key as in docs/operate/keys.md: every server is restarted three times."""
    with contextlib.ExitStack() as stack:
        servers = [stack.enter_context(services.serve()) for _ in range(2)]
        port = stack.enter_context(nginx(*(server.port for server in servers)))
        with Traffic(services, port, **callers) as traffic:
            endpoint = _encrypted(services, port, "", {"url": "https://receiver.example/"})["id"]
            for _ in range(times):
                old, new = services.environment["FIELD_ENCRYPTION_KEYS"], Fernet.generate_key().decode()
                for keys in (f"{old},{new}", f"{new},{old}", new):
                    if keys == new:
                        services.manage("rotate_encryption_key")
                    services.environment["FIELD_ENCRYPTION_KEYS"] = keys
                    for number, server in enumerate(servers):
                        servers[number] = restart(stack, services, server)
                        _encrypted(services, port, f"/{endpoint}/rotate-secret", {})
                        _encrypted(services, port, f"/{endpoint}/test", {})
            time.sleep(1.0)
    yield from _lines("rotation of the encryption key", traffic, rotations=times)


def _encrypted(services: Stand, port: int, path: str, body: dict[str, str]) -> dict[str, Any]:
    """Send a request that encrypts or decrypts a webhook secret; nginx chooses the server."""

    def send() -> tuple[int, bytes] | None:
        responses: list[RecordedResponse] = []
        caller, headers = Caller(port, responses), {"X-API-Key": services.api_key}
        status, answer = caller.send("secret", "POST", f"/v1/webhooks/endpoints{path}", body, headers)
        caller.close()
        return None if status == 503 else (status, answer)  # an overloaded server returns 503 with Retry-After

    status, answer = wait_until(send)
    if status >= 300:
        raise RuntimeError(f"The request with the webhook secret failed: {status} {answer!r}")
    document: dict[str, Any] = json.loads(answer)
    return document


def _is_running(server: Server) -> bool:
    """Return whether any process of the server still runs."""
    for process in server.processes():
        with contextlib.suppress(OSError):
            if Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z":
                return True
    return False


def restart(stack: contextlib.ExitStack, services: Stand, server: Server) -> Server:
    """Stop a server, wait until its processes end, and start another server on its port. Returns the new server."""
    if not _is_running(server):
        raise RuntimeError("The server has already ended.")
    os.kill(server.group, signal.SIGTERM)
    wait_until(lambda: not _is_running(server))
    return stack.enter_context(services.serve(port=server.port))
