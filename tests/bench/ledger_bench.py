"""Measure the ledger: anchors per second, proofs, and `verify_ledger`.

Different numbers of clients send anchors over HTTP, alternately to the ledger and to a bare Django view. The view
commits one row per request. The time of a proof is measured in process at two sizes of the ledger. The run creates its
databases, and drops them at its end.
"""

import contextlib
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any
from uuid import uuid4

import orjson
import psycopg

from tests.bench import cpu, seeding
from tests.bench.load import Requests
from tests.bench.load import run as load_server
from tests.bench.report import Line
from tests.bench.seeding import SERVER, printed_by
from tests.bench.server import STAYS, Server, gunicorn, serve, stock_gunicorn
from tests.bench.workloads import request
from tests.processes import manage, temporary_database

NAMES = ["anchors", "proofs"]
# Options of each of the two processes: this many requests can wait for the same block.
OPTIONS = ("--threads", "32", "--backlog", "256")
BARE = "tests.bench.ledger_bare"
BARE_TABLE = "CREATE TABLE bare (id bigserial PRIMARY KEY, hash bytea, user_id text, report_type text)"


@contextlib.contextmanager
def surroundings() -> Iterator[dict[str, str]]:
    """Create and migrate a database; yield the environment of a ledger that uses it."""
    with temporary_database(SERVER, f"ledger_bench_{os.getpid()}") as database, tempfile.TemporaryDirectory() as folder:
        own = {"SERVICE": "ledger", "LEDGER_GUARD_FILE": f"{folder}/guard", "PYTHONWARNINGS": "ignore"}
        environment = seeding.environment(0, DATABASE_URL=database, VAR_DIR=folder, **own)
        manage(environment, "migrate", "-v0")
        with psycopg.connect(database, autocommit=True) as connection:
            connection.execute(BARE_TABLE)
        yield environment


def served_by(module: str, environment: dict[str, str]) -> contextlib.AbstractContextManager[Server]:
    """Serve the ledger as in production, or the bare view with gunicorn's defaults. Both get more threads."""
    if module == BARE:
        environment = {name: value for name, value in environment.items() if name != "DJANGO_SETTINGS_MODULE"}
        return serve(module, stock_gunicorn(module, *OPTIONS), environment)
    return serve(module, gunicorn(module, *STAYS, *OPTIONS), environment)


def reports() -> Requests:
    """Yield POST requests, each with a different report."""
    while True:
        report = {"user_id": "42", "report_type": "bench", "report_data": uuid4().hex}
        yield request("POST", "/anchor", {}, orjson.dumps(report))


def load(served: Server, clients: int, seconds: float) -> tuple[float, float]:
    """Send reports for this long; return anchors per second, and the server's CPU time per anchor in µs."""
    processes = served.processes()
    before = cpu.cpu_seconds(processes)
    outcome = load_server(served.port, [reports() for _ in range(clients)], status=200, seconds=seconds)
    used = cpu.cpu_seconds(processes) - before
    return outcome.per_second, used / len(outcome.latencies) * 1e6


def bench_anchors(clients: list[int], seconds: float, rounds: int) -> dict[str, Any]:
    """Measure both servers in alternating rounds.

    Returns the medians of anchors per second and CPU time in µs for each number of clients. Also returns the largest
    memory of a ledger worker in MiB, and the average number of entries per block.
    """
    table, memory = {}, []
    with surroundings() as environment:
        for count in clients:
            measured: dict[str, list[tuple[float, float]]] = {"ledger.wsgi": [], BARE: []}
            for _ in range(rounds):
                # Only one server runs at a time, because two would use all database connections.
                for module, figures in measured.items():
                    with served_by(module, environment) as served:
                        load(served, count, seconds / 4)
                        figures.append(load(served, count, seconds))
                        if module != BARE:
                            memory.append(served.resident_mib())
            table[count] = {
                name: tuple(statistics.median(figures) for figures in zip(*values, strict=True))
                for name, values in measured.items()
            }
        with psycopg.connect(environment["DATABASE_URL"]) as connection:
            entries, blocks = connection.execute("SELECT max(tree_size), count(*) FROM ledger_block").fetchone()
    return {"anchors": table, "memory_mib": max(memory), "entries_per_block": entries / blocks}


