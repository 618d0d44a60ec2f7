from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction

from config.ops import demo_ids
from config.webhooks.events import record_event
from staging.models import StagedItem
from staging.registry import kinds

_NOTE = {"text": "Request a confirmation of income from the employer.", "title": "To do"}
_CLAIM = {"publication_id": "10.5555/99999999", "claim_type": "contributor", "visibility": "shared"}
_ITEMS: list[tuple[UUID, str, dict[str, Any]]] = [
    (demo_ids.NOTE_TO_APPROVE, "note", _NOTE),
    (demo_ids.NOTE_TO_REJECT, "note", {"text": "Rent is due on the third of each month."}),
    (demo_ids.STAGED_CLAIM, "claim", _CLAIM),
]


@transaction.atomic
def seed(*, consumer: Any, staff: Any, now: datetime) -> None:  # noqa: ARG001  seeds have this signature
    if StagedItem.objects.filter(pk=demo_ids.NOTE_TO_APPROVE).exists():
        return
    for identifier, kind, payload in _ITEMS:
        members = kinds()[kind].payload.read(payload)
        item = StagedItem.of(user_id=consumer.pk, kind=kind, payload=members, source="demo", now=now)
        item.id = identifier
        item.save(force_insert=True)
        record_event("staging.item.staged", account_id=consumer.pk, now=now, **item.event_members())
