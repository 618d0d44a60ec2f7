"""Forgetting deliveries whose story is over. Events are kept: the feed has no gaps."""

from datetime import datetime, timedelta

from config.api.pruning import delete_in_batches
from config.webhooks.models import DELIVERED, FAILED, Delivery

KEEP_DAYS = 30  # a month in which an accepted or given-up delivery can be looked at and sent again


def prune(*, now: datetime) -> dict[str, int]:
    """Forget deliveries that were accepted or given up, KEEP_DAYS after they were made."""
    over = Delivery.objects.filter(status__in=[DELIVERED, FAILED], created_at__lt=now - timedelta(days=KEEP_DAYS))
    return {"webhook_deliveries": delete_in_batches(over)}
