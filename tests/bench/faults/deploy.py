"""A new version is brought in while callers work, behind nginx as in production: reload, stop, restart in turn."""

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

from tests.bench.faults.cluster import cluster
from tests.bench.faults.stand import Stand, stand
from tests.bench.faults.traffic import Traffic, show
from tests.bench.proxy import nginx, nginx_program
from tests.bench.report import Line
from tests.bench.server import Server

CALLERS = 8


def run(quick: bool) -> Iterator[Line]:
    """No request may fail, on kept connections and on new ones."""
    if nginx_program() is None:
        print("    nginx is not installed, so nothing is restarted behind it.", flush=True)
        return
    with cluster() as own, stand(own) as made:
        yield from _reload(made, 1 if quick else 4)
        yield from _stop(made)
        yield from _restart_in_turn(made, 1 if quick else 3)


def _lines(work: str, traffic: Traffic, **counts: int) -> Iterator[Line]:
    """Yield what callers saw."""
    failed = [one for one in traffic.seen if not one.proper or one.status >= 500 or one.status == 409]
    for name, count in counts.items():
        yield Line(work, name.replace("_", " "), value=float(count))
    yield Line(work, "requests", value=float(len(traffic.seen)))
    yield Line(work, "failed requests", value=float(len(show(failed))), goal=0.0)
    slowest = max((one.seconds for one in traffic.seen), default=0.0)
    yield Line(work, "slowest answer", value=slowest, unit=" s")
    for name, count in traffic.judge().items():
        yield Line(work, name, value=float(count), goal=0.0)


def _reload(made: Stand, times: int) -> Iterator[Line]:
    """SIGHUP under load; some callers pause longer than a worker lingers."""
    with (
        made.serve() as server,
        nginx(server.port) as port,
        Traffic(made, port, callers=CALLERS) as traffic,
        Traffic(made, port, callers=4, pause_seconds=2.5, seen=traffic.seen),
    ):
        for _ in range(times):
            time.sleep(2.0)
            os.kill(server.group, signal.SIGHUP)
            time.sleep(6.0)
    yield from _lines("reload (SIGHUP)", traffic, reloads=times)


def _stop(made: Stand) -> Iterator[Line]:
    """SIGTERM to one server of two: nginx sends everybody to the other one."""
    with (
        made.serve() as stopped,
        made.serve() as other,
        nginx(stopped.port, other.port) as port,
        Traffic(made, port, callers=CALLERS) as traffic,
    ):
        time.sleep(2.0)
        os.kill(stopped.group, signal.SIGTERM)
        time.sleep(3.0)
    yield from _lines("stop (SIGTERM)", traffic)


def _restart_in_turn(made: Stand, times: int) -> Iterator[Line]:
    """Two servers behind nginx, stopped and started one after the other."""
    with contextlib.ExitStack() as stack:
        first, second = stack.enter_context(made.serve()), stack.enter_context(made.serve())
        port = stack.enter_context(nginx(first.port, second.port))
        with Traffic(made, port, callers=CALLERS) as traffic:
            for _ in range(times):
                for server in (first, second):
                    time.sleep(1.0)
                    _restart(stack, made, server)
            time.sleep(1.0)
    yield from _lines("restart in turn behind nginx", traffic, restarts=2 * times)


def _lives(server: Server) -> bool:
    """Say whether any of a server's processes still runs."""
    for process in server.processes():
        with contextlib.suppress(OSError):
            if Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z":
                return True
    return False


def _restart(stack: contextlib.ExitStack, made: Stand, server: Server) -> None:
    """Stop a server, wait for its end, start another on its port."""
    os.kill(server.group, signal.SIGTERM)
    until = time.monotonic() + 30
    while _lives(server) and time.monotonic() < until:
        time.sleep(0.1)
    stack.enter_context(made.serve(port=server.port))
