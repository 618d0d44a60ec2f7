from datetime import datetime

from config.core.credentials import AuthenticationRequired, InvalidToken
from config.core.errors import ApiError, NotFound, ValidationFailed
from config.core.json_text import rfc3339
from config.core.lifecycle import InvalidTransition, RecordNotEditable

ATTEMPTS_MAX = 3  # the maximum number of an account's verifications within ATTEMPTS_DAYS
ATTEMPTS_DAYS = 30
# This maps each error code of RFC 6749 to the API's code.
_OAUTH_CODES = {"invalid_client": AuthenticationRequired.code, "invalid_grant": InvalidToken.code}


class NothingToCollect(NotFound):
    message = "You have no rotated key with this id to collect."


class VerificationNotFound(ApiError):
    status, error, code, stored = 404, "verification_not_found", "E4005", True
    message = "Identity verification not found."


class InvalidVerificationTransition(InvalidTransition, RecordNotEditable):
    """The status of the verification, or the caller's role, doesn't permit the transition."""


class TooManyAttempts(ApiError):
    error, code, stored = "too_many_attempts", "E3006", True
    message = (
        f"An account has at most {ATTEMPTS_MAX} attempts at identity verification in {ATTEMPTS_DAYS} days. "
        "Only attempts that the applicant started count."
    )

    @classmethod
    def until(cls, moment: datetime) -> "TooManyAttempts":
        possible = rfc3339(moment)
        return cls(f"{cls.message} The next attempt is possible at {possible}.", details={"next_possible_at": possible})


class BankItemNotFound(ApiError):
    status, error, code = 404, "bank_item_not_found", "E4008"
    message = "No bank is linked. Create a link token, open Plaid Link with the token, and exchange the result."


class RelinkRequired(ApiError):
    status, error, code = 502, "relink_required", "E5004"
    message = "A bank requires a new log-in, or must be linked again. Open Plaid Link with the link token in `details`."


class TokenNotAccepted(ValidationFailed):
    """The vendor or the platform rejects a public token or an access token.

    The error contains the name of the field, never the token.
    """

    def __init__(self, field: str) -> None:
        message = "The vendor does not accept this token."
        super().__init__(f"{field}: {message}", details=[{"field": field, "message": message}])


class AccountNotFound(ApiError):
    status, error, code, stored = 404, "account_not_found", "E4014", True
    message = "You manage no account with this id."


class AccessEnded(ApiError):
    status, error, code = 403, "access_ended", "E2013"
    message = "Your access to this account has ended."


class LogInTooOld(ApiError):
    status, error, code = 403, "log_in_too_old", "E2014"
    message = "This operation requires a log-in of the last 10 minutes. Log in again."


class ErasureNotPossible(ApiError):
    """An erasure has an obstacle; `details.obstacles` has each reason, and an application's next deadline."""

    error, code, stored = "erasure_not_possible", "E3021", True
    message = "The account can't be erased now. `details.obstacles` has the reasons."


class OAuthError(ApiError):
    """An error in the format of RFC 6749, section 5.2, with the API's fields next to `error`."""

    def __init__(self, word: str, status: int, message: str = "") -> None:
        """Set the protocol's error code. The status is 401 for a failed client authentication, otherwise 400."""
        headers = {"WWW-Authenticate": 'Basic realm="oauth"'} if status == AuthenticationRequired.status else None
        super().__init__(
            message or f"The authorization server rejects the request: {word.replace('_', ' ')}.", headers=headers
        )
        self.error = word  # type: ignore[misc]
        self.code = _OAUTH_CODES.get(word, ValidationFailed.code)  # type: ignore[misc]
        self.status = status  # type: ignore[misc]
