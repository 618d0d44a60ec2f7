"""The clock of the servers and workers jumps two hours ahead, back, two hours behind, and back, while callers work.

libfaketime moves the wall clock of running processes and leaves the monotonic one alone, as setting a clock does.
"""

import contextlib
import json
import tempfile
import threading
import time
import urllib.request
import uuid
from collections.abc import Iterator
from pathlib import Path

from tests.bench.faults.cluster import cluster
from tests.bench.faults.stand import WORKERS, Stand, stand
from tests.bench.faults.traffic import Caller, Seen, Traffic, show
from tests.bench.report import Line, counts
from tests.bench.server import serve
from tests.bench.webhook_bench import RECEIVER
from tests.processes import PASSWORD, wait_until

WORK = "clock jumps"
# Offsets in the order in which they come; each is a jump of two hours against the one before.
OFFSETS = ("+0", "+7200", "+0", "-7200", "+0")
# One application is moved once at each of them.
MOVES = ("submitted", "under_review", "approved", "under_review", "approved")
# libfaketime 0.9.10 breaks sleeping until a monotonic moment, which is how Python sleeps.
_SLEEP = "import select, time\ntime.sleep = lambda seconds: select.select([], [], [], seconds) and None\n"

_BACKWARDS = """
SELECT count(*) FROM (
    SELECT changed_at, previous_status, lag(changed_at) OVER story AS before, lag(status) OVER story AS came_from
    FROM credit_applicationhistory WINDOW story AS (PARTITION BY application_id ORDER BY position)
) AS moves WHERE changed_at < before OR previous_status <> came_from
"""
_TO_DELIVER = (
    "(SELECT count(*) FROM webhooks_delivery WHERE status = 'pending')"
    " + (SELECT count(*) FROM webhooks_event WHERE sequence IS NULL)"
)
_TO_SETTLE = (
    "(SELECT count(*) FROM payments_payment WHERE status NOT IN ('Completed', 'Failed'))"
    " + (SELECT count(*) FROM credit_decisionanchor WHERE anchored_at IS NULL)"
)
_UNANCHORED = "SELECT count(*) FROM credit_decisionanchor WHERE anchored_at IS NULL"
_BLOCKS_BACKWARDS = """
SELECT count(*) FROM (SELECT timestamp, lag(timestamp) OVER (ORDER BY number) AS before FROM ledger_block) AS blocks
WHERE timestamp < before
"""


def library() -> Path | None:
    """Return libfaketime for threads, or None."""
    return next(iter(sorted(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))), None)


class Clock:
    """A clock that processes started with `environment` share."""

    def __init__(self, folder: Path, preloaded: Path) -> None:
        self._file = folder / "offset"
        self.set("+0")
        (folder / "sitecustomize.py").write_text(_SLEEP)
        self.environment = {
            "LD_PRELOAD": str(preloaded),
            "FAKETIME_TIMESTAMP_FILE": str(self._file),
            "FAKETIME_CACHE_DURATION": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "PYTHONPATH": f"{folder}:{Path(__file__).resolve().parents[3]}",
        }

    def set(self, offset: str) -> None:
        """Move the clock; every process notices within a second."""
        self._file.write_text(f"{offset}\n")


def run(quick: bool) -> Iterator[Line]:
    """Nothing may be lost, done twice, run backwards, stall or storm."""
    preloaded = library()
    if preloaded is None:
        print("    libfaketime is not installed, so no clock is moved.", flush=True)
        return
    seconds = 4.0 if quick else 15.0
    with (
        tempfile.TemporaryDirectory(prefix="faults-clock-") as folder,
        cluster() as own,
        stand(own) as made,
        serve("receiver", RECEIVER, made.environment) as receiver,
    ):
        clock = Clock(Path(folder), preloaded)
        moved = clock.environment
        with made.serve(**moved) as platform, made.serve("ledger.wsgi", **moved) as ledger:
            made.environment["CHAIN_URL"] = f"http://127.0.0.1:{ledger.port}"
            made.work(*WORKERS, **moved)
            visitor = Visitor(made, platform.port)
            visitor.listen_at(receiver.port)
            with Traffic(made, platform.port, ledger.port, callers=4, pause_seconds=0.05) as traffic:
                for offset in OFFSETS:
                    clock.set(offset)
                    time.sleep(1.5)
                    visitor.visit(ahead=offset)
                    time.sleep(seconds)
            stalled = _settle(made)
            bad = made.stop_workers()
        with urllib.request.urlopen(f"http://127.0.0.1:{receiver.port}/") as answer:
            received = json.load(answer)["count"]
        yield from _lines(made, traffic, visitor, received, stalled, bad)


