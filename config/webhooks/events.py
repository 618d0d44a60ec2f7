"""Writing events: the one call that every app makes when something happened."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any
from uuid import UUID

import orjson

from config.api.prepared import insert
from config.core.context import request_id
from config.webhooks.catalogue import EVENT_TYPES
from config.webhooks.models import Event

# Six columns and an id each: well below the 65,535 parameters that PostgreSQL takes in one statement.
EVENTS_PER_STATEMENT = 1_000
# A receiver is promised bodies of at most 20 kB; what stands around the object needs a few hundred bytes.
OBJECT_MAX_BYTES = 19_000


def record_event(event_type: str, *, account_id: int, now: datetime, **members: Any) -> UUID:
    """Write an event about one of `account_id`'s records into the outbox; return its id.

    `members` become the event's object: ids, statuses and other plain values, never personal data. Call it in the
    transaction of the change, as its last statement: it is one INSERT, and the event is told to others when (and only
    if) the transaction commits. Raises ValueError for a type that the catalogue lacks or an object that is too large:
    both are faults of the code that calls.
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
    """Write many events of one type, EVENTS_PER_STATEMENT with each statement; otherwise as `record_event`.

    Each of `events` is the account it is told to and the event's object.
    """
    Event.objects.bulk_create(
        (
            Event(
                account_id=account_id,
                type=event_type,
                object=_object_of(event_type, members),
                request_id=request_id.get(),
                created_at=now,
            )
            for account_id, members in events
        ),
        batch_size=EVENTS_PER_STATEMENT,
    )


def _object_of(event_type: str, members: Any) -> Any:
    """Return an event's object, already written as JSON."""
    if event_type not in EVENT_TYPES:
        raise ValueError(f"{event_type!r} is not in the catalogue of events: its app registers it in `ready()`.")
    written = orjson.dumps(members)
    if len(written) > OBJECT_MAX_BYTES:
        raise ValueError(f"The object of {event_type} has {len(written)} bytes; {OBJECT_MAX_BYTES} are allowed.")
    return orjson.Fragment(written)
