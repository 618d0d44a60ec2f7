"""Soak test: the demo's kinds of callers at 70 % of capacity on PostgreSQL, while webhooks and anchors run.

It first measures capacity with the same callers on the same connections, without a pace. For `--minutes`, it then sends
calls at a steady pace, and samples the memory of each process every 5 s.

A worker's memory may vary, but must not grow. A line is fitted by least squares to the samples of the second half. It
counts as flat if the 95 % interval of its slope contains zero. Otherwise, the slope must be below 1 MiB in ten minutes.
"""

import asyncio
import contextlib
import math
import os
import statistics
import tempfile
import time
from collections.abc import Iterator

import psycopg

from tests.bench import cpu, seeding
from tests.bench.paced import Tally, drive
from tests.bench.report import Line
from tests.bench.server import Server, gunicorn, serve, worker
from tests.bench.soak_callers import MIX, Callers
from tests.bench.webhook_bench import RECEIVER
from tests.processes import temporary_database

NAMES = ["soak"]
ROWS = 20_000
LOAD = 0.7
CALLER_CONNECTIONS = 12
CAPACITY_SECONDS, WARM_UP_SECONDS = 20.0, 10.0
SAMPLE_SECONDS = 5.0
SLOPE_GOAL_MIB = 1.0  # the maximum growth of a process in 10 minutes
TAIL_GOAL = 10.0  # the maximum ratio of p99 to p50
_COMMANDS = ("deliver_webhooks", "anchor_decisions")
Samples = list[tuple[float, dict[str, float]]]  # seconds since the start, and MiB by process


def slope_of(points: list[tuple[float, float]]) -> tuple[float, float]:
    """Return the slope of a least-squares line, and half the width of its 95 % interval."""
    count = len(points)
    if count < 4:
        return 0.0, math.inf
    mean_x, mean_y = (statistics.fmean(values) for values in zip(*points, strict=True))
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    slope = sum((x - mean_x) * (y - mean_y) for x, y in points) / spread
    left = sum((y - mean_y - slope * (x - mean_x)) ** 2 for x, y in points)
    return slope, 1.96 * math.sqrt(left / (count - 2) / spread)


class Soak:
    """A separate database, the services on it, and their callers."""

    def __init__(self, running: contextlib.ExitStack, folder: str) -> None:
        self.database = running.enter_context(temporary_database(seeding.SERVER, f"bench_soak_{os.getpid()}"))
        receiver = running.enter_context(serve("receiver", RECEIVER, dict(os.environ)))
        plain = {"DATABASE_URL": self.database, "VAR_DIR": folder, "LEDGER_ORIGIN": "soak.example"}
        facts = seeding.fill(ROWS, seeding.environment(ROWS, **plain))
        ledger = running.enter_context(serve("ledger", gunicorn("ledger.wsgi"), seeding.environment(ROWS, **plain)))
        more = {"WEBHOOK_ALLOW_PRIVATE": "1", "ANCHOR_DECISIONS": "1", "CHAIN_URL": f"http://127.0.0.1:{ledger.port}"}
        environment = seeding.environment(ROWS, **plain, **more)
        tokens = seeding.printed_by("tests.bench.soak_callers", str(receiver.port), environment=environment)
        self.platform = running.enter_context(serve("platform", gunicorn("config.wsgi"), environment))
        workers = {name: running.enter_context(worker(name, environment)) for name in _COMMANDS}
        time.sleep(3)
        self.processes = {**_workers_of(self.platform), **_workers_of(ledger), **workers}
        self.calls, self.tally = iter(Callers(facts, tokens)), Tally()

    async def send_calls(self, seconds: float, per_second: float | None) -> None:
        """Send calls for this many seconds; without `per_second`, as fast as responses arrive."""
        pace = {"connections": CALLER_CONNECTIONS, "seconds": seconds, "per_second": per_second}
        await drive(self.platform.port, self.calls, self.tally, **pace)

    async def send_calls_and_sample(self, seconds: float, per_second: float) -> Samples:
        """Send calls at a pace; return memory samples that were taken meanwhile."""
        driving, started, samples = asyncio.create_task(self.send_calls(seconds, per_second)), time.monotonic(), []
        while not driving.done():
            await asyncio.wait([driving], timeout=SAMPLE_SECONDS)
            held = {name: cpu.largest_resident_mib([process]) for name, process in self.processes.items()}
            samples.append((time.monotonic() - started, held))
        await driving
        return samples

    def delivered_counts(self) -> dict[str, int]:
        """Return the numbers of delivered webhooks and of anchored decisions."""
        counted = {
            "webhooks delivered": "webhooks_delivery WHERE status = 'delivered'",
            "decisions anchored": "credit_decisionanchor WHERE anchored_at IS NOT NULL",
        }
        with psycopg.connect(self.database) as watching:
            return {what: watching.execute(f"SELECT count(*) FROM {of}").fetchone()[0] for what, of in counted.items()}


