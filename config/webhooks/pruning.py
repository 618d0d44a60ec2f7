"""Forgetting deliveries whose story is over. Events are kept: the feed has no gaps."""

from datetime import timedelta

from config.ops import pruning
from config.webhooks.models import DELIVERED, FAILED, Delivery, Endpoint, Event, EventFeed

KEEP_DAYS = 30  # a month in which an accepted or given-up delivery can be looked at and sent again


def register() -> None:
    """Forget deliveries that were accepted or given up, KEEP_DAYS after they were made."""
    pruning.register(
        Delivery,
        "webhook_deliveries",
        lambda now: Delivery.objects.filter(
            status__in=[DELIVERED, FAILED], created_at__lt=now - timedelta(days=KEEP_DAYS)
        ),
    )
    pruning.keeps(Event, "the feed has no gaps")
    pruning.keeps(EventFeed, "one row for each account")
    pruning.keeps(Endpoint, "what was sent names it; a deleted one has no secret any more")
