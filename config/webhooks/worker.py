"""The worker: publishes what is new, takes what is due, sends it, stores what became of it; over and over.

Only the main thread talks to the database. Sending is done in lanes: a lane is a thread with one connection to one
endpoint and a few deliveries to bring there, one after the other. To a receiver that answers quickly one lane is the
fastest way there is (a second one would only fight for the processor); one that answers slowly gets more, up to
LANES_PER_ACCOUNT, so that a hanging receiver, or sixteen of them, can never hold all of a worker. Deliveries that
exceed their account's lanes go back to the queue for a moment, which leaves the front of the queue to others.
"""

import logging
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from datetime import timedelta
from queue import SimpleQueue
from uuid import UUID

from django.conf import settings
from django.db import Error, connection
from django.utils import timezone

from config.clients.addresses import Resolve, resolve_by_system
from config.clients.pinned import AttemptFailed, Channel
from config.core.databases import is_away
from config.core.retries import read_retry_after
from config.webhooks.models import ENABLED
from config.webhooks.publishing import publish_some
from config.webhooks.queue import (
    ENDPOINT_DISABLED,
    SECRET_UNREADABLE,
    Outcome,
    Task,
    after_clock_set_back,
    hand_back,
    store_outcomes,
    take_due,
)

ATTEMPT_SECONDS = 15.0
BATCH_DELIVERIES = 100
LANES = 64
LANES_PER_ACCOUNT = 8
HANGING_SECONDS = 5.0  # a receiver that last took so long will hardly answer: it is tried, in one lane
LANE_SECONDS = 1.0  # a lane is over after so long: results are stored and other deliveries get their turn
STEP_ASIDE = timedelta(seconds=2)  # for how long a delivery that found no lane lets others go first
POLL_SECONDS = 0.5
FINISH_SECONDS = 5.0  # for how long a worker that was told to stop tries to store what it has sent
CLOCK_STEP_SECONDS = 2.0  # smaller steps are how a clock is kept right
PACES_REMEMBERED_MAX = 10_000
_GATHER_SECONDS = 0.25
_DATABASE_PAUSE_SECONDS = 1.0

logger = logging.getLogger("platform.webhooks")


