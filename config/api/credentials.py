"""What a request was authenticated with, in the form in which every app sees it."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property

from config.core.errors import ApiError

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})

# What an endpoint may ask for instead of a scope.
PUBLIC = "public"  # nobody needs to say who they are
ANY_CALLER = "any"  # any credential will do
FIRST_PARTY = "first-party"  # the account itself, never something it delegated (decision 9)

# During a key's last days every answer to it says when it ends.
KEY_EXPIRY_NOTICE = timedelta(days=14)


class AuthenticationRequired(ApiError):
    """No credential was sent, or none of a kind that is known."""

    status, error, code = 401, "authentication_required", "E2001"
    message = "Send a bearer token or an API key."


class InvalidToken(ApiError):
    """A bearer token or an API key that is not one of ours, or no longer is."""

    status, error, code, message = 401, "invalid_token", "E2002", "The token is not valid."


class ExpiredToken(ApiError):
    """A token that was ours and has run out."""

    status, error, code, message = 401, "expired_token", "E2003", "The token has expired."


class AmbiguousCredentials(ApiError):
    """Two credentials of different accounts in one request."""

    error, code = "ambiguous_credentials", "E1015"
    message = "Send one credential: these belong to different accounts, or one was sent twice."


@dataclass(frozen=True)
class Credential:
    """One way of being somebody.

    `scopes` is None for a credential that may do whatever its account may: a token of the account's own log-in, or an
    API key made without a list. `delegated` marks tokens that a third party holds on the account's behalf.
    """

    kind: str
    id: str
    user_id: int
    scopes: frozenset[str] | None = None
    delegated: bool = False
    expires_at: datetime | None = None
    second_factor: bool = False  # whether the log-in that it stems from was made with one

    @cached_property
    def label(self) -> str:
        """Name the credential for history rows and logs: its kind and public id, never a secret."""
        return f"{self.kind}:{self.id}"


# What any authenticated request may be refused with; `identity` adds its own.
CALLER_ERRORS: list[type[ApiError]] = [AuthenticationRequired]


def register_caller_errors(*classes: type[ApiError]) -> None:
    """Let the app that authenticates say which errors it may answer with, for the OpenAPI document."""
    CALLER_ERRORS.extend(one for one in classes if one not in CALLER_ERRORS)
