"""The `webhooks` of the OpenAPI document: every event type of the catalog."""

from typing import Any

from config.core.json_text import render_json
from config.core.retries import DELAYS
from config.webhooks.catalogue import TEST, event_types
from config.webhooks.events import event_document
from config.webhooks.models import Event
from config.webhooks.signing import SECRET_PREFIX, signature_headers

# This secret signs the examples, so that receivers can be tested with them.
_SECRET = f"{SECRET_PREFIX}{'A' * 43}="
_CREATED_AT, _SENT_AT = "2026-01-01T00:00:00.000000Z", 1767225605
_EVENT_ID, _REQUEST_ID = "019b7716-7800-7000-8000-000000000001", "019b7716-7800-7000-8000-000000000002"
_HEADERS = {
    "X-Service-Signature": "HMAC-SHA256 of the body in lower-case hex. The key is the whole secret as a string.",
    "webhook-id": "The event's id, which is the same in all deliveries and attempts. Use it to detect duplicates.",
    "webhook-timestamp": "The time of the attempt's signature, in Unix seconds.",
    "webhook-signature": "`v1,` and the signature in base64. During a rotation of the secret, the header contains "
    "several signatures, separated by spaces.",
}
_SENT = (
    "If your feed contains the event, the API sends it to each of your enabled endpoints that subscribe to the event "
    "type. Standard Webhooks defines the signature in `webhook-signature`."
)
_TEST_SENT = (
    "The API sends the event only to the tested endpoint, regardless of its event types. Standard Webhooks defines the "
    "signature in `webhook-signature`."
)
_SIGNED = f"The example headers sign the example body as compact JSON, with the secret `{_SECRET}`."
_ANSWER = (
    "Respond with a status from 200 to 299. If the endpoint returns 410, the API disables the endpoint. If it "
    "returns another status or does not respond, the worker sends the event again later. The worker makes at most "
    f"{len(DELAYS)} attempts."
)


def add_webhooks(result: dict[str, Any], **_options: Any) -> dict[str, Any]:
    """Add each event type as a webhook to the platform's document. The ledger emits no events."""
    if "Event" in result["components"]["schemas"]:
        result["webhooks"] = {name: {"post": _operation(name)} for name in event_types()}
    return result


def _operation(name: str) -> dict[str, Any]:
    event = event_types()[name]
    fields: dict[str, Any] = {"type": name, "object": event.example, "sequence": 1, "created_at": _CREATED_AT}
    example = event_document(Event(id=_EVENT_ID, request_id=_REQUEST_ID, **fields))
    sent = signature_headers(
        message_id=_EVENT_ID,
        timestamp=_SENT_AT,
        body=render_json(example),
        header_secret=_SECRET,
        live_secrets=[_SECRET],
    )
    body = {
        "allOf": [
            {"$ref": "#/components/schemas/Event"},
            {
                "type": "object",
                "properties": {
                    "type": {"const": name, "description": "The type of the event."},
                    "data": {
                        "type": "object",
                        "description": "The record that the event is about.",
                        "required": ["object"],
                        "properties": {
                            "object": {**event.schema, "description": "The ids and the state of the record."}
                        },
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
        "description": f"{_TEST_SENT if name == TEST else _SENT} {_SIGNED}",
        "parameters": [
            {
                "name": header,
                "in": "header",
                "required": True,
                "schema": {"type": "string"},
                "description": text,
                "example": sent[header],
            }
            for header, text in _HEADERS.items()
        ],
        "requestBody": {"required": True, "content": {"application/json": {"schema": body, "example": example}}},
        "responses": {"2XX": {"description": _ANSWER}},
    }
