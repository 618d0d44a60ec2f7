"""Errors that only the ledger answers with."""

from config.api.credentials import AuthenticationRequired
from config.api.errors import ApiError


class InvalidHashError(ApiError):
    """The hash in the path is not one (specification section 8: exactly 64 hex characters)."""

    error, code, message = "invalid_hash", "E7001", "A hash has exactly 64 hexadecimal characters."


class LogUnavailableError(ApiError):
    """The log does not sign now: nothing of this request was acknowledged, nothing new was signed."""

    status, error, code = 503, "log_unavailable", "E7002"
    message = "The log cannot sign now. Nothing was acknowledged; try again later."

    def __init__(self, message: str = "") -> None:
        """Ask the caller to come back in some seconds."""
        super().__init__(message, headers={"Retry-After": "5"})


class _InvalidToken:
    """What `identity` registers as its own; service B answers the same without importing it."""

    error, code = "invalid_token", "E2002"


class _ExpiredToken:
    error, code = "expired_token", "E2003"


class _AmbiguousCredentials:
    error, code = "ambiguous_credentials", "E1015"


class InvalidTokenError(_InvalidToken, AuthenticationRequired):
    """A bearer token or key that neither service A issued nor this service lists."""

    message = "The credential is not valid here."


class ExpiredTokenError(_ExpiredToken, AuthenticationRequired):
    """A token of service A that has run out."""

    message = "The token has expired."


class AmbiguousCredentialsError(_AmbiguousCredentials, ApiError):
    """Two credentials of different callers in one request."""

    message = "Send one credential: two of different callers were sent."
