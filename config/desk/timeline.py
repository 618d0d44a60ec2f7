"""One timeline per record: what happened to it, from every room that knows something.

A record's own admin gives its history; other rooms add what they know without importing each other:

    register("credit.application", payments_of_application)     # in an AppConfig.ready or an admin.py

A source takes the record and returns entries. It is asked on every page view, so it makes one query at most.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Model

from config.lifecycle import StatusHistory

ENTRIES_MAX = 200  # of one source: a record with a longer story shows its latest part


@dataclass(frozen=True, slots=True)
class TimelineEntry:
    """Something that happened at a moment.

    `claimed` is the name that a client gave, `actor` and `credential` are who was authenticated; no client can choose
    those. `status` is shown as a chip, `details` as a JSON document that unfolds.
    """

    at: datetime
    title: str
    status: str = ""
    text: str = ""
    claimed: str = ""
    actor: str = ""
    credential: str = ""
    details: Any = None
    details_title: str = "Metadata"
    facts: tuple[tuple[str, str], ...] = ()
    address: str = ""


Source = Callable[[Any], Iterable[TimelineEntry]]

_sources: dict[str, list[Source]] = {}


def register(model: str, source: Source) -> None:
    """Add a source of entries for records of `model` ("app_label.modelname")."""
    sources = _sources.setdefault(model.lower(), [])
    if source not in sources:
        sources.append(source)


def sources_of(record: Model) -> list[Source]:
    """Return what other rooms registered for this kind of record."""
    return _sources.get(record._meta.label_lower, [])


def history_entries(rows: Iterable[StatusHistory]) -> list[TimelineEntry]:
    """Return a record's moves as entries."""
    return [
        TimelineEntry(
            at=row.changed_at,
            title="Moved",
            status=row.status,
            text=row.reason or "",
            claimed=row.changed_by,
            actor=str(row.principal) if row.principal is not None else "system",
            credential=row.credential,
            details=row.metadata,
            facts=(("from", row.previous_status),),
        )
        for row in rows
    ]


def timeline_of(record: Model, own: Iterable[TimelineEntry]) -> list[TimelineEntry]:
    """Return everything that is known to have happened to `record`, latest first."""
    entries = list(own)
    for source in sources_of(record):
        entries += source(record)
    return sorted(entries, key=lambda entry: entry.at, reverse=True)
