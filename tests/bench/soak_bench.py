"""Soak: the demo's kinds of callers at 70 % of capacity on PostgreSQL, with webhooks and anchors running.

Capacity is measured first, by the same callers on the same connections without a pace. Then, for `--minutes`, calls
come at a steady pace, and every few seconds memory, open files and connections of each process are noted.

Noise: a worker's memory may move, but not grow. Over the second half a line is laid through the samples by least
squares. It counts as flat when the 95 % interval of its slope holds zero; otherwise the slope itself must stay below
1 MiB in ten minutes. Open files and connections: the median of the last quarter against that of the second.

PostgreSQL with autovacuum turned off would be measured in a state in which nobody runs it. The bench then does
autovacuum's work: once a minute it vacuums the tables that autovacuum would.
"""

import asyncio
import contextlib
import math
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg

from tests.bench import cpu, seeding
from tests.bench.paced import Tally, drive
from tests.bench.report import Line
from tests.bench.server import ROOT, Server, gunicorn, serve
from tests.bench.soak_callers import MIX, Callers
from tests.bench.webhook_bench import RECEIVER
from tests.processes import temporary_database

NAMES = ["soak"]
ROWS = 20_000
LOAD = 0.7
CALLER_CONNECTIONS = 12
CAPACITY_SECONDS, WARM_UP_SECONDS = 20.0, 10.0
SAMPLE_SECONDS = 5.0
SLOPE_GOAL_MIB = 1.0  # in ten minutes
VACUUM_SECONDS = 60.0  # autovacuum_naptime, as it comes
# autovacuum_vacuum_threshold and autovacuum_vacuum_scale_factor, as they come.
_WORN = "SELECT relid::regclass::text FROM pg_stat_user_tables WHERE n_dead_tup > 50 + 0.2 * n_live_tup"
_COMMANDS = ("deliver_webhooks", "anchor_decisions")


@dataclass(frozen=True, slots=True)
class Sample:
    """What stood at one moment: MiB and open files by process, connections to the database."""

    at: float
    mib: dict[str, float]
    files: dict[str, int]
    connections: int


def slope_of(points: list[tuple[float, float]]) -> tuple[float, float]:
    """Return the slope of a line by least squares, and half the width of its 95 % interval."""
    count = len(points)
    if count < 4:
        return 0.0, math.inf
    mean_x, mean_y = (statistics.fmean(values) for values in zip(*points, strict=True))
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    slope = sum((x - mean_x) * (y - mean_y) for x, y in points) / spread
    left = sum((y - mean_y - slope * (x - mean_x)) ** 2 for x, y in points)
    return slope, 1.96 * math.sqrt(left / (count - 2) / spread)


class Soak:
    """A database of its own, the services on it, and who calls them."""

    def __init__(self, running: contextlib.ExitStack, folder: str) -> None:
        self.database = running.enter_context(temporary_database(seeding.SERVER, f"bench_soak_{os.getpid()}"))
        receiver = running.enter_context(serve("receiver", RECEIVER, dict(os.environ)))
        plain = {"DATABASE_URL": self.database, "VAR_DIR": folder}
        self.facts = seeding.fill(ROWS, seeding.environment(ROWS, **plain))
        ledger_environment = seeding.environment(ROWS, **plain, LEDGER_ORIGIN="soak.example")
        ledger = running.enter_context(serve("ledger", gunicorn("ledger.wsgi"), ledger_environment, probe="/v1/health"))
        environment = seeding.environment(
            ROWS,
            **plain,
            WEBHOOK_ALLOW_PRIVATE="1",
            ANCHOR_DECISIONS="1",
            CHAIN_URL=f"http://127.0.0.1:{ledger.port}",
            LEDGER_ORIGIN="soak.example",
        )
        people = seeding.printed_by("tests.bench.soak_callers", str(receiver.port), environment=environment)
        self.platform = running.enter_context(serve("platform", gunicorn("config.wsgi"), environment))
        workers = {name: running.enter_context(_worker(name, environment)) for name in _COMMANDS}
        time.sleep(3)
        self.processes = {
            **_workers_of("platform", self.platform),
            **_workers_of("ledger", ledger),
            **{name: process.pid for name, process in workers.items()},
        }
        self.calls = iter(Callers(self.facts, people))
        self.tally = Tally()
        self.watching = running.enter_context(psycopg.connect(self.database, autocommit=True))

    def run(self, seconds: float, per_second: float | None) -> float:
        """Call for so many seconds; return the answers per second."""
        started = time.perf_counter()
        asyncio.run(self._drive(seconds, per_second))
        return len(self.tally.latencies) / (time.perf_counter() - started)

    async def _drive(self, seconds: float, per_second: float | None) -> None:
        await drive(
            self.platform.port, self.calls, self.tally,
            connections=CALLER_CONNECTIONS, seconds=seconds, per_second=per_second,
        )  # fmt: skip

    def sample(self, at: float) -> Sample:
        """Look at every process and at the database."""
        found = self.watching.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        ).fetchone()
        return Sample(
            at,
            {name: cpu.largest_resident_mib([process]) for name, process in self.processes.items()},
            {name: len(list(Path(f"/proc/{process}/fd").iterdir())) for name, process in self.processes.items()},
            int(found[0]),
        )

    async def keep_vacuumed(self) -> None:
        """Do autovacuum's work until this is cancelled, where the server does not."""
        if self.watching.execute("SHOW autovacuum").fetchone()[0] == "on":
            return
        print("soak: autovacuum is off here; the bench vacuums once a minute")
        with psycopg.connect(self.database, autocommit=True) as vacuuming:
            while True:
                await asyncio.sleep(VACUUM_SECONDS)
                for (table,) in vacuuming.execute(_WORN).fetchall():
                    await asyncio.to_thread(vacuuming.execute, f"VACUUM (ANALYZE) {table}")

    def told(self) -> tuple[int, int]:
        """Return how many webhooks were delivered and how many decisions anchored."""
        delivered = "SELECT count(*) FROM webhooks_delivery WHERE status = 'delivered'"
        anchored = "SELECT count(*) FROM credit_decisionanchor WHERE anchored_at IS NOT NULL"
        counts = [self.watching.execute(query).fetchone()[0] for query in (delivered, anchored)]
        return counts[0], counts[1]


