"""The queue of deliveries: claim due deliveries, store outcomes, and requeue unsent deliveries.

A worker claims deliveries for a lease. If the worker dies, other workers claim the deliveries after the lease. On
PostgreSQL, `SKIP LOCKED` returns different rows to each worker. On SQLite, only one worker can claim at a time.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from django.db import transaction
from django.db.models import QuerySet

from config.core.json_text import rfc3339
from config.core.leases import claim_due, contain, update_each
from config.core.retries import next_delay
from config.ops.failed_items import FailedItems, read_each
from config.webhooks import endpoints
from config.webhooks.catalogue import TEST
from config.webhooks.models import DELIVERED, FAILED, FAILING, GONE, PENDING, Delivery, Endpoint

STATUS_GONE = 410
FAILING_MAX = timedelta(hours=120)  # an endpoint is disabled after failing for this time
ENDPOINT_DISABLED = "endpoint_disabled"
INTERNAL = "internal"  # the worker itself raised an exception
SECRET_UNREADABLE = "secret_unreadable"  # noqa: S105  an error code, not a secret
FAILURES_MAX = 10  # the maximum of failures to load a delivery or to store its outcome
KEEP = timedelta(days=30)  # completed deliveries can be listed and sent again for this time


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of an attempt. `error` is None after a success."""

    delivery: Delivery
    at: datetime
    status_code: int | None
    error: str | None
    duration_ms: int
    retry_after: timedelta | None = None

    @property
    def succeeded(self) -> bool:
        return self.error is None

    @property
    def is_final(self) -> bool:
        """True if the endpoint is gone or disabled. The worker does not retry the delivery."""
        return self.status_code == STATUS_GONE or self.error == ENDPOINT_DISABLED

    def entry(self) -> dict[str, object]:
        when = rfc3339(self.at)
        return {"at": when, "status_code": self.status_code, "error": self.error, "duration_ms": self.duration_ms}


def failed_deliveries(*, lease: timedelta) -> FailedItems[Delivery]:
    """Return the `FailedItems` for errors that occur outside of delivery attempts.

    Failed attempts have a separate retry schedule. A mark ends before the lease of its deliveries, so that a review can
    exclude the deliveries from the next batch.
    """
    pending = Delivery.objects.filter(status=PENDING)
    return FailedItems("delivery", pending, lease=lease * 7 / 8, failures_max=FAILURES_MAX)


def take_due(
    items: FailedItems[Delivery], rows: QuerySet[Delivery], *, limit: int, now: datetime, lease: timedelta
) -> list[Delivery]:
    """Claim up to `limit` due deliveries in `rows` for `lease`, the longest waiting first. Load their endpoints."""
    claimed = claim_due(rows, limit=limit, now=now, lease=lease)
    taken = read_each(claimed.select_related("event").order_by("pk"), partial(items.fail, now=now))
    addressed = Endpoint.objects.filter(pk__in={delivery.endpoint_id for delivery in taken})
    readable = read_each(addressed, lambda key, error: contain(error, "endpoint", key))
    endpoints = {endpoint.pk: endpoint for endpoint in readable}
    deliveries = []
    for delivery in taken:
        try:
            delivery.endpoint = endpoints[delivery.endpoint_id]
            deliveries.append(delivery)
        except KeyError as error:
            items.fail(delivery.pk, error, now=now)
    return deliveries


def requeue(deliveries: Iterable[Delivery], *, due_at: datetime) -> int:
    """Requeue deliveries that were not attempted. The deliveries are next due at `due_at`. Return their number.

    Deliveries that another worker has claimed are not requeued.
    """
    rows = [(delivery.pk, delivery.claim, due_at, None) for delivery in deliveries]
    return update_each(Delivery, match=["id", "claim"], change=["due_at", "claim"], rows=rows)


def store_outcomes(outcomes: Sequence[Outcome], *, now: datetime) -> Counter[str]:
    """Store attempts, and update deliveries and endpoints, in one transaction. Return counts by outcome.

    Deliveries that another worker has claimed stay unchanged.
    """
    counts: Counter[str] = Counter()
    rows = []
    for outcome in outcomes:
        delivery = outcome.delivery
        attempts = [*delivery.attempts, outcome.entry()]
        status, due_at = _after(outcome, len(attempts), now)
        counts[{PENDING: "retried"}.get(status, status)] += 1
        rows.append((delivery.pk, delivery.claim, status, due_at, attempts, None))
    with transaction.atomic():
        change = ["status", "due_at", "attempts", "claim"]
        update_each(Delivery, match=["id", "claim"], change=change, rows=rows)
        counts["disabled"] = _update_endpoints(outcomes, now)
    return counts


def _after(outcome: Outcome, attempts: int, now: datetime) -> tuple[str, datetime | None]:
    if outcome.succeeded:
        return DELIVERED, None
    delay = None if outcome.is_final else next_delay(attempts, retry_after=outcome.retry_after)
    return (FAILED, None) if delay is None else (PENDING, now + delay)


def _update_endpoints(outcomes: Sequence[Outcome], now: datetime) -> int:
    """Update `failing_since`.

    Disable endpoints that returned 410 or failed for FAILING_MAX. Return the number of disabled endpoints.
    """
    working = {item.delivery.endpoint_id for item in outcomes if item.succeeded}
    gone = {item.delivery.endpoint_id for item in outcomes if item.status_code == STATUS_GONE}
    failing = {item.delivery.endpoint_id for item in outcomes if item.error not in {None, ENDPOINT_DISABLED}} - working
    if working:
        Endpoint.objects.filter(pk__in=working, failing_since__isnull=False).update(failing_since=None)
    for outcome in outcomes:
        if outcome.succeeded and outcome.delivery.event_type == TEST and not outcome.delivery.endpoint.secret_proven:
            endpoints.prove_secret(outcome.delivery.endpoint)
    if failing:
        Endpoint.objects.filter(pk__in=failing, failing_since=None).update(failing_since=now)
    given_up = Endpoint.objects.filter(pk__in=failing - gone, failing_since__lte=now - FAILING_MAX)
    reasons = dict.fromkeys(given_up.values_list("pk", flat=True), FAILING) | dict.fromkeys(gone, GONE)
    # The order prevents a deadlock of two workers.
    return sum(endpoints.disable(endpoint, reasons[endpoint], now=now) for endpoint in sorted(reasons))


def _over(now: datetime) -> QuerySet[Delivery]:
    return Delivery.objects.filter(status__in=[DELIVERED, FAILED], created_at__lt=now - KEEP)


PRUNE_RULES = {"webhook_deliveries": _over}
