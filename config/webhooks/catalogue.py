"""Every type of event that exists: what it means, and the JSON Schema of the object that it carries.

The rooms write events, receivers read them, and this is what both can rely on. An object says which record it is
about and how it stands now; whoever wants to know more reads the record. Members may be added, never taken away, so a
schema names what is always there and leaves the rest open.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

Schema = dict[str, Any]

TEST, ENDPOINT_DISABLED = "webhook.test", "webhook.endpoint.disabled"

_UUID: Schema = {"type": "string", "format": "uuid"}
_TEXT: Schema = {"type": "string"}
_TEXT_OR_NULL: Schema = {"type": ["string", "null"]}
_INT64: Schema = {"type": "integer"}
_FLAG: Schema = {"type": "boolean"}


@dataclass(frozen=True, slots=True)
class EventType:
    """A type of event, in the shape in which the interface lists it."""

    name: str
    description: str
    schema: Schema


def _object(*, sometimes: dict[str, Schema] | None = None, **members: Schema) -> Schema:
    """Return the schema of an object that always has `members`, and some of its types have those in `sometimes`."""
    return {"type": "object", "properties": {**members, **(sometimes or {})}, "required": list(members)}


def _one_of(*statuses: str) -> Schema:
    """Return the schema of a status."""
    return {"type": "string", "enum": list(statuses)}


_APPLICATION = _object(application_id=_UUID, status=_TEXT, offer_id=_INT64, provider_id=_INT64)
_CLAIM = _object(claim_id=_UUID, status=_TEXT, verification_level=_TEXT, visibility=_TEXT)
_OFFER = _object(offer_id=_TEXT, provider_id=_TEXT, version=_INT64, is_active=_FLAG)
_VERIFICATION = _object(verification_id=_UUID, status=_TEXT, attempt=_INT64)
_PAYMENT = _object(payment_id=_INT64, status=_TEXT)
_CRYPTO_PAYMENT = _object(
    payment_id=_UUID, status=_TEXT, sometimes={"network": _TEXT, "tx_hash": _TEXT_OR_NULL, "simulated": _FLAG}
)
_WALLET = _object(
    wallet_id=_UUID,
    sometimes={
        "kind": _TEXT,
        "network": _TEXT,
        "status": _TEXT,
        "is_default": _FLAG,
        "previous_wallet_id": {"type": ["string", "null"], "format": "uuid"},
    },
)
_STAGED = _object(item_id=_UUID, kind=_TEXT, status=_TEXT)
_KEY = _object(api_key_id=_TEXT, sometimes={"replaces": _TEXT, "expires_at": {"type": "string", "format": "date-time"}})

# (name up to the last dot, schema of all, last words with what they mean)
_FAMILIES: tuple[tuple[str, Schema, dict[str, str]], ...] = (
    (
        "application",
        _APPLICATION,
        {
            "created": "An application was made.",
            "updated": "An application's data or notes were replaced.",
            "submitted": "An application was submitted.",
            "under_review": "An application is being reviewed, for the first time or again.",
            "pending_documents": "An application waits for documents.",
            "approved": "An application was approved.",
            "rejected": "An application was rejected.",
            "withdrawn": "An application was withdrawn.",
            "expired": "An application expired because nobody took it up.",
        },
    ),
    (
        "claim",
        _CLAIM,
        {
            "created": "A publication claim was made.",
            "updated": "A claim's evidence, notes, level or visibility changed.",
            "pending": "A claim waits for a decision.",
            "approved": "A claim was approved.",
            "disputed": "A claim is disputed.",
            "revoked": "A claim was revoked.",
            "draft": "A claim went back to its author.",
            "deleted": "A claim was deleted.",
        },
    ),
    (
        "offer",
        _OFFER,
        {
            "created": "An offer was made.",
            "updated": "An offer has a new version.",
            "deactivated": "An offer is no longer made.",
        },
    ),
    (
        "kyc.verification",
        _VERIFICATION,
        {
            "created": "An identity verification was started.",
            "updated": "An identity verification moved to another status.",
        },
    ),
    ("bankdata.item", _object(item_id=_TEXT, provider=_TEXT), {"linked": "An account at a bank was linked."}),
    (
        "payment",
        _PAYMENT,
        {
            "completed": "A card payment was completed.",
            "failed": "A card payment failed; nothing was charged.",
            "unknown": "The processor's answer to a card payment is missing; it will be asked again.",
        },
    ),
    (
        "payment.crypto",
        _CRYPTO_PAYMENT,
        {
            "initiated": "A crypto payment waits for its signature.",
            "submitted": "A signed transaction was handed to the network.",
            "confirmed": "A transaction is settled.",
            "failed": "A transaction failed on the network.",
            "expired": "A crypto payment was not signed in time.",
        },
    ),
    ("payment_method", _object(payment_method_id=_UUID), {"added": "A payment method was added."}),
    (
        "wallet",
        _WALLET,
        {
            "connected": "A wallet was connected.",
            "default_changed": "Another wallet is the default.",
            "disconnected": "A wallet's reference was removed; no funds moved.",
        },
    ),
    (
        "staging.item",
        _STAGED,
        {
            "staged": "An item waits for its owner's decision.",
            "approved": "An item was approved and stored.",
            "rejected": "An item was rejected.",
            "expired": "An item expired undecided.",
        },
    ),
    (
        "api_key",
        _KEY,
        {
            "created": "An API key was made.",
            "rotated": "An API key has a successor.",
            "revoked": "An API key was revoked.",
            "expiring": "An API key expires soon.",
        },
    ),
    (
        "webhook",
        _object(endpoint_id=_UUID),
        {"test": "Somebody asked for a test of an endpoint; only that endpoint is told."},
    ),
    (
        "webhook.endpoint",
        _object(
            endpoint_id=_UUID,
            status=_one_of("disabled"),
            reason=_one_of("gone", "failing", "disabled_by_owner", "disabled_by_operator"),
        ),
        {"disabled": "An endpoint is no longer told about events: read the feed, then enable it again."},
    ),
)


def _types() -> Iterator[EventType]:
    """Yield every type."""
    for family, schema, words in _FAMILIES:
        for word, description in words.items():
            yield EventType(f"{family}.{word}", description, schema)


EVENT_TYPES: dict[str, EventType] = {one.name: one for one in _types()}
