"""The same work at 10,000, 100,000 and 1,000,000 applications and as many users.

One server per size, all running at once and taking turns. All applications of a size belong to one account, so that the
table and the list of the caller grow together. `ours ÷ it` is the median latency at a size over that at the smallest,
round by round.
"""

import contextlib
import dataclasses
import statistics
from collections.abc import Callable, Iterator

import psycopg

from tests.bench import seeding
from tests.bench.platform_bench import COMMANDS, Pace, Round, interleave, median, turn
from tests.bench.report import Line
from tests.bench.seeding import Facts
from tests.bench.server import Server, serve
from tests.bench.workloads import WORKLOADS, Workload, list_at

NAMES = ["growth"]
SIZES, QUICK_SIZES = (10_000, 100_000, 1_000_000), (1_000, 10_000)
# What a hundredfold of data may add to the median: a level or two of each index, which is noise on one machine.
GOAL, LIST_GOAL = 1.3, 1.15

_USERS = """
INSERT INTO identity_user (password, is_superuser, username, first_name, last_name, email, is_staff, is_active,
                           date_joined, credentials_changed_at)
SELECT '!', false, 'grown-' || n, '', '', '', false, true, now(), now() FROM generate_series(1, %s::bigint) AS n
ON CONFLICT DO NOTHING
"""


def prepare(rows: int) -> Facts:
    """Make the database of this size, with as many users as applications."""
    facts = seeding.prepare(rows)
    with psycopg.connect(seeding.address(rows), autocommit=True) as connection:
        found = connection.execute("SELECT count(*) FROM identity_user WHERE username LIKE 'grown-%'").fetchone()
        if found[0] < rows:
            connection.execute(_USERS, [rows])
            connection.execute("VACUUM (ANALYZE) identity_user")
    return facts


def run(only: set[str], *, quick: bool, pace: Pace) -> Iterator[Line]:
    """Measure, when it is named."""
    if not only & set(NAMES):
        return
    sizes = QUICK_SIZES if quick else SIZES
    facts = {rows: prepare(rows) for rows in sizes}
    with contextlib.ExitStack() as running:
        command, more = COMMANDS["platform"]
        servers = {
            rows: running.enter_context(serve(f"{rows:,}", command, seeding.environment(rows, **more)))
            for rows in sizes
        }
        for workload in WORKLOADS:
            at_sizes = _comparable(workload, sizes[0])
            rounds = _measure(at_sizes, servers, facts, pace)
            yield from _lines(at_sizes, rounds)


def _comparable(workload: Workload, smallest: int) -> Workload:
    """Return the workload so that it is the same work at every size: a page that exists at the smallest, too."""
    if workload.name != "list-deep":
        return workload
    offset = smallest // 2
    return dataclasses.replace(workload, label=f"list of 20, offset {offset:,}", stream=list_at(offset))


def _measure(
    workload: Workload, servers: dict[int, Server], facts: dict[int, Facts], pace: Pace
) -> dict[int, list[Round]]:
    """Let the sizes take turns at one kind of work."""

    def turn_of(rows: int) -> Callable[[float], Round]:
        return lambda seconds: turn(servers[rows], workload, facts[rows], "platform", seconds)

    def reset() -> None:
        if workload.name == "put":
            for rows in servers:
                seeding.reset_moved(rows)

    reset()
    return interleave({rows: turn_of(rows) for rows in servers}, pace, reset)


def _lines(workload: Workload, rounds: dict[int, list[Round]]) -> Iterator[Line]:
    """Return a line per size; the ratio is to the smallest."""
    smallest = min(rounds)
    for rows, of_size in rounds.items():
        ratios = [mine.p50_ms / least.p50_ms for mine, least in zip(of_size, rounds[smallest], strict=True)]
        yield Line(
            f"growth: {workload.label}",
            f"{rows:,} applications",
            *(median(of_size, figure) for figure in ("per_second", "p50_ms", "p99_ms", "cpu_us")),
            value=None if rows == smallest else statistics.median(ratios),
            goal=None if rows == smallest else LIST_GOAL if workload.name == "list" else GOAL,
        )
