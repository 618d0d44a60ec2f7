"""Authorization of writes in production: holders of a token of service A, of a listed key, or of service A's own.

Service B has no accounts. It verifies service A's access tokens with the public keys that A publishes, asks A whether
they still count, and knows machine keys only by the SHA-256 in `LEDGER_API_KEYS`. In development writing is open, but
for the types of the platform's own records.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings

from config.core.credentials import AmbiguousCredentials, AuthenticationRequired, InsufficientScope, InvalidToken
from config.core.errors import UserMismatch
from config.core.names import skeleton
from config.core.tokens import verify_access_token
from ledger import service_a

# Service A's own records. An entry of such a type was made by the platform.
PLATFORM_TYPES = frozenset({
    "application_decision", "acceptance", "scoring_model_version", "notice", "record_key", "release",
    "contract_withdrawal",
})  # fmt: skip
_PLATFORM_SKELETONS = frozenset(map(skeleton, PLATFORM_TYPES))
ANCHOR_SCOPE = "identity:write"
LIST_SCOPE = "identity:read"


@dataclass(frozen=True)
class Caller:
    """The caller. `user_id` is None for a listed key, and in development."""

    label: str
    user_id: str | None = None
    is_staff: bool = False
    is_platform: bool = False
    scopes: frozenset[str] | None = None

    def allows(self, scope: str) -> bool:
        """Whether the credential carries the scope; a first-party token and a listed key carry all."""
        return self.scopes is None or scope in self.scopes

    def check(self, user_id: str, scope: str) -> None:
        """Raise InsufficientScope or UserMismatch unless the caller may do this for the user."""
        if not self.allows(scope):
            raise InsufficientScope(f"This needs the scope {scope}.", details={"required": scope})
        if self.user_id is not None and user_id != self.user_id and not self.is_staff:
            raise UserMismatch

    def check_anchoring(self, item: Mapping[str, Any]) -> None:
        """Raise InsufficientScope or UserMismatch unless the caller may anchor this, with `user_id`, `report_type`."""
        self.check(item["user_id"], ANCHOR_SCOPE)
        kind = item["report_type"]
        if skeleton(kind) in _PLATFORM_SKELETONS and not self.is_platform:
            raise InsufficientScope(
                f"Only the platform anchors under the report type {kind}. Choose another.",
                details={"report_type": kind},
            )


ANYBODY = Caller("development")


def identify(meta: Mapping[str, Any]) -> Caller | None:
    """The caller that the headers (as WSGI environment) name, or None without a credential.

    Raises InvalidToken, ExpiredToken, AmbiguousCredentials, or Unavailable when service A cannot be asked.
    """
    authorization, key = meta.get("HTTP_AUTHORIZATION"), meta.get("HTTP_X_API_KEY")
    callers = []
    if authorization is not None:
        callers.append(_by_authorization(authorization))
    if key is not None:
        callers.append(_by_key(key))
    if len({caller.label for caller in callers}) > 1:
        raise AmbiguousCredentials
    return callers[0] if callers else None


def _by_authorization(header: str) -> Caller:
    # A server may join two headers with a comma.
    if "," in header:
        raise AmbiguousCredentials("Send one Authorization header.")
    scheme, _, text = header.partition(" ")
    text = text.lstrip(" ")  # RFC 9110, 11.4: one or more spaces
    if scheme.lower() != "bearer":
        raise AuthenticationRequired("Send `Authorization: Bearer` or `X-API-Key`.")
    return _by_token(text) if text.count(".") == 2 else _by_key(text)


def _by_key(text: str) -> Caller:
    caller = listed(text)
    if caller is None:
        raise InvalidToken
    return caller


def listed(text: str) -> Caller | None:
    """The caller whose key this is, of `LEDGER_API_KEYS` or service A's own; None for any other text."""
    # Digests, not keys, are compared: how long that takes tells nothing about any key.
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
    # A client's token without a scope may do nothing, a log-in's own token everything.
    may_all = scope is None and "client_id" not in claims
    scopes = None if may_all else frozenset((scope or "").split())
    return Caller(f"user:{user_id}", user_id, is_staff=is_staff, scopes=scopes)
