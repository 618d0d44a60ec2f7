"""Recording of events, and the body of deliveries.

Every app calls `record_event` after a change.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Any
from uuid import UUID

import orjson
from django.conf import settings

from config.core.context import request_id
from config.core.json_text import render_json
from config.core.prepared import insert
from config.webhooks.catalogue import event_types
from config.webhooks.models import Event

# An event needs 7 of the 65,535 parameters that PostgreSQL accepts in a statement.
EVENTS_PER_STATEMENT = 1_000
# The documentation guarantees bodies of at most 20 kB. The other fields of an event need a few hundred bytes.
OBJECT_MAX_BYTES = 19_000


def record_event(event_type: str, *, account_id: int, now: datetime, **members: Any) -> UUID:
    """Write an event about a record of `account_id` to the outbox. Return the event's ID.

    `members` are the fields of the event's object: IDs, statuses, and other plain values, never personal data. Call
    this at the end of the transaction of the change. Raises ValueError for an unknown type or an object above
    OBJECT_MAX_BYTES, which are bugs of the caller.
    """
    event = Event(
        account_id=account_id,
        type=event_type,
        object=_object_of(event_type, members),
        request_id=request_id.get(),
        created_at=now,
    )
    insert(event)
    return event.pk


def record_events(event_type: str, *, events: Iterable[tuple[int, Any]], now: datetime) -> None:
    """Write many events of one type in batches. Each event is `(account id, object)`."""
    shared: dict[str, Any] = {"type": event_type, "request_id": request_id.get(), "created_at": now}
    rows = (Event(account_id=account, object=_object_of(event_type, members), **shared) for account, members in events)
    Event.objects.bulk_create(rows, batch_size=EVENTS_PER_STATEMENT)


def _object_of(event_type: str, members: Any) -> Any:
    if event_type not in event_types():
        raise ValueError(f"{event_type!r} is not in the catalogue of events: its app declares it in `event_types`.")
    written = orjson.dumps(members)
    if len(written) > OBJECT_MAX_BYTES:
        raise ValueError(f"The object of {event_type} has {len(written)} bytes; {OBJECT_MAX_BYTES} are allowed.")
    return orjson.Fragment(written)


def event_document(event: Event) -> dict[str, Any]:
    return {
        "id": str(event.pk),
        "type": event.type,
        "created_at": event.created_at,
        "sequence": event.sequence,
        "api_version": settings.API_VERSION,
        "data": {"object": event.object},
        "request_id": event.request_id or None,
    }


def event_body(event: Event) -> bytes:
    """Return the body of an event's deliveries. Every attempt has the same bytes."""
    return render_json(event_document(event))
