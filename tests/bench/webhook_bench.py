"""Webhooks: deliveries per second beside a bare loop of posts, with one worker and with two, and at two backlogs.

The loop is `requests` with a shared session, which posts a body of the same size to the same receiver; it and the
workers take turns. What a worker does for a delivery is counted in full: numbering the event, making the delivery,
claiming, signing, sending, storing the outcome. Rates are the receiver's own. For the backlog, the queue holds so many
deliveries that are due, and the rate over the first of them is compared.
"""

import contextlib
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator

import psycopg
import requests

from tests.bench.report import Line
from tests.bench.seeding import SERVER
from tests.bench.server import ROOT, serve
from tests.processes import temporary_database

NAMES = ["webhooks", "webhook-backlog"]
BODY = b"x" * 300
RECEIVER = [sys.executable, "-m", "tests.bench.webhook_receiver", "{port}"]
WORKER = [sys.executable, "manage.py", "deliver_webhooks"]
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
    """A database of its own with one account, and its endpoint at the receiver."""

    def __init__(self, database: str, folder: str, port: int) -> None:
        self.port = port
        self.environment = {
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "tests.bench.settings",
            "DATABASE_URL": database,
            "VAR_DIR": folder,
            "WEBHOOK_ALLOW_PRIVATE": "1",
            "PYTHONWARNINGS": "ignore",
        }
        self.manage("migrate", "-v0")
        self.account = json.loads(self.manage("create_user", "bench", "--password", "bench-pass-word", "--json"))["id"]
        self.connection = psycopg.connect(database, autocommit=True)
        made = self.manage("shell", "-v0", "-c", _ENDPOINT.format(account=self.account, port=port))
        self.endpoint = made.split()[-1]

    def manage(self, *arguments: str) -> str:
        """Run a management command."""
        command = [sys.executable, "manage.py", *arguments]
        done = subprocess.run(command, cwd=ROOT, env=self.environment, check=True, stdout=subprocess.PIPE, text=True)
        return done.stdout

    def ask(self, path: str = "/") -> dict:
        """Ask the receiver what has come."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}") as answer:
            return json.load(answer)

    def forget(self) -> None:
        """Empty the tables and the receiver's memory."""
        self.connection.execute("TRUNCATE webhooks_event, webhooks_delivery, webhooks_eventfeed CASCADE")
        self.ask("/?forget")

    @contextlib.contextmanager
    def workers(self, count: int) -> Iterator[None]:
        """Run workers, which are ready when the block begins."""
        running = [
            subprocess.Popen(WORKER, cwd=ROOT, env=self.environment, stdout=subprocess.DEVNULL) for _ in range(count)
        ]
        try:
            # A worker that works has a session beside this one.
            sessions = (
                "SELECT count(*) - 1 FROM pg_stat_activity "
                "WHERE datname = current_database() AND backend_type = 'client backend'"
            )
            until = time.monotonic() + 30
            while self.connection.execute(sessions).fetchone()[0] < count:
                if time.monotonic() > until or any(one.poll() is not None for one in running):
                    raise SystemExit("a worker did not start")
                time.sleep(0.05)
            time.sleep(1)  # what a first turn compiles and loads is not a delivery
            yield
        finally:
            for one in running:
                one.send_signal(signal.SIGTERM)
            for one in running:
                one.wait(timeout=30)

    def received(self, count: int) -> float:
        """Wait until so many have come; return how many came per second."""
        until = time.monotonic() + 120
        while (state := self.ask())["count"] < count:
            if time.monotonic() > until:
                raise SystemExit(f"{state['count']} of {count} deliveries came in two minutes")
            time.sleep(0.1)
        return float(self.ask()["per_second"])


_ENDPOINT = """
from django.utils import timezone
from config.webhooks.endpoints import create_endpoint
print(create_endpoint(account_id={account}, url="http://127.0.0.1:{port}/", event_types=["*"], description="",
                      now=timezone.now()).pk)
"""


