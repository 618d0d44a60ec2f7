"""Every type of event: its meaning, and the JSON Schema of its object.

The app that writes an event declares its type (`Declarations.event_types`); receivers read the types, and this is what
both can rely on. An object identifies its record and that record's status; the record itself has the details. Fields
may be added, never removed, so a schema lists the permanent fields and allows others.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from config.core.registration import declared
from config.ops import demo_ids

Schema = dict[str, Any]

TEST, ENDPOINT_DISABLED = "webhook.test", "webhook.endpoint.disabled"

UUID: Schema = {"type": "string", "format": "uuid"}
TEXT: Schema = {"type": "string"}
TEXT_OR_NULL: Schema = {"type": ["string", "null"]}
INT64: Schema = {"type": "integer"}
FLAG: Schema = {"type": "boolean"}


@dataclass(frozen=True, slots=True)
class EventType:
    """A type of event, as the API lists it; `example` is an object of it."""

    name: str
    description: str
    schema: Schema
    example: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class EventFamily:
    """The types `name.word` of an app, each word with its meaning; types with a lower rank are listed first.

    `example` is an object of the family but for its status, which is the word where `statuses` names no other.
    """

    name: str
    schema: Schema
    meanings: Mapping[str, str]
    example: Mapping[str, Any]
    rank: int
    statuses: Mapping[str, str] = field(default_factory=dict)

    def type_of(self, word: str) -> EventType:
        has_status = "status" in self.schema["required"] and "status" not in self.example
        status = {"status": self.statuses.get(word, word)} if has_status else {}
        return EventType(f"{self.name}.{word}", self.meanings[word], self.schema, {**self.example, **status})


@cache
def event_types() -> dict[str, EventType]:
    """Return every type by its name, in the order of ranks."""
    families: list[EventFamily] = sorted(declared("event_types"), key=lambda family: family.rank)
    types = [family.type_of(word) for family in families for word in family.meanings]
    return {one.name: one for one in types}


def object_of(*, sometimes: Mapping[str, Schema] | None = None, **members: Schema) -> Schema:
    """Return the schema of an object that always has `members`, and some of its types have those in `sometimes`."""
    return {"type": "object", "properties": {**members, **(sometimes or {})}, "required": list(members)}


def one_of(*statuses: str) -> Schema:
    return {"type": "string", "enum": list(statuses)}


def said(schema: Schema, description: str) -> Schema:
    """Return a member's schema with what the member means."""
    return {**schema, "description": description}


# The events about endpoints themselves.
FAMILIES = (
    EventFamily(
        "webhook",
        object_of(endpoint_id=said(UUID, "The endpoint's id.")),
        {"test": "A test delivery was requested. Only the tested endpoint gets it."},
        {"endpoint_id": str(demo_ids.ENDPOINT)},
        rank=120,
    ),
    EventFamily(
        "webhook.endpoint",
        object_of(
            endpoint_id=said(UUID, "The endpoint's id."),
            status=said(one_of("disabled"), "The endpoint's current status."),
            reason=said(
                one_of("gone", "failing", "disabled_by_owner", "disabled_by_operator", "disabled_by_password_reset"),
                "The reason.",
            ),
        ),
        {"disabled": "An endpoint was disabled. Read the feed, then enable the endpoint."},
        {"endpoint_id": str(demo_ids.ENDPOINT), "reason": "failing"},
        rank=130,
    ),
)
