"""Webhooks: deliveries per second against a bare loop of posts, and with two backlogs.

The loop is `requests` with a shared session, which posts a body of the same size to the same receiver; it and a worker
take turns. The full work of a delivery counts: numbering the event, creating the delivery, claiming, signing, sending,
and storing the outcome. The receiver measures the rates. For the backlog, the queue has this many due deliveries, and
the rates over the first of them are compared.
"""

import contextlib
import json
import os
import statistics
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator

import psycopg
import requests

from tests.bench.report import Line
from tests.bench.seeding import SERVER, environment
from tests.bench.server import serve, worker
from tests.processes import manage, temporary_database, wait_until

NAMES = ["webhooks", "webhook-backlog"]
BODY = b"x" * 300
RECEIVER = [sys.executable, "-m", "tests.bench.webhook_receiver", "{port}"]
MEASURED_OF_BACKLOG = 1_000

_EVENTS = """
INSERT INTO webhooks_event (id, account_id, type, object, request_id, created_at)
SELECT gen_random_uuid(), %(account)s, 'wallet.connected', '{"wallet_id":"01930000-0000-7000-8000-000000000000"}', '',
       now()
FROM generate_series(1, %(count)s)
"""
_BACKLOG = """
WITH made AS (
    INSERT INTO webhooks_event (id, account_id, type, object, request_id, created_at, sequence)
    SELECT gen_random_uuid(), %(account)s, 'wallet.connected', '{"wallet_id":"0193"}', '', now(),
           %(first)s + number
    FROM generate_series(1, %(count)s) AS number
    RETURNING id
)
INSERT INTO webhooks_delivery
    (id, account_id, endpoint_id, event_id, event_type, status, attempts, due_at, is_redelivery, created_at)
SELECT gen_random_uuid(), %(account)s, %(endpoint)s, id, 'wallet.connected', 'pending', '[]',
       now() - interval '1 hour' * random(), false, now()
FROM made
"""


class Bench:
    """A separate database with one account, whose endpoint is the receiver."""

    def __init__(self, database: str, folder: str, port: int) -> None:
        self.port = port
        more = {"WEBHOOK_ALLOW_PRIVATE": "1", "PYTHONWARNINGS": "ignore"}
        self.environment = environment(0, DATABASE_URL=database, VAR_DIR=folder, **more)
        manage(self.environment, "migrate", "-v0")
        output = manage(self.environment, "create_user", "bench", "--password", "bench-pass-word", "--json")
        self.account = json.loads(output)["id"]
        self.connection = psycopg.connect(database, autocommit=True)
        code = _ENDPOINT.format(account=self.account, port=port)
        self.endpoint = manage(self.environment, "shell", "-v0", "-c", code)

    def ask(self, path: str = "/") -> dict:
        """Query the receiver for its counts."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}") as answer:
            return json.load(answer)

    def forget(self) -> None:
        """Empty the tables and reset the receiver."""
        self.connection.execute("TRUNCATE webhooks_event, webhooks_delivery, webhooks_eventfeed CASCADE")
        self.ask("/?forget")

    @contextlib.contextmanager
    def worker(self) -> Iterator[None]:
        """Run a worker, which is ready when the block starts."""
        with worker("deliver_webhooks", self.environment):
            # A working worker has a session in addition to this one.
            sessions = (
                "SELECT count(*) FROM pg_stat_activity "
                "WHERE datname = current_database() AND backend_type = 'client backend'"
            )
            wait_until(lambda: self.connection.execute(sessions).fetchone()[0] > 1)
            time.sleep(1)  # the worker's first turn compiles and loads
            yield

    def received(self, count: int) -> float:
        """Wait for this many deliveries; return the deliveries per second."""
        wait_until(lambda: self.ask()["count"] >= count)
        return float(self.ask()["per_second"])


_ENDPOINT = """
from django.utils import timezone
from config.webhooks.endpoints import create_endpoint
print(create_endpoint(account_id={account}, url="http://127.0.0.1:{port}/", event_types=["*"], description="",
                      now=timezone.now()).pk)
