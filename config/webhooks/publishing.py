"""Publishing: numbering an account's events and making the deliveries of each.

# Note [Numbers without a gap]

Transactions commit in another order than they began, so a number taken while writing would show up late: a reader
who has seen 8 and asks for what follows would never see 7. And a counter that every writer locks would make the
writers of one account wait for each other's commits. So an event is written without a number. Whoever wants to read
or deliver (the feed, a worker) locks the account's `EventFeed` first, then looks for events that have no number: what
is found there is committed, and gets the next numbers in order of its id. An event that becomes visible later is found
by a later look and gets a later number. The lock is held for reading and numbering a batch and for nothing else, and
who writes events never takes it.

Numbers and deliveries are written in one transaction: an event with a number has its deliveries. An endpoint that is
made or changed is changed under the same lock, after everything that was there before has been published, so that it
is told about what happens from then on.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import groupby
from operator import attrgetter

from django.db import models, transaction

from config.core import replicas
from config.core.ids import uuid7
from config.webhooks.batches import update_each
from config.webhooks.catalogue import TEST
from config.webhooks.models import Delivery, Endpoint, Event, EventFeed, primary

BATCH_EVENTS = 500


def lock_feed(account_id: int) -> EventFeed:
    """Lock an account's feed until the transaction ends."""
    EventFeed.objects.bulk_create([EventFeed(account_id=account_id)], ignore_conflicts=True)
    return EventFeed.objects.select_for_update().get(pk=account_id)


def publish_account(account_id: int, *, now: datetime, at_least_to: int | None = None) -> None:
    """Publish an account's events, oldest first: all that can be seen, or so many that the last is `at_least_to`.

    Each batch is a transaction of its own.
    """
    while _unpublished().filter(account_id=account_id).exists():
        with transaction.atomic():
            feed = lock_feed(account_id)
            if at_least_to is not None and feed.last_sequence >= at_least_to:
                return
            _publish([feed], now=now)


def publish_in_transaction(account_id: int, *, now: datetime) -> None:
    """Lock an account's feed until the transaction ends, and publish what the account has by then."""
    feed = lock_feed(account_id)
    while _publish([feed], now=now) == BATCH_EVENTS:
        pass


def publish_some(*, after_account: int, now: datetime) -> tuple[int, int]:
    """Publish a batch of events of the accounts that come after `after_account`, in order of their ids.

    Return how many were published, and the last account looked at: 0 when there is none, so that a caller who hands
    it back in walks around all accounts and none waits behind another's backlog. Accounts that somebody else is
    publishing are left to them.
    """
    waiting = (
        _unpublished()
        .filter(account_id__gt=after_account)
        .order_by("account_id", "id")
        .values_list("account_id", flat=True)[:BATCH_EVENTS]
    )
    accounts = sorted(set(waiting))
    if not accounts:
        return 0, 0
    with transaction.atomic():
        EventFeed.objects.bulk_create([EventFeed(account_id=one) for one in accounts], ignore_conflicts=True)
        feeds = list(
            EventFeed.objects.select_for_update(skip_locked=True).filter(account_id__in=accounts).order_by("account_id")
        )
        published = _publish(feeds, now=now)
    return published, accounts[-1]


def _unpublished() -> "models.QuerySet[Event]":
    """Return the events that have no number yet."""
    return Event.objects.using(primary()).filter(sequence=None)


def _publish(feeds: Sequence[EventFeed], *, now: datetime) -> int:
    """Publish a batch of events of accounts whose feeds are locked; return how many."""
    if not feeds:
        return 0
    by_account = {feed.account_id: feed for feed in feeds}
    # Read after the locks were taken: whatever another publisher numbered is no longer among these.
    events = list(
        _unpublished()
        .filter(account_id__in=by_account)
        .defer("request_id", "created_at")
        .order_by("account_id", "id")[:BATCH_EVENTS]
    )
    for account_id, own in groupby(events, key=attrgetter("account_id")):
        feed = by_account[account_id]
        for event in own:
            feed.last_sequence += 1
            event.sequence = feed.last_sequence
    update_each(Event, match=["id"], change=["sequence"], rows=[(event.pk, event.sequence) for event in events])
    counted = {event.account_id for event in events}
    update_each(
        EventFeed,
        match=["account"],
        change=["last_sequence"],
        rows=[(feed.account_id, feed.last_sequence) for feed in feeds if feed.account_id in counted],
    )
    Delivery.objects.bulk_create(_deliveries_of(events, now), batch_size=BATCH_EVENTS)
    # Who is told of an event asks about it at once. What it tells of is committed, so a replica that lacks it will have
    # it by the time this is forgotten; and nobody is told before this transaction commits.
    replicas.remember_writers(counted)
    return len(events)


def _deliveries_of(events: Sequence[Event], now: datetime) -> Iterable[Delivery]:
    """Return a delivery for each event and endpoint that asked for it."""
    accounts = {event.account_id for event in events}
    endpoints: dict[int, list[Endpoint]] = {account: [] for account in accounts}
    for endpoint in (
        Endpoint.objects.using(primary()).enabled().filter(account_id__in=accounts).defer("secret", "previous_secret")
    ):
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
    """Say whether an endpoint is told about an event; a test concerns only the endpoint that is tested."""
    if event.type == TEST:
        return bool(event.object["endpoint_id"] == str(endpoint.pk))
    return endpoint.wants(event.type)
