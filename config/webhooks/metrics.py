from collections.abc import Iterator
from datetime import datetime

from config.ops.readings import COUNT_MAX, Reading, read_queue
from config.webhooks.models import PENDING, Delivery, Endpoint, Event


def measure(*, using: str, now: datetime) -> Iterator[Reading]:
    # The index is sorted by account, so the first COUNT_MAX rows may not contain the oldest row.
    unpublished = Event.objects.using(using).filter(sequence=None).order_by("account_id", "id")
    yield from read_queue(
        unpublished, "events_unpublished", "Events that have no sequence number yet.", since="created_at", now=now
    )
    pending = Delivery.objects.using(using).filter(status=PENDING).order_by("due_at")
    yield from read_queue(
        pending, "webhook_deliveries_pending", "Deliveries that are not accepted yet.", since="created_at", now=now
    )
    due_since = pending.values_list("due_at", flat=True).first()
    yield Reading(
        "platform_webhook_deliveries_late_seconds",
        "The time since the oldest due delivery became due, in seconds: the delay of the workers.",
        max(0.0, (now - due_since).total_seconds()) if due_since else 0.0,
    )
    failing = Endpoint.objects.using(using).enabled().filter(failing_since__isnull=False)
    yield Reading(
        "platform_webhook_endpoints_failing",
        f"Endpoints whose last attempts failed. Counted up to {COUNT_MAX}.",
        failing[: COUNT_MAX + 1].count(),
    )


READING = (Event, measure)
