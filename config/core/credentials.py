"""The credential of a request, and the errors of authentication and of missing scopes."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property

from config.core.errors import ApiError

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})

# An endpoint declares either a scope or one of these access rules.
PUBLIC = "public"  # no credential is required
ANY_CALLER = "any"  # any valid credential is sufficient
FIRST_PARTY = "first-party"  # the account itself, never a delegated credential
LOG_IN = "log-in"  # the account itself, logged in: no key is accepted

# If the key of a request expires within this time, the response has a header with the expiry.
KEY_EXPIRY_NOTICE = timedelta(days=14)
SIGNATURE_TOLERANCE_SECONDS = 300


class AuthenticationRequired(ApiError):
    status, error, code = 401, "authentication_required", "E2001"
    message = "Send a bearer token or an API key."


class InvalidToken(ApiError):
    status, error, code = 401, "invalid_token", "E2002"
    message = "The token is not valid. Refresh it, or log in again."


class ExpiredToken(ApiError):
    status, error, code, message = 401, "expired_token", "E2003", "The token has expired. Refresh it, or log in again."


class AmbiguousCredentials(ApiError):
    error, code = "ambiguous_credentials", "E1015"
    message = "The credentials belong to different accounts, or a credential was sent twice. Send one credential."


class InsufficientScope(ApiError):
    status, error, code = 403, "insufficient_scope", "E2005"
    message = "The credential lacks the required scope, or the account lacks the required permission."

    @classmethod
    def lacking(cls, access: str) -> "InsufficientScope":
        if access == FIRST_PARTY:
            return cls(
                "No scope covers this operation. Send a token of the account's own log-in, or an unrestricted API key."
            )
        if access == LOG_IN:
            return cls("API keys and apps can't use this operation. Send a token of the account's own log-in.")
        return cls(
            f"This operation requires the scope `{access}`. The credential does not have it.",
            details={"required": access},
        )


class KeyExpiredOrRevoked(ApiError):
    status, error, code = 401, "key_expired_or_revoked", "E2009"
    message = "The API key has expired, or was revoked or suspended. Create a key, or confirm it at /developers/keys."


class InvalidSignature(ApiError):
    status, error, code = 401, "invalid_signature", "E2006"
    message = "The request signature does not match the request and the secret. Sign the exact bytes that you send."


class SignatureReplayed(ApiError):
    status, error, code = 401, "signature_replayed", "E2007"
    message = (
        "This signed request was received before (replay protection). Sign a new request. If the operation accepts an "
        "Idempotency-Key, you can also repeat this request with the same key."
    )


class TimestampOutOfRange(ApiError):
    status, error, code = 401, "timestamp_out_of_range", "E2008"
    message = f"X-Service-Timestamp must be Unix seconds within {SIGNATURE_TOLERANCE_SECONDS} s of the server's clock."


# Errors that any authenticated request can return.
CALLER_ERRORS: tuple[type[ApiError], ...] = (
    AuthenticationRequired,
    InvalidToken,
    ExpiredToken,
    AmbiguousCredentials,
    KeyExpiredOrRevoked,
    InvalidSignature,
    SignatureReplayed,
    TimestampOutOfRange,
)


@dataclass(frozen=True)
class Credential:
    """The authenticated credential of a request.

    `scopes` is None for an unrestricted credential: a token of the account's own log-in, or an API key without a list
    of scopes. `client_id` is the app whose token acts on behalf of the account. `actor_id` is the partner whose token
    acts on behalf of a customer.
    """

    kind: str
    id: str
    user_id: int
    scopes: frozenset[str] | None = None
    client_id: str | None = None
    expires_at: datetime | None = None
    actor_id: int | None = None
    second_factor: bool = False  # True if the log-in used a second factor

    @property
    def delegated(self) -> bool:
        return self.client_id is not None or self.actor_id is not None

    @property
    def is_first_party(self) -> bool:
        return self.scopes is None and not self.delegated

    def carries(self, access: str) -> bool:
        if access == FIRST_PARTY:
            return self.is_first_party
        if access == LOG_IN:
            return self.is_first_party and self.kind == "jwt"
        return access in {PUBLIC, ANY_CALLER} or self.scopes is None or access in self.scopes

    @cached_property
    def label(self) -> str:
        """Return the credential's name for history rows and logs: kind, public id, and the partner that acts."""
        named = f"{self.kind}:{self.id}"
        return named if self.actor_id is None else f"{named} act:{self.actor_id}"
