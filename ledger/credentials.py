"""Authorize writes in production with a token of service A, a listed key, or service A's own key.

Service B has no accounts. It verifies service A's access tokens with A's published public keys, and checks with A that
a token is still valid. `LEDGER_API_KEYS` lists the SHA-256 of machine keys. In development, only reports with a type of
the platform's own records require a credential.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings

from config.core.credentials import (
    AmbiguousCredentials,
    AuthenticationRequired,
    ExpiredToken,
    InsufficientScope,
    InvalidToken,
)
from config.core.errors import UserMismatch
from config.core.names import skeleton
from config.core.tokens import verify_access_token
from ledger import service_a

# The report types of service A's own records. Anchoring these types requires a key of LEDGER_API_KEYS or
# LEDGER_CLIENT_KEY.
PLATFORM_TYPES = frozenset({
    "application_decision", "acceptance", "scoring_model_version", "notice", "record_key", "release",
    "contract_withdrawal",
})  # fmt: skip
_PLATFORM_SKELETONS = frozenset(map(skeleton, PLATFORM_TYPES))
ANCHOR_SCOPE = "identity:write"
LIST_SCOPE = "identity:read"
# Service B does not accept signed requests, so their errors are excluded.
CALLER_ERRORS = (AuthenticationRequired, InvalidToken, ExpiredToken, AmbiguousCredentials)


@dataclass(frozen=True)
class Caller:
    """The caller of a request. `user_id` is None for a listed key, and in development."""

    label: str
    user_id: str | None = None
    is_staff: bool = False
    is_platform: bool = False
    scopes: frozenset[str] | None = None

    def allows(self, scope: str) -> bool:
        """Check whether the credential has the scope. A first-party token and a listed key have all scopes."""
        return self.scopes is None or scope in self.scopes

    def check(self, user_id: str, scope: str) -> None:
        """Raise InsufficientScope or UserMismatch if the caller may not act for the user with this scope."""
        if not self.allows(scope):
            raise InsufficientScope(f"This operation requires the scope {scope}.", details={"required": scope})
        if self.user_id is not None and user_id != self.user_id and not self.is_staff:
            raise UserMismatch

    def check_anchoring(self, item: Mapping[str, Any]) -> None:
        """Raise InsufficientScope or UserMismatch if the caller may not anchor this `user_id` and `report_type`."""
        self.check(item["user_id"], ANCHOR_SCOPE)
        kind = item["report_type"]
        if skeleton(kind) in _PLATFORM_SKELETONS and not self.is_platform:
            raise InsufficientScope(
                f"Only the platform can anchor reports of the type {kind}. Send another `report_type`.",
                details={"report_type": kind},
            )


ANYBODY = Caller("development")


def identify(meta: Mapping[str, Any]) -> Caller | None:
    """Return the caller from the headers in `meta`, a WSGI environment. Without a credential, return None.

    Raises InvalidToken, ExpiredToken, and AmbiguousCredentials. Raises Unavailable if service A can't be reached.
    """
    authorization, key = meta.get("HTTP_AUTHORIZATION"), meta.get("HTTP_X_API_KEY")
    callers = []
    if authorization is not None:
        callers.append(_by_authorization(authorization))
    if key is not None:
        if "," in key:  # a server may join repeated headers with a comma
            raise AmbiguousCredentials("Send one X-API-Key header.")
        callers.append(_by_key(key))
    if len({caller.label for caller in callers}) > 1:
        raise AmbiguousCredentials
    return callers[0] if callers else None


def _by_authorization(header: str) -> Caller:
    # A server may join repeated headers with a comma.
    if "," in header:
        raise AmbiguousCredentials("Send one Authorization header.")
    scheme, _, text = header.partition(" ")
    text = text.lstrip(" ")  # RFC 9110, 11.4, allows one or more spaces
    if scheme.lower() != "bearer":
        raise AuthenticationRequired("Send `Authorization: Bearer` or `X-API-Key`.")
    return _by_token(text) if text.count(".") == 2 else _by_key(text)


def _by_key(text: str) -> Caller:
    caller = listed(text)
    if caller is None:
        raise InvalidToken
    return caller


def listed(text: str) -> Caller | None:
    """Return the caller for a key in `LEDGER_API_KEYS` or service A's own key. Returns None for any other string."""
    # Digests are compared, so that the response time reveals nothing about a key.
    digest, own = _digest(text), settings.LEDGER_CLIENT_KEY
    if digest not in settings.LEDGER_API_KEYS and not (own and digest == _digest(own)):
        return None
    return Caller(f"key:{digest[:16]}", is_platform=True)


def _digest(key: str) -> str:
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).hexdigest()


def _by_token(text: str) -> Caller:
    claims = verify_access_token(text, issuer=settings.BASE_URL, find_key=service_a.published_keys.find)
    user_id, scope = claims["sub"], claims.get("scope")
    is_staff = service_a.introspection.check(text, user_id) and claims.get("staff") is True
    # A client's token without a scope permits nothing. A log-in's token without a scope permits everything.
    may_all = scope is None and "client_id" not in claims
    scopes = None if may_all else frozenset((scope or "").split())
    return Caller(f"user:{user_id}", user_id, is_staff=is_staff, scopes=scopes)
