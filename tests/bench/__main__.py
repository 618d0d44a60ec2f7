"""`make bench`, or `python -m tests.bench [--only NAME]… [--rows N] [--quick]`: print all measurements as a table.

Requires PostgreSQL at BENCH_DATABASE_URL (default postgres://postgres@127.0.0.1/bench_platform), with a user who may
create databases. Each platform database is named after that database and its number of rows, and the next run reuses
it.
"""

import argparse
import time

from tests.bench import failover_bench, faults, ledger_bench, platform_bench, seeding, soak_bench, webhook_bench
from tests.bench.platform_bench import Pace
from tests.bench.report import Line, table
from tests.bench.workloads import WORKLOADS

FULL_ROWS, QUICK_ROWS = 1_000_000, 20_000
# These measurements run only if `--only` lists them.
LONG = (failover_bench, faults, soak_bench)


def main() -> None:
    """Run the named measurements, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parts = (ledger_bench, webhook_bench, *LONG)
    names = [*(workload.name for workload in WORKLOADS), *(name for part in parts for name in part.NAMES)]
    parser.add_argument(
        "--only", action="append", default=[], choices=names, help="run only this measurement; repeatable"
    )
    parser.add_argument("--rows", type=int, help=f"applications in the table (default {FULL_ROWS:,})")
    parser.add_argument("--seconds", type=float, default=2.0, help="length of one server's turn (default 2)")
    parser.add_argument("--rounds", type=int, default=5, help="interleaved rounds (default 5)")
    parser.add_argument("--minutes", type=float, default=20.0, help="length of the soak (default 20)")
    parser.add_argument("--peers", action="store_true", help="also compare with FastAPI")
    parser.add_argument("--quick", action="store_true", help="smoke test: run each part once, briefly, on few rows")
    parser.add_argument(
        "--fresh",
        action="store_true",
        help="first drop the database of this size, for example after a new migration",
    )
    chosen = parser.parse_args()
    pace = Pace(chosen.seconds, 1.0, chosen.rounds)
    rows = chosen.rows or FULL_ROWS
    if chosen.quick:
        pace = Pace(0.3, 0.2, 1)
        rows = chosen.rows or QUICK_ROWS
    only = set(chosen.only)
    if chosen.fresh:
        seeding.drop(rows)
    started = time.monotonic()
    lines: list[Line] = []
    for part in (
        lambda: platform_bench.run(only, rows, pace, peers=chosen.peers),
        lambda: ledger_bench.run(only, quick=chosen.quick),
        lambda: webhook_bench.run(only, quick=chosen.quick),
        lambda: faults.run(only, quick=chosen.quick),
        lambda: failover_bench.run(only, quick=chosen.quick),
        lambda: soak_bench.run(only, quick=chosen.quick, minutes=chosen.minutes),
    ):
        for line in part():
            lines.append(line)
            print(f"{line.work}: {' | '.join(filter(None, line.cells()[1:]))}", flush=True)
    goals = [line.met for line in lines if line.met is not None]
    print(f"\n{table(lines)}\n")
    print(f"{sum(goals)} of {len(goals)} goals met; {time.monotonic() - started:.0f} s.")


if __name__ == "__main__":
    main()
