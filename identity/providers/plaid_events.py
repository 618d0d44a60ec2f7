"""Verify that Plaid sent an event. The event's ES256 token contains a hash of the body and the time.

The key is fetched by its ID and cached for 1 hour. To limit requests for forged IDs, an unknown ID is cached for 1
minute.
"""

import time
from collections.abc import Callable
from datetime import datetime
from hashlib import sha256
from hmac import compare_digest
from typing import Any

import jwt
from jwt.algorithms import ECAlgorithm

from config.core.adapters import is_text
from config.core.credentials import InvalidSignature, TimestampOutOfRange
from config.core.json_bodies import parse_json
from config.core.tokens import SIGNATURE_ONLY
from identity.providers.answers import REFERENCE_MAX_LENGTH

ALGORITHM = "ES256"
TOLERANCE_SECONDS = 300
KEY_SECONDS = 3600.0
UNKNOWN_KEY_SECONDS = 60.0
_TOKEN_MAX_LENGTH = 4096
_KEY_ID_MAX_LENGTH = 128
_REMEMBERED_MAX = 256

FetchKey = Callable[[str], dict[str, Any] | None]


_keys: dict[str, tuple[Any, float]] = {}  # key ID → (key or None for an unknown ID, expiry)


def verify_event(token: str, body: bytes, *, now: datetime, fetch_key: FetchKey) -> None:
    """Raise InvalidSignature if `token` does not sign `body`, or TimestampOutOfRange if its time is off by over 5 min.

    `fetch_key` returns the JWK of a key ID, or None. Exceptions of `fetch_key` propagate, so that Plaid sends the event
    again.
    """
    key = _key(_key_id_of(token), fetch_key)
    if key is None:
        raise InvalidSignature("The event is signed with an unknown key.")
    try:
        claims = jwt.decode(token, key, algorithms=[ALGORITHM], options=SIGNATURE_ONLY)
    except (jwt.PyJWTError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise InvalidSignature("The event's signature does not match.") from error
    digest, issued_at = claims.get("request_body_sha256"), claims.get("iat")
    if not isinstance(digest, str) or not compare_digest(digest.encode(), sha256(body).hexdigest().encode()):
        raise InvalidSignature("The event's signature does not match the request body.")
    if type(issued_at) is not int or abs(now.timestamp() - issued_at) > TOLERANCE_SECONDS:
        raise TimestampOutOfRange("The event was signed too long ago.")


def reference_of(body: bytes) -> str | None:
    """Return the verification's ID in an event, or None for another event. Raises MalformedJSON."""
    event = parse_json(body)
    if not isinstance(event, dict) or event.get("webhook_type") != "IDENTITY_VERIFICATION":
        return None
    reference = event.get("identity_verification_id")
    return reference if is_text(reference, REFERENCE_MAX_LENGTH) else None


def _key_id_of(token: str) -> str:
    """Return the key ID from the token's header. The algorithm must be ES256."""
    if not 0 < len(token) <= _TOKEN_MAX_LENGTH:
        raise InvalidSignature("Send the vendor's signature in Plaid-Verification.")
    try:
        header = jwt.get_unverified_header(token)
    except (jwt.PyJWTError, ValueError, TypeError, RecursionError) as error:
        raise InvalidSignature("The event's signature cannot be read.") from error
    key_id = header.get("kid")
    if header.get("alg") != ALGORITHM or not isinstance(key_id, str) or not 0 < len(key_id) <= _KEY_ID_MAX_LENGTH:
        raise InvalidSignature("The vendor does not use this kind of signature.")
    return key_id


def _key(key_id: str, fetch_key: FetchKey) -> Any:
    key, until = _keys.get(key_id, (None, 0.0))
    if until <= time.monotonic():
        document = fetch_key(key_id)
        key = _usable(document) if document is not None else None
        if len(_keys) >= _REMEMBERED_MAX:
            _keys.clear()
        _keys[key_id] = (key, time.monotonic() + (UNKNOWN_KEY_SECONDS if key is None else KEY_SECONDS))
    return key


def _usable(document: dict[str, Any]) -> Any:
    if document.get("expired_at") is not None or document.get("crv") != "P-256":
        return None
    try:
        return ECAlgorithm(ECAlgorithm.SHA256).from_jwk(document)
    except (jwt.PyJWTError, ValueError, TypeError, KeyError):
        return None