class Worker:
    """One worker. Any number may run, on any number of machines; `stop` may be called from a signal handler."""

    def __init__(self, *, resolve: Resolve = resolve_by_system) -> None:
        self._resolve = resolve
        self._lease = timedelta(seconds=settings.WEBHOOK_LEASE_SECONDS)
        # An attempt must be over long before its lease is.
        self._attempt_seconds = min(ATTEMPT_SECONDS, settings.WEBHOOK_LEASE_SECONDS / 4)
        self._stopping = threading.Event()
        self._lanes: dict[Future[list[Task]], int] = {}
        self._outcomes: SimpleQueue[Outcome] = SimpleQueue()
        self._unsaved: list[Outcome] = []
        self._pace: dict[UUID, float] = {}
        self._walked_to = 0
        self._again_at = 0.0
        self._clock_ahead = time.time() - time.monotonic()  # of the clock ahead of one that nobody sets
        self.counts = Counter(published=0, delivered=0, retried=0, failed=0, disabled=0)

    def stop(self) -> None:
        """Take nothing more; `run` returns when what is being sent has been sent and stored."""
        self._stopping.set()

    def run(self, *, once: bool = False) -> dict[str, int]:
        """Work until stopped, or until nothing is due (`once`); return what was done."""
        with ThreadPoolExecutor(LANES, thread_name_prefix="lane") as lanes:
            while not self._stopping.is_set():
                worked = self._guarded(lambda: self._turn(lanes))
                if worked or self._lanes:
                    continue
                if once and time.monotonic() >= self._again_at:
                    break
                self._stopping.wait(POLL_SECONDS)
            gives_up_at = time.monotonic() + self._attempt_seconds + FINISH_SECONDS
            while self._lanes or self._unsaved or self._outcomes.qsize():
                self._guarded(self._gather)
                if time.monotonic() >= gives_up_at:
                    break
        return dict(self.counts)

    def _guarded(self, step: Callable[[], bool]) -> bool:
        """Run a step; when the database is away, wait a moment. Nothing is lost: outcomes are kept, leases end."""
        try:
            return step()
        except Error as error:
            if not is_away(error):
                raise
            logger.warning("database unavailable: %s", type(error.__cause__ or error).__name__)
            connection.close()
            time.sleep(_DATABASE_PAUSE_SECONDS)
            return True

    def _turn(self, lanes: ThreadPoolExecutor) -> bool:
        self._mind_the_clock()
        was_walking = self._walked_to > 0  # only a walk around all accounts that found nothing means that all is told
        published, self._walked_to = publish_some(after_account=self._walked_to, now=timezone.now())
        self.counts["published"] += published
        taken = []
        if len(self._lanes) < LANES - LANES_PER_ACCOUNT:
            taken = take_due(limit=BATCH_DELIVERIES, now=timezone.now(), lease=self._lease)
            self._dispatch(taken, lanes)
        gathered = self._gather()
        return bool(published or taken or gathered or was_walking or self._walked_to)

    def _mind_the_clock(self) -> None:
        """Notice that the clock was set back since the last turn: what is due by the old time would wait for it."""
        ahead = time.time() - time.monotonic()
        if ahead < self._clock_ahead - CLOCK_STEP_SECONDS:
            moved = after_clock_set_back(now=timezone.now(), lease=self._lease)
            logger.warning("the clock was set back by %.0f s: %s deliveries moved", self._clock_ahead - ahead, moved)
        self._clock_ahead = ahead

    def _dispatch(self, taken: Sequence[Task], lanes: ThreadPoolExecutor) -> None:
        """Give tasks to lanes, those of one endpoint to as few as its pace allows."""
        by_endpoint: dict[UUID, list[Task]] = defaultdict(list)
        for task in taken:
            if task.endpoint.status != ENABLED or task.endpoint.deleted_at is not None:
                self._outcomes.put(Outcome(task, timezone.now(), None, ENDPOINT_DISABLED, 0))
            elif not task.is_signable(timezone.now()):
                # Tried again as after any failure: the secret may be rotated, or the key come back, until then.
                self._outcomes.put(Outcome(task, timezone.now(), None, SECRET_UNREADABLE, 0))
            else:
                by_endpoint[task.endpoint.pk].append(task)
        started_at = time.monotonic()
        for endpoint_id, tasks in by_endpoint.items():
            account_id, pace = tasks[0].endpoint.account_id, self._pace.get(endpoint_id, 0.0)
            allowed = LANES_PER_ACCOUNT if pace < HANGING_SECONDS else 1
            room = max(0, allowed - list(self._lanes.values()).count(account_id))
            shares = _shares(tasks, pace)
            for share in shares[:room]:
                self._lanes[lanes.submit(self._work, share, started_at)] = account_id
            aside = [task for share in shares[room:] for task in share]
            if aside:
                hand_back(aside, due_at=timezone.now() + STEP_ASIDE)
                self._again_at = started_at + STEP_ASIDE.total_seconds() + POLL_SECONDS

    def _work(self, tasks: Sequence[Task], started_at: float) -> list[Task]:
        """Send a lane's tasks, one after the other, until they or the lane's time are at their end; return the rest."""
        channel = Channel(tasks[0].endpoint.url, resolve=self._resolve)
        # One attempt at least, unless the lane waited for its thread so long that the lease would not outlast it.
        seconds_left = self._lease.total_seconds() / 2
        try:
            for at, task in enumerate(tasks):
                if self._stopping.is_set() or time.monotonic() - started_at > seconds_left:
                    return list(tasks[at:])
                self._outcomes.put(self._attempt(task, channel))
                seconds_left = min(seconds_left, LANE_SECONDS)
        finally:
            channel.close()
        return []

    def _attempt(self, task: Task, channel: Channel) -> Outcome:
        at, started_at = timezone.now(), time.monotonic()
        ours = {"Content-Type": "application/json", "User-Agent": f"webhooks/{settings.API_VERSION}"}
        status, error, retry_after = None, None, None
        try:
            reply = channel.post(task.body, ours | task.headers(at), seconds=self._attempt_seconds)
            status = reply.status
            if not 200 <= status < 300:
                error = "redirect" if 300 <= status < 400 else "status"
                retry_after = read_retry_after(reply.headers.get("retry-after", ""), now=at)
        except AttemptFailed as failure:
            error = failure.word
        seconds = time.monotonic() - started_at
        if len(self._pace) > PACES_REMEMBERED_MAX:
            self._pace.clear()
        self._pace[task.endpoint.pk] = seconds
        return Outcome(task, at, status, error, round(seconds * 1000), retry_after)

    def _gather(self) -> bool:
        """Wait briefly for lanes, store outcomes, requeue unsent deliveries; return whether there were any."""
        left_over: list[Task] = []
        if self._lanes:
            done, _ = wait(self._lanes, timeout=_GATHER_SECONDS, return_when=FIRST_COMPLETED)
            for lane in done:
                del self._lanes[lane]
                left_over += lane.result()  # a fault of ours ends the worker, loudly
        self._unsaved += [self._outcomes.get_nowait() for _ in range(self._outcomes.qsize())]
        worked = bool(self._unsaved or left_over)
        if self._unsaved:
            self.counts.update(store_outcomes(self._unsaved, now=timezone.now()))
            self._unsaved = []
        hand_back(left_over, due_at=timezone.now())
        return worked


def _shares(tasks: Sequence[Task], seconds_each: float) -> list[Sequence[Task]]:
    """Cut an endpoint's tasks into what one lane can bring there in LANE_SECONDS."""
    size = len(tasks) if seconds_each * len(tasks) <= LANE_SECONDS else max(1, int(LANE_SECONDS / seconds_each))
    return [tasks[at : at + size] for at in range(0, len(tasks), size)]
