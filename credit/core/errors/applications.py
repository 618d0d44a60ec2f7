from collections.abc import Sequence

from config.core.errors import ApiError, ValidationFailed
from config.core.lifecycle import InvalidTransition, SecondFactorRequired


class ApplicationNotFound(ApiError):
    """No such application, or not one that the caller may see."""

    status, error, code, stored = 404, "application_not_found", "E4002", True
    message = "Application not found."


# Errors of reading an application, one's own or another person's.
READ_ERRORS: tuple[type[ApiError], ...] = (ApplicationNotFound, SecondFactorRequired)


class NothingToAccept(ApiError):
    error, code, stored = "not_acceptable", "E3011", True
    message = "Only an approval, or a counteroffer in time, can be accepted."


class PricingNoticeDue(NothingToAccept):
    stored = False
    message = (
        "A notice about pricing must be delivered before the acceptance (12 CFR 1022.73(c)). Open it, or wait until "
        "the lender records its delivery."
    )


class TermsChanged(ApiError):
    error, code, stored = "terms_changed", "E3012", True
    message = "`terms_sha256` is not that of the terms that were approved."


class InvalidApplicationTransition(InvalidTransition):
    error, code, stored = "invalid_application_transition", "E3001", True
    message = "The application cannot be moved there."


def refusal_of(faults: Sequence[tuple[str, str]]) -> ValidationFailed:
    """Return the error that names every fault, its JSON pointer and what is wrong there, and says the first."""
    details = [{"field": pointer, "message": message} for pointer, message in faults]
    return ValidationFailed(": ".join(faults[0]), details=details)
