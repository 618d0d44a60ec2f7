"""Define fixtures and helpers for the tests of staging."""

from config.webhooks.models import Event
from staging.models import StagedItem


def events_of(user):
    """Return (type, object) of an account's events, in order."""
    return list(Event.objects.filter(account=user).order_by("id").values_list("type", "object"))


def status_of(item):
    """Return the item's status as stored in the database."""
    return StagedItem.objects.get(pk=getattr(item, "pk", item)).status
