"""PostgreSQL is stopped as by a crash, and started, again and again, while callers write to both services."""

import time
from collections.abc import Iterator

from tests.bench.faults.cluster import cluster
from tests.bench.faults.stand import WORKERS, Stand, stand
from tests.bench.faults.traffic import Traffic, show
from tests.bench.report import Line

WORK = "database stopped (immediate) and started"
DOWN_SECONDS, BETWEEN_SECONDS = 3.0, 6.0
RECOVERY_SECONDS = 5.0


def run(quick: bool) -> Iterator[Line]:
    """Nothing acknowledged may be lost or done twice, every answer is one, and all is well within five seconds."""
    rounds = 1 if quick else 5
    with cluster() as own, stand(own) as made, made.serve() as platform, made.serve("ledger.wsgi") as ledger:
        made.environment["CHAIN_URL"] = f"http://127.0.0.1:{ledger.port}"
        made.work(*WORKERS)
        slowest, late = 0.0, 0
        with Traffic(made, platform.port, ledger.port) as traffic:
            for _ in range(rounds):
                time.sleep(BETWEEN_SECONDS / 2)
                own.stop("immediate")
                time.sleep(DOWN_SECONDS)
                back = own.start()
                time.sleep(BETWEEN_SECONDS)
                slowest = max(slowest, traffic.first_success(back))
                # A second after the recovery every connection that had died has been replaced.
                late += sum(one.status >= 500 and one.at > back + 1.0 for one in traffic.seen)
        waiting = _left_behind(made)
        bad = made.stop_workers()
        figures = traffic.judge()
    refused = sum(one.status == 503 for one in traffic.seen)
    yield Line(WORK, "stops", value=float(rounds))
    yield Line(WORK, "answers", value=float(len(traffic.seen)))
    yield Line(WORK, "answers of 503", value=float(refused))
    yield Line(WORK, "applications acknowledged", value=float(len(traffic.applications)))
    yield Line(WORK, "reports anchored", value=float(len(traffic.anchored)))
    for name, count in figures.items():
        yield Line(WORK, name, value=float(count), goal=0.0)
    yield Line(WORK, "answers other than promised", value=float(len(show(traffic.improper()))), goal=0.0)
    yield Line(WORK, "failures a second after it was back", value=float(late), goal=0.0)
    yield Line(WORK, "first success after it was back", value=slowest, goal=RECOVERY_SECONDS, unit=" s")
    yield Line(WORK, "workers that did not carry on", value=float(bad), goal=0.0)
    yield Line(WORK, "events that no worker published", value=float(waiting), goal=0.0)


def _left_behind(made: Stand) -> int:
    """Wait until the workers have published every event; return how many they have not after half a minute."""
    until = time.monotonic() + 30
    count = 1
    while count and time.monotonic() < until:
        with made.connect() as session:
            count = session.execute("SELECT count(*) FROM webhooks_event WHERE sequence IS NULL").fetchone()[0]
        time.sleep(0.2)
    return count
