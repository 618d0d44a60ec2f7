"""The timeline of a record, with entries from all apps.

The record's admin adds the record's history. Other apps declare sources of entries about the account
(`Declarations.timeline_sources`). A source accepts the account's ID and a time, and returns later entries. A page calls
all sources, so a source may make only one query.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from config.backoffice.html import words
from config.backoffice.people import person_name
from config.core.lifecycle import StatusHistory
from config.core.registration import declared

# Credentials in words. An entry displays the name of the credential after the words.
_WAYS = {
    "admin": "in the console", "my": "in the browser", "demo": "in the demo", "session": "on the pages for",
    "api_key": "with the API key", "jwt": "with the log-in token", "oauth": "with the app token",
    "invitation": "with the invitation", "password_reset": "with the mailed link for a new password",
    "command": "by the command", "model": "by the scoring model", "provider": "reported by",
}  # fmt: skip
ENTRIES_MAX = 200  # a source contributes at most this number of its newest entries


@dataclass(frozen=True, slots=True)
class TimelineEntry:
    """An entry of a timeline.

    `claimed` is the name that the client sent for the actor. `actor` and `credential` are authenticated. Pages display
    `details` as an expandable JSON document. `position` and `id` order entries with the same time.
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

    @property
    def by(self) -> str:
        """Return the actor, the credential in words, and the name that the client sent for the actor."""
        way = way_in_words(self.credential)
        by = f"{self.actor}, {way}" if way else self.actor
        return f"{by} (the client named “{self.claimed}”)" if self.claimed else by


def way_in_words(credential: str) -> str:
    """Describe an actor's credential in words. For `api_key:42`, this is "with the API key 42"."""
    if credential == "session":
        return "on the account's pages"
    kind, _, name = credential.partition(":")
    own, _, partner = name.partition(" act:")
    way = f"{_WAYS[kind]} {own}".strip() if kind in _WAYS else credential.partition(" act:")[0]
    return f"{way}, by the partner {partner}" if partner else way


def claimed_name(text: str, principal: Any) -> str:
    """Return the name that the client sent for the actor, or "" if it is the account's user name or ID."""
    own = () if principal is None else (str(principal.pk), principal.get_username())
    return "" if text in own else text


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
            claimed=claimed_name(row.changed_by, row.principal) if row.principal is not None else "",
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
