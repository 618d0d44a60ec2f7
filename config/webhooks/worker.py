"""The worker, which publishes events, claims due deliveries, sends them, and stores the outcomes in a loop.

Only the main thread uses the database. A lane is a thread that sends a few deliveries sequentially over one connection
to one endpoint. A fast receiver gets one lane, because a second lane would compete for the processor. A slow receiver
gets more lanes, up to LANES_PER_ACCOUNT, so that it can't block the worker. If no lane is free, a delivery returns to
the queue for STEP_ASIDE, so that deliveries of other accounts come first.
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
from django.db.models import QuerySet
from django.utils import timezone

from config.clients.pinned import AttemptFailed, Channel
from config.core.databases import is_away, log_away
from config.core.encryption import UnreadableSecret
from config.core.leases import contain
from config.core.outgoing import Resolve, resolve_by_system
from config.core.retries import read_retry_after
from config.ops.models import WorkMark
from config.webhooks.catalogue import TEST
from config.webhooks.events import event_body
from config.webhooks.models import ENABLED, Delivery
from config.webhooks.publishing import failed_events, publish_some
from config.webhooks.queue import (
    ENDPOINT_DISABLED,
    INTERNAL,
    SECRET_UNREADABLE,
    Outcome,
    failed_deliveries,
    requeue,
    store_outcomes,
    take_due,
)
from config.webhooks.signing import signature_headers

ATTEMPT_SECONDS = 15.0
BATCH_DELIVERIES = 100
LANES = 64
LANES_PER_ACCOUNT = 8
HANGING_SECONDS = 5.0  # a receiver whose last attempt took this long gets only one lane
LANE_SECONDS = 1.0  # after this time, a lane ends, so that the main thread can store its results
STEP_ASIDE = timedelta(seconds=2)  # the delay of a delivery if no lane is free
POLL_SECONDS = 0.5
FINISH_SECONDS = 5.0  # the time for a stopping worker to store its results
PACES_REMEMBERED_MAX = 10_000
_GATHER_SECONDS = 0.25
_DATABASE_PAUSE_SECONDS = 1.0

logger = logging.getLogger("platform.webhooks")


class Worker:
    """A worker. Several workers can run on several machines. A signal handler can call `stop`."""

    def __init__(self, *, resolve: Resolve = resolve_by_system) -> None:
        self._resolve = resolve
        self._lease = timedelta(seconds=settings.WEBHOOK_LEASE_SECONDS)
        # An attempt must end long before its lease ends.
        self._attempt_seconds = min(ATTEMPT_SECONDS, settings.WEBHOOK_LEASE_SECONDS / 4)
        self._stopping = threading.Event()
        self._lanes: dict[Future[list[Delivery]], Sequence[Delivery]] = {}
        self._outcomes: SimpleQueue[Outcome] = SimpleQueue()
        self._unsaved: list[Outcome] = []
        self._pace: dict[UUID, float] = {}
        self._failed_events = failed_events()
        self._failed = failed_deliveries(lease=self._lease)
        self._review_at = 0.0
        self._marks: dict[WorkMark, set[UUID]] = {}  # the IDs of the deliveries in progress by WorkMark
        self._suspect: WorkMark | None = None  # the WorkMark of the last claimed suspect
        self._last_account = 0
        self._again_at = 0.0
        self.counts = Counter(published=0, delivered=0, retried=0, failed=0, disabled=0)

    def stop(self) -> None:
        """Stop claiming deliveries. `run` returns after it has stored the results of current requests."""
        self._stopping.set()

    def run(self, *, once: bool = False) -> dict[str, int]:
        """Process deliveries until `stop` is called, or with `once` until no delivery is due. Return the counts.

        With `once`, raises OperationalError if the database is unavailable at the start. Without `once`, the worker
        waits for the database.
        """
        if once:
            connection.ensure_connection()
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
        """Run a step. If the database is unavailable, wait, so that outcomes are stored later."""
        try:
            return step()
        except Error as error:
            if not is_away(error):
                raise
            log_away(error)
            connection.close()
            time.sleep(_DATABASE_PAUSE_SECONDS)
            return True

    def _turn(self, lanes: ThreadPoolExecutor) -> bool:
        # `review` must run after the WorkMark ends, and before the lease of its deliveries ends.
        if time.monotonic() >= self._review_at:
            self._failed_events.review(now=timezone.now())
            self._failed.review(now=timezone.now())
            self._review_at = time.monotonic() + self._lease.total_seconds() / 16
            for mark in [mark for mark in self._marks if mark.ends_at <= timezone.now()]:
                del self._marks[mark]  # the database was unavailable, so the deliveries were not requeued
        # All events are published only if a complete pass over all accounts publishes none.
        was_in_pass = self._last_account > 0
        result = publish_some(self._failed_events, after_account=self._last_account, now=timezone.now())
        published, self._last_account = result
        self.counts["published"] += published
        suspect = batch = None
        if len(self._lanes) < LANES - LANES_PER_ACCOUNT:
            suspects = self._failed.suspects(now=timezone.now())
            if suspects and self._suspect not in self._marks:
                suspect = self._suspect = self._take(self._failed.queue.filter(pk__in=suspects), 1, lanes)
            batch = self._take(self._failed.takeable(now=timezone.now()), BATCH_DELIVERIES, lanes)
        gathered = self._gather()
        return bool(published or suspect or batch or gathered or was_in_pass or self._last_account)

    def _take(self, rows: QuerySet[Delivery], limit: int, lanes: ThreadPoolExecutor) -> WorkMark | None:
        """Claim up to `limit` due deliveries, and assign them to lanes. Return their mark."""
        taken = take_due(self._failed, rows, limit=limit, now=timezone.now(), lease=self._lease)
        if not taken:
            return None
        keys = [delivery.pk for delivery in taken]
        mark = self._failed.begin(keys)
        self._marks[mark] = set(keys)
        self._dispatch(taken, lanes)
        return mark

    def _finish(self, deliveries: Sequence[Delivery]) -> None:
        """Remove finished deliveries from their work marks, and delete the marks that have no deliveries left."""
        finished = {delivery.pk for delivery in deliveries}
        for in_hand in self._marks.values():
            in_hand.difference_update(finished)
        ended = [mark for mark, in_hand in self._marks.items() if not in_hand]
        self._failed.end(ended)
        for mark in ended:
            del self._marks[mark]

    def _dispatch(self, taken: Sequence[Delivery], lanes: ThreadPoolExecutor) -> None:
        """Assign deliveries to lanes. Each endpoint gets as few lanes as its response time allows."""
        by_endpoint: dict[UUID, list[Delivery]] = defaultdict(list)
        for delivery in taken:
            if delivery.endpoint.status != ENABLED or delivery.endpoint.deleted_at is not None:
                self._outcomes.put(Outcome(delivery, timezone.now(), None, ENDPOINT_DISABLED, 0))
            else:
                by_endpoint[delivery.endpoint.pk].append(delivery)
        started_at = time.monotonic()
        for endpoint_id, deliveries in by_endpoint.items():
            account_id, pace = deliveries[0].endpoint.account_id, self._pace.get(endpoint_id, 0.0)
            allowed = LANES_PER_ACCOUNT if pace < HANGING_SECONDS else 1
            in_use = sum(share[0].endpoint.account_id == account_id for share in self._lanes.values())
            room = max(0, allowed - in_use)
            # Split the deliveries into shares that a lane can send within LANE_SECONDS.
            size = len(deliveries) if pace * len(deliveries) <= LANE_SECONDS else max(1, int(LANE_SECONDS / pace))
            shares = [deliveries[at : at + size] for at in range(0, len(deliveries), size)]
            for share in shares[:room]:
                self._lanes[lanes.submit(self._work, share, started_at)] = share
            unassigned = [delivery for share in shares[room:] for delivery in share]
            if unassigned:
                requeue(unassigned, due_at=timezone.now() + STEP_ASIDE)
                self._finish(unassigned)
                self._again_at = started_at + STEP_ASIDE.total_seconds() + POLL_SECONDS

    def _work(self, deliveries: Sequence[Delivery], started_at: float) -> list[Delivery]:
        """Send a lane's deliveries sequentially, until the lane's time is over. Return the unsent deliveries."""
        channel = Channel(deliveries[0].endpoint.url, resolve=self._resolve)
        # A lane sends at least one delivery. If the lane waited too long for a thread, it sends none, because the lease
        # could end during the attempt.
        seconds_left = self._lease.total_seconds() / 2
        try:
            for at, delivery in enumerate(deliveries):
                if self._stopping.is_set() or time.monotonic() - started_at > seconds_left:
                    return list(deliveries[at:])
                self._outcomes.put(self._attempt(delivery, channel))
                seconds_left = min(seconds_left, LANE_SECONDS)
        finally:
            channel.close()
        return []

    def _attempt(self, delivery: Delivery, channel: Channel) -> Outcome:
        endpoint, at, started_at = delivery.endpoint, timezone.now(), time.monotonic()
        headers = {"Content-Type": "application/json", "User-Agent": f"webhooks/{settings.API_VERSION}"}
        status, error, retry_after = None, None, None
        try:
            body = event_body(delivery.event)
            signed = signature_headers(
                message_id=str(delivery.event_id),
                timestamp=int(at.timestamp()),
                body=body,
                header_secret=endpoint.header_secret(at, is_test=delivery.event_type == TEST),
                live_secrets=endpoint.live_secrets(at),
            )
            reply = channel.post(body, headers | signed, seconds=self._attempt_seconds)
            status = reply.status
            if not 200 <= status < 300:
                error = "redirect" if 300 <= status < 400 else "status"
                retry_after = read_retry_after(reply.headers.get("retry-after", ""), now=at)
        except AttemptFailed as failure:
            error = failure.word
        except UnreadableSecret:  # a rotated secret or a restored key can resolve the error
            error = SECRET_UNREADABLE
        except Exception as fault:  # noqa: BLE001  a response must not end the worker
            contain(fault, "delivery", delivery.pk)
            status, error, retry_after = None, INTERNAL, None
        seconds = time.monotonic() - started_at
        if len(self._pace) > PACES_REMEMBERED_MAX:
            self._pace.clear()
        self._pace[endpoint.pk] = seconds
        return Outcome(delivery, at, status, error, round(seconds * 1000), retry_after)

    def _gather(self) -> bool:
        """Wait briefly for lanes, store outcomes, and requeue unsent deliveries.

        Return False if there was nothing to store or requeue.
        """
        left_over: list[Delivery] = []
        if self._lanes:
            done, _ = wait(self._lanes, timeout=_GATHER_SECONDS, return_when=FIRST_COMPLETED)
            for lane in done:
                deliveries = self._lanes.pop(lane)
                try:
                    left_over += lane.result()
                except Exception as fault:  # noqa: BLE001  the error becomes the outcome of the deliveries
                    contain(fault, "lane", deliveries[0].endpoint.pk)
                    # This outcome does not change deliveries that already have a stored outcome, because the worker
                    # has released them.
                    for delivery in deliveries:
                        self._outcomes.put(Outcome(delivery, timezone.now(), None, INTERNAL, 0))
        self._unsaved += [self._outcomes.get_nowait() for _ in range(self._outcomes.qsize())]
        worked = bool(self._unsaved or left_over)
        if self._unsaved:
            self._store()
        if left_over:
            requeue(left_over, due_at=timezone.now())
            self._finish(left_over)
        return worked

    def _store(self) -> None:
        """Store the unsaved outcomes together, or one by one if an outcome can't be stored."""
        deliveries = [outcome.delivery for outcome in self._unsaved]
        try:
            self.counts.update(store_outcomes(self._unsaved, now=timezone.now()))
            self._failed.succeed(delivery.pk for delivery in deliveries)
        except Exception as error:  # noqa: BLE001  any outcome may have raised it
            contain(error, "delivery", "outcomes")
            while self._unsaved:
                outcome = self._unsaved[0]
                with self._failed.attempt(outcome.delivery.pk, now=timezone.now()):
                    self.counts.update(store_outcomes([outcome], now=timezone.now()))
                self._unsaved.pop(0)
        self._unsaved = []
        self._finish(deliveries)
