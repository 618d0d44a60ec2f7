"""The event types, with the meaning and the JSON Schema of each type.

The app that records an event declares its type (`Declarations.event_types`). An event's object contains the ID and the
status of a record. Later versions may add fields, but never remove fields, so a schema allows additional fields.
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
    """An event type in the API's format. `example` is an example of the type's object."""

    name: str
    description: str
    schema: Schema
    example: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class EventFamily:
    """The event types `name.word` of an app, with a meaning for each word.

    Families with lower ranks are listed first. `example` is an example of the object without the status. `statuses`
    maps a word to the object's status, if the status differs from the word.
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
    families: list[EventFamily] = sorted(declared("event_types"), key=lambda family: family.rank)
    types = [family.type_of(word) for family in families for word in family.meanings]
    return {event_type.name: event_type for event_type in types}


def object_of(*, sometimes: Mapping[str, Schema] | None = None, **members: Schema) -> Schema:
    """Return the schema of an object. `members` are always present.

    The fields in `sometimes` are present only in some event types.
    """
    return {"type": "object", "properties": {**members, **(sometimes or {})}, "required": list(members)}


def one_of(*statuses: str) -> Schema:
    return {"type": "string", "enum": list(statuses)}


def said(schema: Schema, description: str) -> Schema:
    return {**schema, "description": description}


FAMILIES = (
    EventFamily(
        "webhook",
        object_of(endpoint_id=said(UUID, "The endpoint's id.")),
        {"test": "A test delivery was requested. Other endpoints do not get the event."},
        {"endpoint_id": str(demo_ids.ENDPOINT)},
        rank=120,
    ),
    EventFamily(
        "webhook.endpoint",
        object_of(
            endpoint_id=said(UUID, "The endpoint's id."),
            status=said(one_of("disabled"), "The endpoint's status at the time of the event."),
            reason=said(
                one_of("gone", "failing", "disabled_by_owner", "disabled_by_operator", "disabled_by_password_reset"),
                "The reason why the endpoint was disabled.",
            ),
        ),
        {"disabled": "An endpoint was disabled. Enable the endpoint, and then get the missed events from the feed."},
        {"endpoint_id": str(demo_ids.ENDPOINT), "reason": "failing"},
        rank=130,
    ),
)
