"""Compare the platform with its references: requests per second, latency, and CPU time per request.

All servers run at the same time on one database. They take turns in each round, so noise of the machine affects all of
them. A figure is the median of the rounds; a ratio is the median of the rounds' ratios. CPU time is the user
plus system time of the server's processes. It excludes PostgreSQL and the load generator. Before the benchmark measures
a kind of request, it compares the servers' responses.
"""

import contextlib
import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import orjson

from tests.bench import cpu, load, seeding
from tests.bench.load import Outcome
from tests.bench.report import Line
from tests.bench.seeding import Facts
from tests.bench.server import STAYS, Server, gunicorn, serve, stock_gunicorn, uvicorn
from tests.bench.workloads import CONNECTIONS, WORKLOADS, Workload

COMMANDS = {
    "platform": (gunicorn("config.wsgi", *STAYS), {"DJANGO_SETTINGS_MODULE": "tests.bench.settings"}),
    "bare": (stock_gunicorn("tests.bench.references.bare"), {"DJANGO_SETTINGS_MODULE": ""}),
    "stock": (
        stock_gunicorn("django.core.wsgi:get_wsgi_application()"),
        {"DJANGO_SETTINGS_MODULE": "tests.bench.references.stock_settings"},
    ),
    "fastapi": (uvicorn("tests.bench.references.fastapi_app:app"), {}),
}
PEERS = ("fastapi",)
NAMES = {"platform": "this platform", "bare": "bare Django", "stock": "stock DRF", "fastapi": "FastAPI"}


@dataclass(frozen=True, slots=True)
class Pace:
    """The length of a measurement: seconds per round, seconds of warm-up, and number of rounds."""

    seconds: float
    warm_up: float
    rounds: int


@dataclass(frozen=True, slots=True)
class Round:
    """The result of one server's turn."""

    per_second: float
    p50_ms: float
    p99_ms: float
    cpu_us: float


def turn(server: Server, workload: Workload, facts: Facts, name: str, seconds: float) -> Round:
    """Load a server for this many seconds; return its figures."""
    streams = [workload.stream(facts, name, number) for number in range(CONNECTIONS)]
    processes = server.processes()
    before = cpu.cpu_seconds(processes)
    outcome: Outcome = load.run(server.port, streams, status=workload.status, seconds=seconds)
    used = cpu.cpu_seconds(processes) - before
    cost = used / len(outcome.latencies) * 1e6
    return Round(outcome.per_second, outcome.quantile_ms(0.5), outcome.quantile_ms(0.99), cost)


def compare_responses(servers: dict[str, Server], workload: Workload, facts: Facts) -> None:
    """Exit if a server's response differs from the platform's response. IDs and times may differ."""
    responses = {}
    for name, server in servers.items():
        status, body = load.fetch(server.port, next(iter(workload.stream(facts, name, 0))))
        if status != workload.status:
            raise SystemExit(f"{workload.name}: {name} returned {status}: {body.decode(errors='replace')}")
        responses[name] = _without(body, workload.own) if workload.own else body
    for name, response in responses.items():
        if response != responses["platform"]:
            raise SystemExit(f"{workload.name}: the responses differ:\n{responses['platform']!r}\n{name}: {response!r}")


def _without(body: bytes, fields: frozenset[str]) -> list[tuple[str, object]]:
    """Return the fields of a response in order, with the values of the listed fields replaced."""
    return [(name, "…" if name in fields else value) for name, value in orjson.loads(body).items()]


def interleave(turns: dict[str, Callable[[float], Round]], pace: Pace, reset: Callable[[], None]) -> dict:
    """Run the servers in turn; return the rounds of each server in order."""
    names = list(turns)
    for name in names:
        reset()
        turns[name](pace.warm_up)
    rounds: dict[str, list[Round]] = {name: [] for name in names}
    for number in range(pace.rounds):
        for position in range(len(names)):
            name = names[(number + position) % len(names)]
            reset()
            rounds[name].append(turns[name](pace.seconds))
    return rounds


def median(rounds: list[Round], figure: str) -> float:
    """Return the median of a figure over the rounds."""
    return statistics.median(getattr(item, figure) for item in rounds)


def ratio(ours: list[Round], theirs: list[Round]) -> float:
    """Return the median, over the rounds, of our CPU time per request divided by theirs."""
    return statistics.median(mine.cpu_us / its.cpu_us for mine, its in zip(ours, theirs, strict=True))


def measure(workload: Workload, servers: dict[str, Server], rows: int, pace: Pace) -> Iterator[Line]:
    """Measure a kind of request on every server."""
    facts = seeding.prepare(rows)
    seeding.reset_moved(rows)
    compare_responses(servers, workload, facts)

    def reset() -> None:
        if workload.name == "put":
            seeding.reset_moved(rows)

    def turn_of(name: str) -> Callable[[float], Round]:
        return lambda seconds: turn(servers[name], workload, facts, name, seconds)

    rounds = interleave({name: turn_of(name) for name in servers}, pace, reset)
    for name, of_server in rounds.items():
        yield Line(
            workload.label,
            NAMES[name],
            *(median(of_server, figure) for figure in ("per_second", "p50_ms", "p99_ms", "cpu_us")),
            value=None if name == "platform" else ratio(rounds["platform"], of_server),
            goal=workload.goals.get(name),
        )


def run(only: set[str], rows: int, pace: Pace, *, peers: bool = False) -> Iterator[Line]:
    """Measure the kinds of requests in `only`, or all of them. With `peers`, also measure FastAPI."""
    chosen = [workload for workload in WORKLOADS if not only or workload.name in only]
    if not chosen:
        return
    facts = seeding.prepare(rows)
    with contextlib.ExitStack() as running:
        servers = {
            name: running.enter_context(
                serve(name, command, seeding.environment(rows, BENCH_PUBLIC_KEY=facts.public_key, **more))
            )
            for name, (command, more) in COMMANDS.items()
            if peers or name not in PEERS
        }
        memory = []
        for workload in chosen:
            yield from measure(workload, servers, rows, pace)
            memory.append(servers["platform"].resident_mib())
        # `soak` measures whether the memory grows.
        yield Line("memory of a worker, MiB", "after the first workload", value=memory[0])
        yield Line("memory of a worker, MiB", "after the last workload", value=memory[-1])
