"""Publishing of events: number the events of an account, and create their deliveries.

# Note [Numbers without a gap]

Transactions can commit in a different order than they began. If the INSERT assigned a number, event 7 could become
visible after event 8, and a reader at event 8 would miss event 7. If writers locked a counter, the writers of an
account would wait for each other. So an event is written without a number. A reader of the feed or a worker locks the
account's `EventFeed`, then numbers the committed events in order of their IDs. Events that become visible later get
larger numbers.

One transaction writes numbers and deliveries. A change of an endpoint acquires the same lock, and first publishes all
earlier events. So a change applies only to later events.
"""

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import models, transaction

from config.core.ids import uuid7
from config.core.leases import contain, update_each
from config.ops.failed_items import ROWS_MAX, FailedItems
from config.ops.models import FailedItem
from config.webhooks.catalogue import TEST
from config.webhooks.events import event_document
from config.webhooks.models import Delivery, Endpoint, Event, EventFeed

KIND = "event"  # the `kind` of dead letters about events
BATCH_EVENTS = 500
FAILURES_MAX = 10  # the maximum attempts to publish an event


def lock_feed(account_id: int) -> EventFeed:
    EventFeed.objects.bulk_create([EventFeed(account_id=account_id)], ignore_conflicts=True)
    return EventFeed.objects.select_for_update().get(pk=account_id)


def publish_account(account_id: int, *, now: datetime, at_least_to: int | None = None) -> None:
    """Publish an account's current events, oldest first, each batch in its own transaction.

    With `at_least_to`, stop when the feed has reached the number `at_least_to`.
    """
    while _unpublished().filter(account_id=account_id).exists():
        with transaction.atomic():
            feed = lock_feed(account_id)
            if at_least_to is not None and feed.last_sequence >= at_least_to:
                return
            if _publish([feed], _unfailed(), now=now) < BATCH_EVENTS:
                return  # later events wait for the next call, so that this loop ends


def publish_in_transaction(account_id: int, *, now: datetime) -> None:
    """Lock an account's feed until the transaction ends, and publish its events."""
    feed = lock_feed(account_id)
    while _publish([feed], _unfailed(), now=now) == BATCH_EVENTS:
        pass


def feed_page(*, account_id: int, after: int, limit: int, now: datetime) -> tuple[list[dict[str, Any]], bool]:
    """Return up to `limit` events after the number `after`, in order, and whether more events follow.

    Committed events are published first, so that the page includes them.
    """
    publish_account(account_id, now=now, at_least_to=after + limit + 1)
    numbered = Event.objects.filter(account_id=account_id, sequence__gt=after)
    events = list(numbered.order_by("sequence")[: limit + 1])
    return [event_document(event) for event in events[:limit]], len(events) > limit


def failed_events() -> FailedItems[Event]:
    return FailedItems(KIND, _unpublished(), lease=timedelta(minutes=1), failures_max=FAILURES_MAX)


def publish_some(items: FailedItems[Event], *, after_account: int, now: datetime) -> tuple[int, int]:
    """Publish suspects, and a batch of events of accounts with IDs above `after_account`.

    Returns the number of published events, and the last processed account (0 if none), which the caller passes to the
    next call. So no account waits for the backlog of another account. Accounts that another process is publishing are
    skipped. If the batch fails, each event is published separately.
    """
    published = 0
    for key in items.suspects(now=now):
        with items.mark([key]):
            published += _publish_event(items, key, now=now)
    waiting = items.takeable(now=now).filter(account_id__gt=after_account).order_by("account_id", "id")
    batch = list(waiting.values_list("id", "account_id")[:BATCH_EVENTS])
    if not batch:
        return published, 0
    keys = [event_id for event_id, _account_id in batch]
    with items.mark(keys):
        try:
            published += _publish_batch(keys, sorted({account_id for _event_id, account_id in batch}), now=now)
        except Exception as error:  # noqa: BLE001  any event may have raised it
            contain(error, KIND, "batch")
            published += sum(_publish_event(items, key, now=now) for key in keys)
    return published, batch[-1][1]


def _publish_batch(keys: Sequence[UUID], accounts: Sequence[int], *, now: datetime) -> int:
    with transaction.atomic():
        EventFeed.objects.bulk_create([EventFeed(account_id=account) for account in accounts], ignore_conflicts=True)
        feeds = EventFeed.objects.select_for_update(skip_locked=True).filter(account_id__in=accounts)
        return _publish(list(feeds.order_by("account_id")), _unpublished().filter(pk__in=keys), now=now)


def _publish_event(items: FailedItems[Event], key: UUID | str, *, now: datetime) -> int:
    published = 0
    with items.attempt(key, now=now), transaction.atomic():
        event = _unpublished().filter(pk=key)
        for account_id in event.values_list("account_id", flat=True):  # empty if another process published the event
            published = _publish([lock_feed(account_id)], event, now=now)
    return published


def _unfailed() -> "models.QuerySet[Event]":
    """Select the events that a request may publish, without failed events, which could kill a server process."""
    failed = list(FailedItem.objects.filter(kind=KIND).values_list("key", flat=True)[:ROWS_MAX])
    return _unpublished().exclude(pk__in=failed) if failed else _unpublished()


def _unpublished() -> "models.QuerySet[Event]":
    return Event.objects.filter(sequence=None)


def _publish(feeds: Sequence[EventFeed], unpublished: "models.QuerySet[Event]", *, now: datetime) -> int:
    """Publish a batch of events of these locked feeds. Return the number of published events."""
    by_account = {feed.account_id: feed for feed in feeds}
    # Run this query under the lock, so that it excludes events that another publisher has numbered.
    unread = unpublished.filter(account_id__in=by_account).defer("request_id", "created_at")
    events = list(unread.order_by("account_id", "id")[:BATCH_EVENTS])
    for event in events:
        feed = by_account[event.account_id]
        feed.last_sequence += 1
        event.sequence = feed.last_sequence
    update_each(Event, match=["id"], change=["sequence"], rows=[(event.pk, event.sequence) for event in events])
    last = [(account_id, by_account[account_id].last_sequence) for account_id in {event.account_id for event in events}]
    update_each(EventFeed, match=["account"], change=["last_sequence"], rows=last)
    Delivery.objects.bulk_create(_deliveries_of(events, now), batch_size=BATCH_EVENTS)
    return len(events)


def _deliveries_of(events: Sequence[Event], now: datetime) -> list[Delivery]:
    enabled = Endpoint.objects.enabled().filter(account__in={event.account_id for event in events})
    endpoints: dict[int, list[Endpoint]] = defaultdict(list)
    for endpoint in enabled.defer("secret", "previous_secret"):
        endpoints[endpoint.account_id].append(endpoint)
    return [
        Delivery(
            id=uuid7(),
            account_id=event.account_id,
            endpoint_id=endpoint.pk,
            event_id=event.pk,
            event_type=event.type,
            due_at=now,
            created_at=now,
        )
        for event in events
        for endpoint in endpoints[event.account_id]
        if _is_told(endpoint, event)
    ]


def _is_told(endpoint: Endpoint, event: Event) -> bool:
    if event.type == TEST:  # only the tested endpoint receives this event
        return bool(event.object["endpoint_id"] == str(endpoint.pk))
    return "*" in endpoint.event_types or event.type in endpoint.event_types