def _lines(made: Stand, traffic: Traffic, visitor: "Visitor", received: int, stalled: int, bad: int) -> Iterator[Line]:
    """Yield what came of it."""
    with made.connect() as session:
        count = lambda sql: float(session.execute(sql).fetchone()[0])  # noqa: E731
        told = count("SELECT count(*) FROM webhooks_delivery")
        figures = {
            "histories that run backwards": count(_BACKWARDS),
            "blocks that run backwards": count(_BLOCKS_BACKWARDS),
            "payments open, or charged other than once": count(
                "SELECT count(*) FROM payments_payment p WHERE status <> 'Completed' OR 1 <>"
                " (SELECT count(*) FROM payments_sandboxcharge c WHERE c.key = p.processor_key)"
            ),
            "deliveries that stall": float(stalled),
            "workers that did not carry on": float(bad),
            "decisions that are not anchored": count(_UNANCHORED),
            "tokens or moves judged wrongly": float(len(visitor.wrong)),
        }
    for one in visitor.wrong:
        print(f"    {one}", flush=True)
    yield from counts(WORK, {"jumps": len(OFFSETS) - 1, "applications acknowledged": len(traffic.applications)})
    # A card whose answer is lost is a failure that was asked for.
    seen = [*traffic.seen, *(one for one in visitor.seen if one.work != "payment")]
    failed = [one for one in seen if not one.proper or one.status >= 429]
    verified = json.loads(made.manage("verify_ledger", "--json"))["ok"]
    figures |= {"failed requests": len(show(failed)), "ledger does not verify": not verified}
    yield from counts(WORK, {**traffic.judge(), **figures}, goal=0.0)
    yield Line(WORK, "attempts ÷ deliveries", value=received / max(told, 1.0), goal=1.5)


def _settle(made: Stand) -> int:
    """Wait until every delivery is over and every payment is; return how many deliveries are not."""
    with made.connect() as session:
        count = lambda sql: int(session.execute(f"SELECT {sql}").fetchone()[0])  # noqa: E731
        with contextlib.suppress(RuntimeError):
            wait_until(lambda: count(_TO_DELIVER) + count(_TO_SETTLE) == 0)
        return count(_TO_DELIVER)


class Visitor:
    """Somebody with a password, who pays, and tries every token that they were ever given."""

    def __init__(self, made: Stand, port: int) -> None:
        self.seen: list[Seen] = []
        self.wrong: list[str] = []
        self._made, self._caller, self._lock = made, Caller(port, self.seen), threading.Lock()
        self._tokens: list[tuple[int, str]] = []  # when it was issued, by the servers' clock
        self._moves = iter(MOVES)
        self._application = ""

    def listen_at(self, port: int) -> None:
        """Have every event delivered to a receiver."""
        body = {"url": f"http://127.0.0.1:{port}/", "event_types": ["*"]}
        self._caller.ask("write", "POST", "/v1/webhooks/endpoints", body, {"X-API-Key": self._made.api_key})

    def visit(self, *, ahead: str) -> None:
        """Log in, try every token, and pay with a card whose answer is lost."""
        now = int(time.monotonic()) + int(ahead)
        body = {"username": "faults", "password": PASSWORD}
        status, answer = self._caller.ask("write", "POST", "/v1/auth/token", body, {})
        if status != 200:
            self.wrong.append(f"{ahead}: no log-in: {status} {answer!r}")
            return
        self._tokens.append((now, json.loads(answer)["access_token"]))
        for issued, token in self._tokens:
            status, _ = self._caller.ask("read", "GET", "/v1/auth/me", None, {"Authorization": f"Bearer {token}"})
            # Fifteen minutes from its issue, and a minute of grace for a clock that is behind.
            good = -60 <= now - issued < 900
            if (status == 200) is not good:
                self.wrong.append(f"{ahead}: a token of {now - issued} s ago was answered with {status}")
        for method in ("pm_sandbox_ok", "pm_sandbox_timeout"):
            order = {"user_id": int(self._made.user_id), "amount_cents": 10_000, "payment_method_id": method}
            who = {"X-API-Key": self._made.api_key, "Idempotency-Key": str(uuid.uuid4())}
            self._caller.ask("payment", "POST", "/v1/payments/process", order, who)
        self._move()

    def _move(self) -> None:
        """Move the one application on; its decisions are anchored."""
        who = {"X-API-Key": self._made.api_key}
        if not self._application:
            body = {"consumer_id": self._made.user_id, "offer_id": 1, "provider_id": 2, "application_data": {"key": ""}}
            _, answer = self._caller.ask("write", "POST", "/v1/applications", body, who)
            self._application = json.loads(answer)["id"]
        move = {"status": next(self._moves), "updated_by": "visitor"}
        status, answer = self._caller.ask("write", "PUT", f"/v1/applications/{self._application}/status", move, who)
        if status != 200:
            self.wrong.append(f"{move['status']}: {status} {answer!r}")
