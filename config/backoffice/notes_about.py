"""Notes about records of people in the copy of their data: a note refers to a record by its id. It is append-only."""

from collections.abc import Iterator

from config.core.casework import Note
from config.core.erasure import CHUNK_ROWS
from config.core.json_text import render_json
from config.core.privacy import tables_of


def notes_about(user_id: int) -> Iterator[tuple[str, bytes, str]]:
    """Yield the notes about an account's records, as parts of the copy."""
    for label, _declaration, rows in tables_of(user_id):
        notes = Note.objects.filter(kind=label.lower())
        if not notes.exists():
            continue
        keys = [str(key) for key in rows.order_by("pk").values_list("pk", flat=True)]
        for start in range(0, len(keys), CHUNK_ROWS):
            for note in notes.filter(record_id__in=keys[start : start + CHUNK_ROWS]).order_by("pk").iterator():
                content = {"about": note.kind, "record_id": note.record_id, "text": note.text, "at": note.at}
                yield f"notes/{note.pk}.json", render_json(content), Note._meta.label
