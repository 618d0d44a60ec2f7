"""Export and erasure of the notes about an account's records. A note references its record by kind and id."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from django.contrib.admin.models import LogEntry
from django.contrib.contenttypes.models import ContentType

from config.core.casework import Note
from config.core.erasure import CHUNK_ROWS, unkept_rows
from config.core.json_text import render_json
from config.core.privacy import tables_of


def notes_about(user_id: int) -> Iterator[tuple[str, bytes, str]]:
    """Yield the notes about an account's records as files for the account's export."""
    for label, _declaration, rows in tables_of(user_id):
        notes = Note.objects.filter(kind=label.lower())
        if not notes.exists():
            continue
        for keys in _keys_of(rows):
            for note in notes.filter(record_id__in=keys).order_by("pk").iterator():
                content = {"about": note.kind, "record_id": note.record_id, "text": note.text, "at": note.at}
                yield f"notes/{note.pk}.json", render_json(content), Note._meta.label


def erase_texts(user_id: int, *, now: datetime) -> None:
    """Erase the texts of notes and of Django's log entries about an account's records, except for retained records."""
    for label, rows in unkept_rows(user_id, now=now):
        notes = Note.objects.filter(kind=label.lower()).exclude(text="")
        kind = ContentType.objects.get_for_model(rows.model, for_concrete_model=False)
        entries = LogEntry.objects.filter(content_type=kind).exclude(change_message="", object_repr="")
        if notes.exists() or entries.exists():
            for keys in _keys_of(rows):
                notes.filter(record_id__in=keys).update(text="")
                entries.filter(object_id__in=keys).update(change_message="", object_repr="")


def _keys_of(rows: Any) -> Iterator[list[str]]:
    """Yield the primary keys of rows as strings, in chunks of CHUNK_ROWS."""
    keys = [str(key) for key in rows.order_by("pk").values_list("pk", flat=True)]
    for start in range(0, len(keys), CHUNK_ROWS):
        yield keys[start : start + CHUNK_ROWS]