@contextlib.contextmanager
def bench(name: str) -> Iterator[Bench]:
    """Make the database, start the receiver; drop and stop them afterwards."""
    with (
        tempfile.TemporaryDirectory() as folder,
        serve("receiver", RECEIVER, dict(os.environ)) as receiver,
        temporary_database(SERVER, f"{name}_{os.getpid()}") as address,
    ):
        made = Bench(address, folder, receiver.port)
        yield made
        made.connection.close()


def bare_loop(made: Bench, count: int) -> float:
    """Post with a shared session, one after the other; return how many per second."""
    made.ask("/?forget")
    with requests.Session() as session:
        for _ in range(count):
            session.post(f"http://127.0.0.1:{made.port}/", data=BODY)
    return made.received(count)


def deliveries(made: Bench, workers: int, count: int) -> float:
    """Let events happen at once, deliver them with so many workers; return how many per second."""
    made.forget()
    with made.workers(workers):
        made.connection.execute(_EVENTS, {"account": made.account, "count": count})
        return made.received(count)


def at_backlog(made: Bench, size: int) -> float:
    """Fill the queue up to `size`, deliver some with one worker; return how many per second."""
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
    with made.workers(1):
        return made.received(MEASURED_OF_BACKLOG)


def run(only: set[str], *, quick: bool) -> Iterator[Line]:
    """Measure what `only` names, or everything; yield the lines of the table."""
    rounds = 1 if quick else 3
    if not only or "webhooks" in only:
        yield from _rate_lines(rounds, 500 if quick else 5_000)
    if not only or "webhook-backlog" in only:
        yield from _backlog_lines(rounds, [1_000, 10_000] if quick else [1_000, 1_000_000])


def _rate_lines(rounds: int, count: int) -> Iterator[Line]:
    """Measure the loop, one worker and two, in turn."""
    measured: dict[str, list[float]] = {"loop": [], "one": [], "two": []}
    with bench("bench_webhooks") as made:
        for _ in range(rounds):
            measured["loop"].append(bare_loop(made, count))
            measured["one"].append(deliveries(made, 1, count))
            measured["two"].append(deliveries(made, 2, count))
    rate = {name: statistics.median(values) for name, values in measured.items()}
    yield Line("webhook deliveries", "1 worker", per_second=rate["one"])
    beside = rate["one"] / rate["loop"]
    yield Line(
        "webhook deliveries", "bare loop of posts", per_second=rate["loop"], value=beside, goal=0.8, at_most=False
    )
    more = rate["two"] / rate["one"]
    yield Line(
        "webhook deliveries, 2 workers ÷ 1", "2 workers", per_second=rate["two"], value=more, goal=1.5, at_most=False
    )


def _backlog_lines(rounds: int, sizes: list[int]) -> Iterator[Line]:
    """Measure one worker before a short queue and a long one, in turn."""
    measured: dict[int, list[float]] = {size: [] for size in sizes}
    with contextlib.ExitStack() as stack:
        # Two databases: a round at the short queue must not have to remove the long one.
        made = {size: stack.enter_context(bench(f"bench_backlog_{size}")) for size in sizes}
        for _ in range(rounds):
            for size in sizes:
                measured[size].append(at_backlog(made[size], size))
    rate = {size: statistics.median(values) for size, values in measured.items()}
    small, large = min(sizes), max(sizes)
    for size in sizes:
        yield Line(f"webhook deliveries at a backlog of {size:,}", "1 worker", per_second=rate[size])
    growth = rate[small] / rate[large]
    yield Line(f"cost of a delivery at a backlog of {large:,} ÷ {small:,}", "1 worker", value=growth, goal=1.2)


if __name__ == "__main__":
    from tests.bench.report import table

    print(table(run(set(sys.argv[1:]) - {"--quick"}, quick="--quick" in sys.argv)))
