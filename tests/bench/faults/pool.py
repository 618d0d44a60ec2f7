"""More threads than the database has connections: some callers are sent away, none is lost."""

import time
from collections.abc import Iterator

from tests.bench.faults.cluster import ROLE, cluster
from tests.bench.faults.stand import stand
from tests.bench.faults.traffic import Traffic, show
from tests.bench.report import Line

WORK = "no connection left"
SECONDS = 5.0


def run(quick: bool) -> Iterator[Line]:
    """Take all but a few connections away, give them back."""
    seconds = 2.0 if quick else SECONDS
    with cluster(max_connections=30) as own, stand(own) as made, made.serve() as platform:
        with Traffic(made, platform.port, callers=24) as traffic:
            time.sleep(1.0)
            with own.connect("postgres") as session:
                # As if others had taken them; who is connected is sent away and finds no room.
                session.execute(f"ALTER ROLE {ROLE} CONNECTION LIMIT 4")
                session.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = %s", [ROLE])
                began = time.monotonic()
                time.sleep(seconds)
                session.execute(f"ALTER ROLE {ROLE} CONNECTION LIMIT -1")
                back = time.monotonic()
            time.sleep(seconds)
        figures = traffic.judge()
    crowded = [one for one in traffic.seen if began <= one.at < back]
    yield Line(WORK, "answers meanwhile", value=float(len(crowded)))
    yield Line(WORK, "of them 503", value=float(sum(one.status == 503 for one in crowded)))
    for name, count in figures.items():
        yield Line(WORK, name, value=float(count), goal=0.0)
    yield Line(WORK, "answers other than promised", value=float(len(show(traffic.improper()))), goal=0.0)
    yield Line(WORK, "slowest 503", value=max((one.seconds for one in crowded if one.status == 503), default=0.0),
               goal=5.0, unit=" s")  # fmt: skip
    late = sum(one.status >= 500 and one.at > back + 1.0 for one in traffic.seen)
    yield Line(WORK, "failures a second after it was over", value=float(late), goal=0.0)
