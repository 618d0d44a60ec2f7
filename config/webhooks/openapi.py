"""The webhooks part of the OpenAPI document: what every endpoint may be told, from the catalogue of events."""

from typing import Any

from config.webhooks.catalogue import EVENT_TYPES

_HEADERS = {
    "webhook-id": "The event's id: the same in every attempt, so that a repeated delivery can be recognised.",
    "webhook-timestamp": "When this attempt was signed, in seconds since 1970 (UTC).",
    "webhook-signature": "`v1,` and the signature in base64; several, separated by blanks, while a secret is replaced.",
}
_ANSWER = "Any status from 200 to 299 says that the event was received. Anything else is tried again later."


def add_webhooks(result: dict[str, Any], **_options: Any) -> dict[str, Any]:
    """Add each type of event as a webhook; the ledger, which tells nobody anything, has none."""
    if "Event" in result["components"]["schemas"]:
        result["webhooks"] = {name: {"post": _operation(name)} for name in EVENT_TYPES}
    return result


def _operation(name: str) -> dict[str, Any]:
    event = EVENT_TYPES[name]
    body = {
        "allOf": [
            {"$ref": "#/components/schemas/Event"},
            {
                "type": "object",
                "properties": {
                    "type": {"const": name, "description": "The type of the event."},
                    "data": {
                        "type": "object",
                        "description": "What it is about.",
                        "required": ["object"],
                        "properties": {"object": {**event.schema, "description": "The record, as it stands now."}},
                    },
                },
            },
        ]
    }
    return {
        "operationId": f"webhook_{name.replace('.', '_')}",
        "tags": ["webhooks"],
        "security": [],
        "summary": event.description,
        "description": "Sent to the endpoints of the account whose record it is, signed as Standard Webhooks has it.",
        "parameters": [
            {"name": header, "in": "header", "required": True, "schema": {"type": "string"}, "description": text}
            for header, text in _HEADERS.items()
        ],
        "requestBody": {"required": True, "content": {"application/json": {"schema": body}}},
        "responses": {"2XX": {"description": _ANSWER}},
    }