@contextlib.contextmanager
def _worker(command: str, environment: dict[str, str]) -> Iterator[subprocess.Popen]:
    """Run a management command that goes on until it is stopped."""
    process = subprocess.Popen([sys.executable, "manage.py", command], cwd=ROOT, env=environment)
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=30)


def _workers_of(name: str, server: Server) -> dict[str, int]:
    """Return the worker processes of a server; its arbiter, which serves nobody, is not among them."""
    workers = sorted(process for process in server.processes() if process != server.group)
    return {f"{name} {number}": process for number, process in enumerate(workers, start=1)}


def run(only: set[str], *, quick: bool, minutes: float) -> Iterator[Line]:
    """Measure, when it is named."""
    if not only & set(NAMES):
        return
    minutes = min(minutes, 1.0) if quick else minutes
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as running:
        soak = Soak(running, folder)
        soak.run(WARM_UP_SECONDS, None)
        soak.tally.take()
        capacity = soak.run(CAPACITY_SECONDS / (4 if quick else 1), None)
        latencies = soak.tally.take()
        yield Line(
            "soak: capacity", f"{len(MIX)} kinds of callers", capacity, _ms(latencies, 0.5), _ms(latencies, 0.99)
        )
        samples, latencies = asyncio.run(_soak(soak, minutes * 60, LOAD * capacity))
        told = soak.told()
    rate = len(latencies) / (minutes * 60)
    yield Line(f"soak: {minutes:g} min at {LOAD:.0%}", "all callers", rate, _ms(latencies, 0.5), _ms(latencies, 0.99))
    for failure in soak.tally.failures[:5]:
        print(f"soak: {failure}")
    yield Line("soak: errors", f"of {len(latencies):,} calls", value=float(len(soak.tally.failures)), goal=0)
    for what, count in zip(("webhooks delivered", "decisions anchored"), told, strict=True):
        yield Line("soak: meanwhile", what, value=float(count), goal=1, at_most=False)
    yield from _steadiness(samples)


async def _soak(soak: Soak, seconds: float, per_second: float) -> tuple[list[Sample], list[float]]:
    """Call at a pace, take samples meanwhile, print each minute; return the samples and all latencies in order."""
    driving = asyncio.create_task(soak._drive(seconds, per_second))
    vacuuming = asyncio.create_task(soak.keep_vacuumed())
    started = time.monotonic()
    samples: list[Sample] = []
    latencies: list[float] = []
    minute = 1
    while not driving.done():
        await asyncio.wait([driving], timeout=SAMPLE_SECONDS)
        at = time.monotonic() - started
        samples.append(await asyncio.to_thread(soak.sample, at))
        if at >= 60 * minute or driving.done():
            taken = soak.tally.take()
            latencies += taken
            if taken:
                _print_minute(minute, taken, soak.tally, samples[-1])
            minute += 1
    vacuuming.cancel()
    await driving
    return samples, sorted(latencies)


def _print_minute(minute: int, taken: list[float], tally: Tally, last: Sample) -> None:
    """Print what the last minute was like."""
    memory = ", ".join(f"{name} {mib:.1f}" for name, mib in last.mib.items())
    print(
        f"soak: minute {minute}: {len(taken):,} calls, p50 {_ms(taken, 0.5):.1f} ms, p99 {_ms(taken, 0.99):.1f} ms, "
        f"{len(tally.failures)} errors, {last.connections} connections, {sum(last.files.values())} files; "
        f"MiB: {memory}",
        flush=True,
    )


def _ms(ordered: list[float], share: float) -> float:
    """Return the milliseconds within which this share came."""
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] * 1000 if ordered else 0.0


def _steadiness(samples: list[Sample]) -> Iterator[Line]:
    """Hold memory, open files and connections against their goals."""
    end = samples[-1].at
    late = [sample for sample in samples if sample.at >= end / 2]
    for name in samples[0].mib:
        slope, around = slope_of([(sample.at / 600, sample.mib[name]) for sample in late])
        is_flat = abs(slope) <= around
        shown = f"{name}, {late[-1].mib[name]:.1f} MiB: {slope:+.2f} ± {around:.2f}"
        yield Line("soak: memory per 10 min", shown, value=0.0 if is_flat else slope, goal=SLOPE_GOAL_MIB, unit=" MiB")
    for name in samples[0].files:
        grown = _grown([(sample.at, sample.files[name]) for sample in samples])
        yield Line("soak: open files, growth", name, value=grown, goal=0)
    grown = _grown([(sample.at, sample.connections) for sample in samples])
    yield Line("soak: connections, growth", f"PostgreSQL, {samples[-1].connections} at the end", value=grown, goal=0)


def _grown(points: list[tuple[float, int]]) -> float:
    """Return by how much the median of the last quarter lies above that of the second."""
    end = points[-1][0]
    second = [count for at, count in points if end / 4 <= at < end / 2]
    last = [count for at, count in points if at >= end * 3 / 4]
    return float(statistics.median(last) - statistics.median(second or last))