"""


@contextlib.contextmanager
def bench(name: str) -> Iterator[Bench]:
    """Create the database and start the receiver; drop and stop them afterwards."""
    with (
        tempfile.TemporaryDirectory() as folder,
        serve("receiver", RECEIVER, dict(os.environ)) as receiver,
        temporary_database(SERVER, f"{name}_{os.getpid()}") as address,
    ):
        created = Bench(address, folder, receiver.port)
        yield created
        created.connection.close()


def bare_loop(made: Bench, count: int) -> float:
    """Post with a shared session, one request after another; return the posts per second."""
    made.ask("/?forget")
    with requests.Session() as session:
        for _ in range(count):
            session.post(f"http://127.0.0.1:{made.port}/", data=BODY)
    return made.received(count)


def deliveries(made: Bench, count: int) -> float:
    """Record events together, deliver them with one worker; return the deliveries per second."""
    made.forget()
    with made.worker():
        made.connection.execute(_EVENTS, {"account": made.account, "count": count})
        return made.received(count)


def at_backlog(made: Bench, size: int) -> float:
    """Fill the queue up to `size`, deliver some with one worker; return the deliveries per second."""
    held, last = made.connection.execute(
        "SELECT (SELECT count(*) FROM webhooks_delivery WHERE status = 'pending'), "
        "(SELECT coalesce(max(sequence), 0) FROM webhooks_event)"
    ).fetchone()
    values = {"account": made.account, "endpoint": made.endpoint, "count": max(0, size - held), "first": last}
    made.connection.execute(
        "UPDATE webhooks_endpoint SET status = 'disabled', disabled_reason = 'disabled_by_operator'"
    )
    made.connection.execute(_BACKLOG, values)
    made.connection.execute("UPDATE webhooks_delivery SET due_at = now() - interval '1 hour' WHERE due_at > now()")
    made.connection.execute("VACUUM ANALYZE webhooks_delivery")
    made.connection.execute("CHECKPOINT")
    made.connection.execute("UPDATE webhooks_endpoint SET status = 'enabled', disabled_reason = NULL")
    made.ask("/?forget")
    with made.worker():
        return made.received(MEASURED_OF_BACKLOG)


def run(only: set[str], *, quick: bool) -> Iterator[Line]:
    """Measure what `only` names, or everything; yield the table lines."""
    rounds = 1 if quick else 3
    if not only or "webhooks" in only:
        yield from _rate_lines(rounds, 500 if quick else 5_000)
    if not only or "webhook-backlog" in only:
        yield from _backlog_lines(rounds, [1_000, 10_000] if quick else [1_000, 1_000_000])


def _rate_lines(rounds: int, count: int) -> Iterator[Line]:
    """Measure the loop and one worker in turn."""
    measured: dict[str, list[float]] = {"loop": [], "one": []}
    with bench("bench_webhooks") as created:
        for _ in range(rounds):
            measured["loop"].append(bare_loop(created, count))
            measured["one"].append(deliveries(created, count))
    rate = {name: statistics.median(values) for name, values in measured.items()}
    yield Line("webhook deliveries", "1 worker", per_second=rate["one"])
    beside = rate["one"] / rate["loop"]
    yield Line(
        "webhook deliveries", "bare loop of posts", per_second=rate["loop"], value=beside, goal=0.8, at_most=False
    )


def _backlog_lines(rounds: int, sizes: list[int]) -> Iterator[Line]:
    """Measure one worker with a short queue and a long one in turn."""
    measured: dict[int, list[float]] = {size: [] for size in sizes}
    with contextlib.ExitStack() as stack:
        # Two databases: otherwise a round with the short queue would have to delete the long one.
        benches = {size: stack.enter_context(bench(f"bench_backlog_{size}")) for size in sizes}
        for _ in range(rounds):
            for size in sizes:
                measured[size].append(at_backlog(benches[size], size))
    rate = {size: statistics.median(values) for size, values in measured.items()}
    small, large = min(sizes), max(sizes)
    for size in sizes:
        yield Line(f"webhook deliveries at a backlog of {size:,}", "1 worker", per_second=rate[size])
    growth = rate[small] / rate[large]
    yield Line(f"cost of a delivery at a backlog of {large:,} ÷ {small:,}", "1 worker", value=growth, goal=1.2)
