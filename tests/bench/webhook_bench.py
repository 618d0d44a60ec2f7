"""Measure webhook deliveries per second: compared with a loop of POST requests, and with a short and a long backlog.

The loop posts a body of the same size to the same receiver, with `requests` and a shared session. It and a worker take
turns. The worker does the full work of a delivery: it numbers the event, creates, claims, signs, and sends the
delivery, and stores the outcome. The receiver measures the rates. With a backlog, the rate covers the first 1,000
deliveries.
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
WITH created AS (
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
FROM created
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

    def query_receiver(self, path: str = "/") -> dict:
        """Return the receiver's count and rate."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}") as answer:
            return json.load(answer)

    def reset(self) -> None:
        """Empty the tables and reset the receiver."""
        self.connection.execute("TRUNCATE webhooks_event, webhooks_delivery, webhooks_eventfeed CASCADE")
        self.query_receiver("/?forget")

    @contextlib.contextmanager
    def worker(self) -> Iterator[None]:
        """Run a worker, which is ready when the block starts."""
        with worker("deliver_webhooks", self.environment):
            # A second session in the database belongs to the worker.
            sessions = (
                "SELECT count(*) FROM pg_stat_activity "
                "WHERE datname = current_database() AND backend_type = 'client backend'"
            )
            wait_until(lambda: self.connection.execute(sessions).fetchone()[0] > 1)
            time.sleep(1)  # the worker's first iteration includes imports
            yield

    def wait_for_rate(self, count: int) -> float:
        """Wait until the receiver has this many requests; return their rate per second."""
        wait_until(lambda: self.query_receiver()["count"] >= count)
        return float(self.query_receiver()["per_second"])


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


def bare_loop(setup: Bench, count: int) -> float:
    """Send POST requests one after another with a shared session; return their rate per second."""
    setup.query_receiver("/?forget")
    with requests.Session() as session:
        for _ in range(count):
            session.post(f"http://127.0.0.1:{setup.port}/", data=BODY)
    return setup.wait_for_rate(count)


def deliveries(setup: Bench, count: int) -> float:
    """Record all events, and deliver them with one worker; return the deliveries per second."""
    setup.reset()
    with setup.worker():
        setup.connection.execute(_EVENTS, {"account": setup.account, "count": count})
        return setup.wait_for_rate(count)


def at_backlog(setup: Bench, size: int) -> float:
    """Fill the queue up to `size`, and deliver 1,000 with one worker; return the deliveries per second."""
    held, last = setup.connection.execute(
        "SELECT (SELECT count(*) FROM webhooks_delivery WHERE status = 'pending'), "
        "(SELECT coalesce(max(sequence), 0) FROM webhooks_event)"
    ).fetchone()
    values = {"account": setup.account, "endpoint": setup.endpoint, "count": max(0, size - held), "first": last}
    setup.connection.execute(
        "UPDATE webhooks_endpoint SET status = 'disabled', disabled_reason = 'disabled_by_operator'"
    )
    setup.connection.execute(_BACKLOG, values)
    setup.connection.execute("UPDATE webhooks_delivery SET due_at = now() - interval '1 hour' WHERE due_at > now()")
    setup.connection.execute("VACUUM ANALYZE webhooks_delivery")
    setup.connection.execute("CHECKPOINT")
    setup.connection.execute("UPDATE webhooks_endpoint SET status = 'enabled', disabled_reason = NULL")
    setup.query_receiver("/?forget")
    with setup.worker():
        return setup.wait_for_rate(MEASURED_OF_BACKLOG)


def run(only: set[str], *, quick: bool) -> Iterator[Line]:
    """Run the measurements in `only`, or both of them; yield the table lines."""
    rounds = 1 if quick else 3
    if not only or "webhooks" in only:
        yield from _rate_lines(rounds, 500 if quick else 5_000)
    if not only or "webhook-backlog" in only:
        yield from _backlog_lines(rounds, [1_000, 10_000] if quick else [1_000, 1_000_000])


def _rate_lines(rounds: int, count: int) -> Iterator[Line]:
    """Measure the loop and a worker in turn."""
    measured: dict[str, list[float]] = {"loop": [], "worker": []}
    with bench("bench_webhooks") as created:
        for _ in range(rounds):
            measured["loop"].append(bare_loop(created, count))
            measured["worker"].append(deliveries(created, count))
    rate = {name: statistics.median(values) for name, values in measured.items()}
    yield Line("webhook deliveries", "1 worker", per_second=rate["worker"])
    share = rate["worker"] / rate["loop"]
    yield Line(
        "webhook deliveries", "loop of POST requests", per_second=rate["loop"], value=share, goal=0.8, at_most=False
    )


def _backlog_lines(rounds: int, sizes: list[int]) -> Iterator[Line]:
    """Measure a worker with a short and with a long queue, in turn."""
    measured: dict[int, list[float]] = {size: [] for size in sizes}
    with contextlib.ExitStack() as stack:
        # Each queue has its own database. Otherwise, rounds with the short queue would have to delete the long queue.
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
