"""The timeline of a record, with entries from all apps.

A record's own admin adds the record's history. Other apps declare sources of entries about the record's account
(`Declarations.timeline_sources`). A source accepts the account's id and a time, and returns the later entries. Every
page with these entries (`about_person`) calls all sources, so a source may make at most one query.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from config.backoffice.html import words
from config.backoffice.people import person_name
from config.core.lifecycle import StatusHistory
from config.core.registration import declared

ENTRIES_MAX = 200  # the timeline has at most this number of the newest entries of a source


@dataclass(frozen=True, slots=True)
class TimelineEntry:
    """An entry of a timeline.

    `claimed` is a text of the client. `actor` and `credential` were authenticated. `status` is displayed as a chip, and
    `details` as an expandable JSON document. `position` (of a transition) and `id` order entries with the same time.
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
    position: int = 0
    id: str = ""


Source = Callable[[int, datetime], Iterable[TimelineEntry]]


def about_person(person_id: int, *, since: datetime) -> Iterator[TimelineEntry]:
    for source in declared("timeline_sources"):
        yield from source(person_id, since)


def history_entries(rows: Iterable[StatusHistory]) -> list[TimelineEntry]:
    return [
        TimelineEntry(
            at=row.changed_at,
            title="Transition to",
            status=row.status,
            text=row.reason or "",
            claimed=row.changed_by,
            actor=person_name(row.principal) if row.principal is not None else "system",
            credential=row.credential,
            details=row.metadata,
            facts=(
                ("from", words(row.previous_status or "")),
                *([("reason code", row.reason_code)] if row.reason_code else []),
            ),
            position=row.position,
            id=str(row.pk),
        )
        for row in rows
    ]


def latest_first(entries: Iterable[TimelineEntry]) -> list[TimelineEntry]:
    return sorted(entries, key=lambda entry: (entry.at, entry.position, entry.id), reverse=True)
