"""What of events and deliveries moves with an account's clock, and what goes when it is reset."""

from config.sandbox.records import Reset, SandboxRecords, Timer
from config.webhooks.models import Delivery, Endpoint, Event, EventFeed
from config.webhooks.publishing import lock_feed, publish_in_transaction


def hand_over(going: Reset) -> int:
    """Hand over what was told and to whom; the endpoints are deleted, so that nothing more is sent there.

    Both feeds count from 1 without a gap: the events take their numbers with them, and the account's begins anew.
    """
    publish_in_transaction(going.account_id, now=going.now)
    feed = lock_feed(going.account_id)
    EventFeed.objects.create(account_id=going.keeper_id, last_sequence=feed.last_sequence)
    EventFeed.objects.filter(pk=feed.pk).update(last_sequence=0)
    Endpoint.objects.filter(account_id=going.account_id).end(now=going.now)
    return sum(
        model.objects.filter(account_id=going.account_id).update(account_id=going.keeper_id)
        for model in (Event, Delivery, Endpoint)
    )


RECORDS = SandboxRecords(
    timers=(
        Timer(Delivery, ("due_at", "created_at"), ("account",)),
        Timer(Endpoint, ("previous_secret_until", "failing_since"), ("account",)),
    ),
    tasks=(hand_over,),
)