def time_of(work: Callable[[int], object], indexes: list[int]) -> float:
    """Return the median duration of the calls in µs."""
    taken = []
    for index in indexes:
        start = time.perf_counter()
        work(index)
        taken.append((time.perf_counter() - start) * 1e6)
    return statistics.median(taken)


def measure_proofs(sizes: list[int]) -> dict[str, Any]:
    """Measure the proofs of the ledger in µs by size, and the entries that `verify_log` checks per second."""
    import random

    import django

    django.setup()
    from ledger import log, merkle
    from ledger.audit import verify_log
    from ledger.entries import Submission
    from ledger.keys import signer
    from ledger.sealing import seal

    proofs: dict[int, float] = {}
    done = 0
    for size in sizes:
        while done < size:
            count = min(5_000, size - done)
            block = [Submission(os.urandom(32), str(at % 1000), "bench") for at in range(count)]
            seal(lambda block=block: block)
            done += count
        indexes, head = random.Random(size).sample(range(size), 200), log.read_head()
        proofs[size] = time_of(
            lambda index, head=head: log.range_roots(merkle.inclusion_ranges(index, head.tree_size), head), indexes
        )
    start = time.perf_counter()
    entries, _blocks = verify_log(signer().verifier)
    verified = {"entries": entries, "per_second": entries / (time.perf_counter() - start)}
    return {"proofs": proofs, "verify": verified}


def run(only: set[str], *, quick: bool) -> Iterator[Line]:
    """Run the measurements in `only`, or all of them; yield the lines of the table."""
    if not only or "anchors" in only:
        clients, seconds, rounds = ([1, 32], 0.5, 1) if quick else ([1, 32, 64], 4.0, 3)
        yield from _anchor_lines(bench_anchors(clients, seconds, rounds))
    if not only or "proofs" in only:
        sizes = "1000,10000" if quick else "10000,1000000"
        with surroundings() as environment:
            yield from _proof_lines(printed_by("tests.bench.ledger_bench", sizes, environment=environment))


def _anchor_lines(outcome: dict) -> Iterator[Line]:
    """Yield the table lines for anchors per second."""
    for count, row in outcome["anchors"].items():
        work = f"anchors, {count} client{'s' if count > 1 else ''}"
        (ours, our_cost), (rate, cost) = row["ledger.wsgi"], row[BARE]
        yield Line(work, "the ledger", per_second=ours, cpu_us=our_cost)
        against = {"value": ours / rate, "goal": 0.65 if count >= 32 else None, "at_most": False}
        yield Line(work, "bare Django, commit per row", per_second=rate, cpu_us=cost, **against)
    few, many = (outcome["anchors"][count]["ledger.wsgi"][0] for count in (1, 32))
    yield Line("anchors, 32 clients ÷ 1", "the ledger", value=many / few, goal=3.5, at_most=False)
    yield Line("memory of a ledger worker, MiB", "after the load", value=outcome["memory_mib"])


def _proof_lines(outcome: dict) -> Iterator[Line]:
    """Yield the table lines for proofs and `verify_ledger`."""
    sizes = {int(size): microseconds for size, microseconds in outcome["proofs"].items()}
    small, large = min(sizes), max(sizes)
    for size, microseconds in sizes.items():
        yield Line(f"inclusion proof, {size:,} entries (µs in process)", "the ledger", cpu_us=microseconds)
    growth = sizes[large] / sizes[small]
    yield Line(f"inclusion proof, {large:,} ÷ {small:,}", "the ledger", value=growth, goal=1.6)
    verify = outcome["verify"]
    work = f"verify_ledger, {verify['entries']:,} entries (entries/s)"
    yield Line(work, "the ledger", per_second=verify["per_second"])


if __name__ == "__main__":
    print(json.dumps(measure_proofs([int(size) for size in sys.argv[1].split(",")])))
