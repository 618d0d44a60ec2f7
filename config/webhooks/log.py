"""Reading: the feed of an account's events, and the log of what was delivered."""

from datetime import datetime
from typing import Any
from uuid import UUID

from config.core.errors import NotFound
from config.core.ids import parse_uuid
from config.webhooks.bodies import event_document
from config.webhooks.models import Delivery, Event, primary
from config.webhooks.publishing import publish_account


def feed_page(*, account_id: int, after: int, limit: int, now: datetime) -> tuple[list[dict[str, Any]], bool]:
    """Return up to `limit` events whose sequence follows `after`, in order, and whether there are more.

    Everything that has been committed is in it: what nobody has published yet is published first.
    """
    publish_account(account_id, now=now, at_least_to=after + limit + 1)
    numbered = Event.objects.using(primary()).filter(account_id=account_id, sequence__gt=after)
    found = list(numbered.order_by("sequence")[: limit + 1])
    return [event_document(event) for event in found[:limit]], len(found) > limit


def find_delivery(text: str, *, account_id: int) -> Delivery:
    """Return an account's delivery by the id in a path; raises NotFound."""
    identifier = parse_uuid(text)
    delivery = Delivery.objects.filter(pk=identifier, account_id=account_id).first() if identifier else None
    if delivery is None:
        raise NotFound("There is no such delivery.")
    return delivery


def delivery_page(
    *,
    account_id: int,
    limit: int,
    offset: int,
    endpoint: UUID | None = None,
    event: str | None = None,
    status: str | None = None,
) -> tuple[list[Delivery], int]:
    """Return a page of an account's deliveries, newest first, and how many there are in all."""
    filters = {"endpoint_id": endpoint, "event_type": event, "status": status}
    given = {name: value for name, value in filters.items() if value is not None}
    found = Delivery.objects.filter(account_id=account_id, **given)
    return list(found.order_by("-id")[offset : offset + limit]), found.count()
