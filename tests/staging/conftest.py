"""What the tests of staging share."""

from config.webhooks.models import Event
from staging.models import StagedItem

MISSING = "0193b6c4-7c00-7000-8000-000000000000"


def events_of(user):
    """Return (type, object) of an account's events, in order."""
    return list(Event.objects.filter(account=user).order_by("id").values_list("type", "object"))


def status_of(item):
    """Return the item's status as the database has it."""
    return StagedItem.objects.get(pk=getattr(item, "pk", item)).status


def odd_ids(item):
    """Return spellings that name no item: of its own id, and others."""
    text = str(item.pk)
    return [text.upper(), item.pk.hex, f"{{{text}}}", f"urn:uuid:{text}", "not-a-uuid", "%00", "x" * 4096, MISSING]
