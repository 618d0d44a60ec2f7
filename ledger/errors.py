"""Errors that only the ledger answers with."""

from config.core.errors import ApiError


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