def _workers_of(server: Server) -> dict[str, int]:
    """Return the IDs of a server's worker processes, without its arbiter, which serves no request."""
    workers = sorted(process for process in server.processes() if process != server.group)
    return {f"{server.name} {number}": process for number, process in enumerate(workers, start=1)}


def _ms(seconds: list[float], share: float) -> float:
    """Return a quantile of latencies in ms; `share` is between 0 and 1."""
    ordered = sorted(seconds)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] * 1000 if ordered else 0.0


def run(only: set[str], *, quick: bool, minutes: float) -> Iterator[Line]:
    """Run the soak test if it is in `only`."""
    if not only & set(NAMES):
        return
    minutes = min(minutes, 1.0) if quick else minutes
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as running:
        soak = Soak(running, folder)
        asyncio.run(soak.send_calls(WARM_UP_SECONDS, None))
        soak.tally.pop_latencies()
        measured = CAPACITY_SECONDS / (4 if quick else 1)
        asyncio.run(soak.send_calls(measured, None))
        totals = soak.tally.pop_latencies()
        capacity = len(totals) / measured
        yield Line("soak: capacity", f"{len(MIX)} kinds of callers", capacity, _ms(totals, 0.5), _ms(totals, 0.99))
        soak.tally.by_kind.clear()
        samples = asyncio.run(soak.send_calls_and_sample(minutes * 60, LOAD * capacity))
        delivered_counts, totals = soak.delivered_counts(), soak.tally.pop_latencies()
    work, middle, tail = f"soak: {minutes:g} min at {LOAD:.0%}", _ms(totals, 0.5), _ms(totals, 0.99)
    ratio = {"value": tail / middle, "goal": TAIL_GOAL}
    yield Line(work, "all callers, p99 ÷ p50", len(totals) / (minutes * 60), middle, tail, **ratio)
    for kind, seconds in soak.tally.by_kind.items():
        print(f"soak: {kind}: {len(seconds):,}, p50 {_ms(seconds, 0.5):.1f} ms, p99 {_ms(seconds, 0.99):.1f} ms")
    for failure in soak.tally.failures[:5]:
        print(f"soak: {failure}")
    yield Line("soak: errors", f"of {len(totals):,} calls", value=float(len(soak.tally.failures)), goal=0)
    for what, count in delivered_counts.items():
        yield Line("soak: meanwhile", what, value=float(count), goal=1, at_most=False)
    late = [sample for sample in samples if sample[0] >= samples[-1][0] / 2]
    for name, last in late[-1][1].items():
        slope, around = slope_of([(at / 600, held[name]) for at, held in late])
        subject, value = f"{name}, {last:.1f} MiB: {slope:+.2f} ± {around:.2f}", 0.0 if abs(slope) <= around else slope
        yield Line("soak: memory per 10 min", subject, value=value, goal=SLOPE_GOAL_MIB, unit=" MiB")
