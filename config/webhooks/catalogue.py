"""Every type of event that exists: what it means, and the JSON Schema of the object that it carries.

The app that writes an event registers its type in its `ready()`; receivers read the types, and this is what both can
rely on. An object says which record it is about and how it stands now; whoever wants to know more reads the record.
Members may be added, never taken away, so a schema names what is always there and leaves the rest open.

    catalogue.register(
        "claim", object_of(claim_id=said(UUID, "The claim's id.")), {"created": "A claim was made."}, rank=20
    )
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Schema = dict[str, Any]

TEST, ENDPOINT_DISABLED = "webhook.test", "webhook.endpoint.disabled"

UUID: Schema = {"type": "string", "format": "uuid"}
TEXT: Schema = {"type": "string"}
TEXT_OR_NULL: Schema = {"type": ["string", "null"]}
INT64: Schema = {"type": "integer"}
FLAG: Schema = {"type": "boolean"}


@dataclass(frozen=True, slots=True)
class EventType:
    """A type of event, in the shape in which the interface lists it; the lower the rank, the earlier."""

    name: str
    description: str
    schema: Schema
    rank: int


# In the order of their ranks; complete once every app is ready.
EVENT_TYPES: dict[str, EventType] = {}


def object_of(*, sometimes: Mapping[str, Schema] | None = None, **members: Schema) -> Schema:
    """Return the schema of an object that always has `members`, and some of its types have those in `sometimes`."""
    return {"type": "object", "properties": {**members, **(sometimes or {})}, "required": list(members)}


def one_of(*statuses: str) -> Schema:
    return {"type": "string", "enum": list(statuses)}


def said(schema: Schema, description: str) -> Schema:
    """Return a member's schema with what the member means."""
    return {**schema, "description": description}


def register(family: str, schema: Schema, meanings: Mapping[str, str], *, rank: int) -> None:
    """Add the types `family.word` of an app, each word with what it means; `rank` is the family's place in the list."""
    for word, meaning in meanings.items():
        EVENT_TYPES[f"{family}.{word}"] = EventType(f"{family}.{word}", meaning, schema, rank)
    in_order = sorted(EVENT_TYPES.values(), key=lambda one: one.rank)
    EVENT_TYPES.clear()
    EVENT_TYPES.update({one.name: one for one in in_order})


# The events about endpoints themselves.
register(
    "webhook",
    object_of(endpoint_id=said(UUID, "The endpoint's id.")),
    {"test": "Somebody asked for a test of an endpoint; only that endpoint is told."},
    rank=120,
)
register(
    "webhook.endpoint",
    object_of(
        endpoint_id=said(UUID, "The endpoint's id."),
        status=said(one_of("disabled"), "How it stands now."),
        reason=said(one_of("gone", "failing", "disabled_by_owner", "disabled_by_operator"), "Why it was disabled."),
    ),
    {"disabled": "An endpoint is no longer told about events: read the feed, then enable it again."},
    rank=130,
)
