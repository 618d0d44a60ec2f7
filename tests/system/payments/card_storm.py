"""Kill and stop servers during card payments while the processor fails, and check every charge.

`Storm(...).run()` starts two servers with a separate database. At random fault points, processes of the first server
are killed, and processes of the second server are stopped for longer than a payment's lease. For each key, a client at
each server sends the same order until a final response. A reconciler runs at the same time. `violations` then lists
every contradiction between the clients' responses, the database, and the processor's charges.
"""

import os
import random
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
import requests

from tests.bench.server import gunicorn, serve
from tests.payments.stripe_double import StripeDouble
from tests.processes import ROOT, account_with_key, manage, temporary_database, wait_until

POINTS = ("intent-committed", "before-send", "answered", "before-outcome-commit", "outcome-committed", "taken-over")
LEASE_SECONDS = 2
COUNTS = frozenset({"keys", "kills", "stops", "charges"})  # only these counts may be positive
MANNERS = ["ok"] * 60 + ["500-before"] * 5 + ["500-after"] * 6 + ["reset-before"] * 8 + ["reset-after"] * 8
MANNERS += ["html"] * 3 + ["wrong-amount"] * 3 + ["redirect"] * 2 + ["declined"] * 5


@dataclass
class Storm:
    """A storm.

    `server` is the URL of any database on the PostgreSQL server. `wsgi` is the module that the web servers run.
    `template` is the name of a migrated database, of which the storm uses a copy.
    """

    server: str
    folder: Path
    template: str
    keys: int = 300
    wsgi: str = "config.wsgi"
    seed: int = 1
    chance: float = 0.05
    deadline_seconds: float = 400.0
    kills: int = 0
    stops: int = 0
    answers: dict = field(default_factory=lambda: defaultdict(list))
    processes: list = field(default_factory=list)

    def run(self):
        """Run the storm; return its figures."""
        random.seed(self.seed)
        name = f"storm_{os.getpid()}_{uuid.uuid4().hex[:6]}"
        with (
            temporary_database(self.server, name, template=self.template) as self.database,
            StripeDouble(choose=lambda: random.choice(MANNERS)) as self.double,
            ExitStack() as running,
        ):
            self._prepare(running)
            self._send_orders()
            self._settle()
            return self._figures()

    def _environment(self, **extra):
        return {
            **os.environ,
            "DATABASE_URL": self.database,
            "VAR_DIR": str(self.folder),
            "CARD_PROCESSOR": "stripe",
            "STRIPE_BASE_URL": self.double.url,
            "STRIPE_SECRET_KEY": "sk_test_storm",
            "STRIPE_WEBHOOK_SECRET": "whsec_storm",
            "PAYMENT_LEASE_SECONDS": str(LEASE_SECONDS),
            "DJANGO_SETTINGS_MODULE": "tests.system.payments.storm_settings",
            "PYTHONPATH": str(ROOT),
            **extra,
        }

    def _prepare(self, running):
        self.user_id, self.api_key, _secret = account_with_key(self._environment(), "storm")
        stops = ",".join(f"{point}:stop" for point in POINTS)
        self.addresses = [
            self._serve(running, FAULT_POINT=",".join(POINTS), FAULT_CHANCE=str(self.chance)),
            self._serve(running, FAULT_POINT=stops, FAULT_CHANCE=str(self.chance / 2)),
        ]

    def _serve(self, running, **faults):
        command = gunicorn(self.wsgi, "--preload", "--workers", "3", "--threads", "4")
        server = running.enter_context(serve(self.wsgi, command, self._environment(**faults)))
        self.processes.append(server.process)
        return f"http://127.0.0.1:{server.port}"

    def _send_orders(self):
        over = threading.Event()
        helpers = [threading.Thread(target=self._wake_stopped, args=(over,), daemon=True)]
        helpers.append(threading.Thread(target=self._reconcile, args=(over,), daemon=True))
        for helper in helpers:
            helper.start()
        orders = [(str(uuid.uuid4()), random.randint(100, 2_000_000)) for _ in range(self.keys)]
        self.amounts = dict(orders)
        self.until = time.monotonic() + self.deadline_seconds
        with ThreadPoolExecutor(12) as pool:
            list(pool.map(self._client, [(key, amount, side) for key, amount in orders for side in (0, 1)]))
        over.set()
        for helper in helpers:
            helper.join(timeout=30)

    def _client(self, task):
        key, amount, side = task
        body = {"user_id": self.user_id, "amount_cents": amount, "payment_method_id": "pm_card"}
        headers = {"X-API-Key": self.api_key, "Idempotency-Key": key}
        while time.monotonic() < self.until:
            with suppress(requests.RequestException):
                answer = requests.post(
                    f"{self.addresses[side]}/v1/payments/process", json=body, headers=headers, timeout=60
                )
                if answer.status_code == 200 or answer.json().get("code") == "E5001":
                    self.answers[key].append((answer.status_code, answer.content))
                    return
            time.sleep(0.05)

    def _children(self):
        arbiters = {process.pid for process in self.processes}
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                with suppress(OSError, ValueError):
                    state, parent = (entry / "stat").read_text().rpartition(")")[2].split()[:2]
                    if int(parent) in arbiters:
                        yield int(entry.name), state

    def _wake_stopped(self, over):
        """Continue stopped processes after their leases expire; count killed and stopped processes."""
        stopped_since, known = {}, set()
        while not over.is_set() or stopped_since:
            children = dict(self._children())
            self.kills += len(known - children.keys())
            known = set(children)
            for pid, state in children.items():
                if state == "T":
                    stopped_since.setdefault(pid, time.monotonic())
            for pid, since in list(stopped_since.items()):
                if pid not in children:
                    del stopped_since[pid]
                elif time.monotonic() - since > LEASE_SECONDS + 1:
                    del stopped_since[pid]
                    self.stops += 1
                    with suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGCONT)
            time.sleep(0.1)

    def _reconcile(self, over):
        """Run a reconciler with random kills, and restart it after each."""
        faults = {"FAULT_POINT": ",".join(POINTS), "FAULT_CHANCE": "0.01"}
        while not over.is_set():
            worker = subprocess.Popen(
                [sys.executable, "manage.py", "reconcile_payments"],
                cwd=ROOT, env=self._environment(**faults), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )  # fmt: skip
            while worker.poll() is None and not over.is_set():
                time.sleep(0.1)
            worker.terminate()
            worker.wait()

    def _settle(self):
        """End all processes, and reconcile until no payment is open."""
        self._end_processes()

        def is_over():
            manage(self._environment(), "reconcile_payments", "--once")
            return not self._open()

        wait_until(is_over)

    def _open(self):
        with psycopg.connect(self.database) as connection:
            row = connection.execute(
                "SELECT count(*) FROM payments_payment WHERE status IN ('Pending', 'Processing', 'Unknown')"
            ).fetchone()
            return row[0]

    def _end_processes(self):
        for process in self.processes:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        self.processes.clear()

    def _figures(self):
        with psycopg.connect(self.database) as connection:
            payments = connection.execute(
                "SELECT id, idempotency_key::text, amount_cents, status, transaction_id FROM payments_payment"
            ).fetchall()
        by_id = {str(payment[0]): payment for payment in payments}
        charged = Counter()
        orphans = 0
        for intent in self.double.charges:
            payment = by_id.get(intent["metadata"]["payment_id"])
            if payment is None or payment[3] != "Completed" or payment[2] != intent["amount"]:
                orphans += 1
            if payment is not None:
                charged[payment[1]] += 1
        sent = dict(self.answers)
        paid = {key for key, answers in sent.items() if any(status == 200 for status, _ in answers)}
        return {
            "keys": self.keys,
            "kills": self.kills,
            "stops": self.stops,
            "charges": len(self.double.charges),
            "double charges": sum(1 for count in charged.values() if count > 1),
            "charges without record": orphans,
            "paid, not charged once": sum(1 for key in paid if charged[key] != 1),
            "differing replays": sum(1 for answers in sent.values() if len(set(answers)) > 1),
            "without response": sum(1 for key in self.amounts if not sent.get(key)),
            "stuck": self._open(),
            "difference of sums": abs(
                sum(payment[2] for payment in payments if payment[3] == "Completed")
                - sum(intent["amount"] for intent in self.double.charges)
            ),
        }


def violations(figures):
    """Return the nonzero counts that must be zero."""
    return {name: value for name, value in figures.items() if name not in COUNTS and value}
