"""The kind that staging owns itself: `note`, a text with or without a title."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from config.api.fields import IdField, TextField
from config.api.serializers import RequestSerializer
from config.core.lifecycle import Actor
from staging.models import Note


class NotePayload(RequestSerializer):
    """A note."""

    text = TextField(min_length=1)
    title = IdField(allow_null=True, required=False)


def store_notes(payloads: Sequence[dict[str, Any]], *, actor: Actor, now: datetime) -> list[UUID]:
    """Store approved notes; return their ids."""
    notes = [
        Note(user_id=actor.user.pk, title=payload.get("title"), text=payload["text"], created_at=now)
        for payload in payloads
    ]
    return [note.pk for note in Note.objects.bulk_create(notes)]
