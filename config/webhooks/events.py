"""Writing events: the one call that every room makes when something happened."""

from datetime import datetime
from typing import Any

from config.api.compiled import CompiledInsert
from config.api.context import request_id
from config.webhooks.models import Event

_insert_event = CompiledInsert(Event)


def record_event(event_type: str, *, account_id: int, now: datetime, **members: Any) -> None:
    """Write an event about one of `account_id`'s records into the outbox.

    `members` become the event's object: ids, statuses and other plain values, never personal data. Call it in the
    transaction of the change, as its last statement.
    """
    _insert_event(
        account_id=account_id,
        type=event_type,
        object=members,
        request_id=request_id.get(),
        created_at=now,
    )
