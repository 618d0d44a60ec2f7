"""PostgreSQL is stopped as by a crash, and started, again and again, while callers write to both services."""

import contextlib
import time
from collections.abc import Iterator

from tests.bench.faults.cluster import cluster
from tests.bench.faults.stand import WORKERS, Stand, stand
from tests.bench.faults.traffic import Traffic, show
from tests.bench.report import Line, counts
from tests.processes import wait_until

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
    told = {"stops": rounds, "answers": len(traffic.seen), "answers of 503": refused}
    told |= {"applications acknowledged": len(traffic.applications), "reports anchored": len(traffic.anchored)}
    yield from counts(WORK, told)
    figures["answers other than promised"] = len(show(traffic.improper()))
    figures |= {"failures a second after it was back": late, "workers that did not carry on": bad}
    yield from counts(WORK, figures | {"events that no worker published": waiting}, goal=0.0)
    yield Line(WORK, "first success after it was back", value=slowest, goal=RECOVERY_SECONDS, unit=" s")


def _left_behind(made: Stand) -> int:
    """Wait until the workers have published every event; return how many they have not at last."""
    with made.connect() as session, contextlib.suppress(RuntimeError):
        waiting = "SELECT count(*) FROM webhooks_event WHERE sequence IS NULL"
        wait_until(lambda: session.execute(waiting).fetchone()[0] == 0)
        return 0
    return 1
