"""Two servers behind nginx with a streaming replica: who answers the reads, are own writes seen, may the replica fail.

Everything is made for the run and removed after it: a PostgreSQL cluster with a replica by pg_basebackup, a Redis, two
gunicorn on two ports, nginx before them.
"""

import contextlib
import http.client
import itertools
import json
import threading
import time
from collections.abc import Iterator

import psycopg

from tests import clusters
from tests.bench import load, seeding
from tests.bench.proxy import nginx, nginx_program
from tests.bench.report import Line
from tests.bench.seeding import Facts
from tests.bench.server import gunicorn, serve
from tests.bench.workloads import CONNECTIONS, get_one

NAMES = ["replicas"]
ROWS = 10_000
# A server trusts Redis six seconds after its start, and has looked at the replica by then.
SETTLE_SECONDS = 9
# PostgreSQL's processes report their counts when a second has passed since the last time.
STATISTICS_SECONDS = 2.5
BACK_SECONDS = 30


def missing() -> str:
    """Say what this machine lacks; empty when it lacks nothing."""
    return clusters.missing() or ("" if nginx_program() else "needs nginx: apt-get install nginx-light")


def _connect(port: int) -> http.client.HTTPConnection:
    return http.client.HTTPConnection("127.0.0.1", port, timeout=30)


def lookups(server: clusters.Postgres) -> int:
    """Return how often a server of PostgreSQL has looked applications up by an index."""
    time.sleep(STATISTICS_SECONDS)
    query = "SELECT sum(idx_scan)::bigint FROM pg_stat_user_tables WHERE relname = 'credit_application'"
    with psycopg.connect(server.address(), autocommit=True) as connection:
        return int(connection.execute(query).fetchone()[0] or 0)


class Writer:
    """Writes and reads its own applications through nginx."""

    def __init__(self, port: int, facts: Facts) -> None:
        self.connection = _connect(port)
        self.headers = {"Authorization": f"Bearer {facts.writer_token}", "Content-Type": "application/json"}
        self.paths = itertools.cycle([f"/v1/applications/{one}" for one in facts.moved["platform"]])

    def call(self, method: str, path: str, body: object = None) -> dict:
        """Send one request; end the bench when it is refused."""
        sent = None if body is None else json.dumps(body)
        self.connection.request(method, path, sent, self.headers)
        answer = self.connection.getresponse()
        content = answer.read()
        if answer.status != 200:
            raise SystemExit(f"{method} {path}: {answer.status} {content.decode(errors='replace')}")
        return json.loads(content)

    def stale_reads(self, count: int) -> int:
        """Write so often, each time reading at once; return how many reads showed something else."""
        stale = 0
        for number in range(count):
            path, notes = next(self.paths), f"note {number}"
            self.call("PUT", path, {"updated_by": "bench", "notes": notes})
            stale += self.call("GET", path)["notes"] != notes
        return stale


def reads(port: int, facts: Facts, seconds: float, *, strict: bool = True) -> load.Outcome:
    """Let the reader, who writes nothing, read single applications."""
    streams = [get_one(facts, "platform", number) for number in range(CONNECTIONS)]
    return load.run(port, streams, status=200, seconds=seconds, strict=strict)


def _line(subject: str, outcome: load.Outcome, **figures: object) -> Line:
    """Return a line with an outcome's rate and latencies."""
    figures = {"per_second": outcome.per_second, **figures}
    return Line("reads", subject, p50_ms=outcome.quantile_ms(0.5), p99_ms=outcome.quantile_ms(0.99), **figures)


def run(only: set[str], *, quick: bool) -> Iterator[Line]:
    """Measure, when it is named."""
    if not only & set(NAMES):
        return
    if missing():
        print(f"replicas: skipped, {missing()}.")
        return
    seconds, writes = (3.0, 60) if quick else (15.0, 1_000)
    with contextlib.ExitStack() as running:
        primary, replica = running.enter_context(clusters.primary_and_replica())
        redis = running.enter_context(clusters.redis_server())
        facts = seeding.fill(ROWS, seeding.environment(ROWS, DATABASE_URL=primary.address()))
        with serve("alone", gunicorn("config.wsgi"), seeding.environment(ROWS, DATABASE_URL=primary.address())) as one:
            yield _line("one server, primary alone", reads(one.port, facts, seconds))
        environment = seeding.environment(
            ROWS, DATABASE_URL=primary.address(), DATABASE_REPLICA_URLS=replica.address(), REDIS_URL=redis
        )
        servers = [running.enter_context(serve(name, gunicorn("config.wsgi"), environment)) for name in ("one", "two")]
        port = running.enter_context(nginx(*(server.port for server in servers)))
        time.sleep(SETTLE_SECONDS)
        yield from _spread(port, facts, primary, replica, seconds)
        yield from _own_writes(port, facts, replica, writes)
        yield from _failure(port, facts, replica, seconds)


def _spread(
    port: int, facts: Facts, primary: clusters.Postgres, replica: clusters.Postgres, seconds: float
) -> Iterator[Line]:
    """Read for a while; tell by PostgreSQL's statistics who looked up what."""
    before = lookups(primary), lookups(replica)
    outcome = reads(port, facts, seconds)
    there, elsewhere = lookups(replica) - before[1], lookups(primary) - before[0]
    yield _line("two servers behind nginx, one replica", outcome)
    share = 100 * there / max(1, there + elsewhere)
    yield Line("reads", f"by the replica: {there:,} look-ups of {there + elsewhere:,}", value=share, goal=95,
               at_most=False, unit=" %")  # fmt: skip


def _own_writes(port: int, facts: Facts, replica: clusters.Postgres, writes: int) -> Iterator[Line]:
    """Write and read at once, with a replica that replays and with one that has stopped replaying."""
    writer = Writer(port, facts)
    yield Line("own writes, read at once", f"stale of {writes:,}", value=float(writer.stale_reads(writes)), goal=0)
    with psycopg.connect(replica.address(), autocommit=True) as connection:
        connection.execute("SELECT pg_wal_replay_pause()")
        stale = writer.stale_reads(writes)
        connection.execute("SELECT pg_wal_replay_resume()")
    yield Line("own writes, read at once", f"stale of {writes:,}, replica stands still", value=float(stale), goal=0)
    writer.connection.close()


def _failure(port: int, facts: Facts, replica: clusters.Postgres, seconds: float) -> Iterator[Line]:
    """Crash the replica while there are reads, and start it again."""
    time.sleep(SETTLE_SECONDS)
    crash = threading.Timer(seconds / 3, replica.stop)
    crash.start()
    outcome = reads(port, facts, seconds, strict=False)
    crash.join()
    yield _line("replica crashes meanwhile", outcome)
    failed = len(outcome.unexpected)
    yield Line("reads", f"failed of {len(outcome.latencies):,}", value=float(failed), goal=0)
    replica.start()
    before, started = lookups(replica), time.monotonic()
    while lookups(replica) <= before and time.monotonic() - started < BACK_SECONDS:
        reads(port, facts, 0.5)
    waited = time.monotonic() - started
    yield Line("reads", "replica started again, until it is read from", value=waited, goal=BACK_SECONDS, unit=" s")
