"""Error responses of the credit packages."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Self

from config.core.credentials import InsufficientScope
from config.core.errors import ApiError, UnsupportedMediaType, ValidationFailed
from config.core.lifecycle import InvalidTransition, ReviewerRequired, SecondFactorRequired
from credit.core.reasons import OTHER, REASONS, Reason, faults_of

if TYPE_CHECKING:
    from credit.core.due import Due


class OfferNotFound(ApiError):
    """The offer doesn't exist, or the caller can't change it."""

    status, error, code, message, stored = 404, "offer_not_found", "E4004", "Offer not found.", True


class OfferUnavailable(ApiError):
    error, code, message = "offer_unavailable", "E1011", "The offer is not open to applications."


class ProviderNotFound(ApiError):
    """The lender doesn't exist, or the caller is not a member of it."""

    status, error, code, message, stored = 404, "provider_not_found", "E4012", "Lender not found.", True


class ProviderTaken(ApiError):
    status, error, code = 403, "provider_taken", "E2011"
    message = "The lender belongs to another account, or your role at the lender does not allow this operation."


class ApplicationNotFound(ApiError):
    """The application doesn't exist, or the caller can't read it."""

    status, error, code, stored = 404, "application_not_found", "E4002", True
    message = "Application not found."


# Operations that read an application can return these errors.
READ_ERRORS: tuple[type[ApiError], ...] = (ApplicationNotFound, SecondFactorRequired)


class NothingToAccept(ApiError):
    error, code, stored = "not_acceptable", "E3011", True
    message = (
        "The application has no terms to accept. Only an approval or an open counteroffer can be accepted, by its "
        "deadline."
    )


class PricingNoticeDue(NothingToAccept):
    stored = False
    message = (
        "A notice about pricing must be delivered before the acceptance (12 CFR 1022.73(c)). Open the notice, or "
        "wait until the lender records its delivery."
    )


class WithdrawalOver(ApiError):
    """The declaration was sent after the withdrawal period. `details` has the last day and the end of the period."""

    error, code, stored = "withdrawal_over", "E3019", True
    message = "The period for withdrawing from the agreement is over."


class PrecontractRequired(ApiError):
    """An acceptance of EU credit lacks the hash of the European information form."""

    error, code = "precontract_required", "E3018"
    message = (
        "`precontract_sha256` must be the hash of the European information form of these terms. Get the form "
        "first: `GET /v1/applications/{application_id}/precontract`."
    )


class TermsChanged(ApiError):
    error, code, stored = "terms_changed", "E3012", True
    message = (
        "`terms_sha256` must be the hash of the current terms. Get them with `GET "
        "/v1/applications/{application_id}/acceptance`."
    )


class InvalidApplicationTransition(InvalidTransition):
    error, code, stored = "invalid_application_transition", "E3001", True
    message = "The application's status does not allow this change. `details.allowed` lists the allowed statuses."


# Operations with which a reviewer decides can return these errors.
DECIDING_ERRORS: tuple[type[ApiError], ...] = (
    ApplicationNotFound, InvalidApplicationTransition, ReviewerRequired, SecondFactorRequired,
)  # fmt: skip


def refusal_of(faults: Sequence[tuple[str, str]]) -> ValidationFailed:
    """Return an error with all faults (JSON pointer and description) as details, and the first fault as message."""
    details = [{"field": pointer, "message": message} for pointer, message in faults]
    return ValidationFailed(": ".join(faults[0]), details=details)


class RequirementsDue(ApiError):
    """The application does not meet the offer's requirements yet. `details` has each missing item by JSON pointer."""

    error, code, stored = "requirements_due", "E1020", True
    message = "The application does not meet all requirements of its offer."

    @classmethod
    def of_each(cls, due: Iterable["Due"]) -> Self:
        return cls(details=[{"field": item.pointer, "message": item.why} for item in due])


class DocumentClosed(ApiError):
    """The document is already accepted, or already has the maximum number of files."""

    error, code, stored = "document_closed", "E3015", True
    message = "The document accepts no more files."


class StorageQuotaExceeded(ApiError):
    """The files of the account, or the files of its drafts, would exceed the size limit with this file."""

    error, code, stored = "storage_quota_exceeded", "E3016", True
    message = "Your files exceed a storage limit. Send a smaller file."


class InfectedFile(ApiError):
    error, code = "infected_file", "E1021"
    message = "The file is infected. It was not stored."


class LockedFile(ValidationFailed):
    message = "The PDF is protected by a password. Print it to a new PDF without a password, and send the new file."


class BrokenFile(ValidationFailed):
    message = "The file is damaged, or only a part of it arrived. Save or scan it again, and send the new file."


class PhonePicture(UnsupportedMediaType):
    message = "This is a HEIC picture, which many computers can't open. Save it as JPEG, and send the new file."


class ReasonsRequired(ApiError):
    """A rejection has no principal reasons, or a decision lacks its required `reason`."""

    error, code = "reasons_required", "E1017"
    message = "The decision requires principal reasons, or a `reason`."


def no_deciding_scope() -> InsufficientScope:
    return InsufficientScope("No scope allows a decision. Use the account's own log-in, or an unrestricted API key.")


def require_specific(reasons: Sequence[Reason], *, has_report: bool, member: str = "metadata.reasons") -> None:
    """Raise ReasonsRequired if reasons are missing, or if a reason has no specific factor (12 CFR 1002.9(b)(2))."""
    details = {"codes": [*REASONS, OTHER]}
    if not reasons:
        raise ReasonsRequired(
            f"`{member}` must have one to four principal reasons, each once, the most important first. A reason is a "
            'code, or {"code": "other", "text": "…"}.',
            details=details,
        )
    if faults := faults_of(reasons, has_report=has_report):
        raise ReasonsRequired(" ".join(faults), details=details)


class PurposeMissing(ApiError):
    """A report request has no permissible purpose."""

    error, code = "purpose_missing", "E1022"
    message = "`purpose` is required: `credit_transaction` or `written_instructions`."


class ReportNotPossible(ApiError):
    """No vendor is configured, or the applicant lacks a name, a birth date, or a valid consent to the report."""

    error, code = "report_not_possible", "E3023"
    message = "No report can be requested about this applicant."


class ReportPending(ApiError):
    """A report is already requested, or a score is waiting for a report."""

    status, error, code = 409, "report_pending", "E3022"
    message = (
        "A report about the applicant is already requested, or a score can't be computed before requested reports "
        "arrive. Wait for the result."
    )


class ReportVendorError(ApiError):
    """The vendor did not accept the request, which had no effect. A new request may succeed."""

    status, error, code = 502, "report_vendor_error", "E5005"
    message = "The vendor of reports did not accept the request. Request the report again later."


class ReportNotFound(ApiError):
    """The application has no such report, or the caller can't read it."""

    status, error, code, stored = 404, "report_not_found", "E4015", True
    message = "Report not found."


class AlreadyProposed(ApiError):
    message = "The application has a proposed decision. Confirm or decline it first."


class TermsRequired(ApiError):
    """An approval lacks the loan's terms, which are required for a listed offer."""

    error, code = "terms_required", "E1018"
    message = (
        "The decision requires the terms of a loan: amount, rate, and term. Missing values come from the application "
        "(amount, term) and from the offer (its lowest rate)."
    )


class TermsOutsideOffer(ApiError):
    error, code = "terms_outside_offer", "E1019"
    message = "The terms must be within the limits of the offer as it was at the submission."


class AprAboveCap(ApiError):
    """The annual percentage rate of a loan or of an offer's example is above the offer's cap."""

    error, code = "apr_above_cap", "E1023"
    message = "The annual percentage rate must not be above the offer's `apr_cap`."


class CounterofferOpen(ApiError):
    status, error, code, stored = 409, "counteroffer_open", "E3013", True
    message = "The application has an open counteroffer. Withdraw it first."


class NotCorrectable(ApiError):
    """The applicant can't report this fact as wrong."""

    error, code = "not_correctable", "E3020"
    message = "The fact can't be corrected."

    @classmethod
    def of(cls, fact: str, allowed: Sequence[str], *, closed: str | None) -> Self:
        """Return the error for a fact. `allowed` are the application's facts that can be corrected.

        `closed` is the application's status if this status allows no correction.
        """
        if closed is not None:
            return cls(f"Values can't be corrected while the application is `{closed}`.")
        if not allowed:
            return cls("The application has no value that can be corrected.")
        why = "`fact` must be a value of the application or of its score"
        return cls(f"{why}, not `{fact}`. Allowed: {', '.join(allowed)}.", details={"allowed": list(allowed)})


class ScoringModelNotFound(ApiError):
    """The model or version doesn't exist, or the caller is not a member of its lender."""

    status, error, code, stored = 404, "scoring_model_not_found", "E4011", True
    message = "Scoring model not found."


class ScoreNotFound(ApiError):
    status, error, code, stored = 404, "score_not_found", "E4013", True
    message = "The application has no score."


class InvalidVersionTransition(InvalidTransition):
    """The version of the scoring model is retired."""

    error, code, stored = "invalid_version_transition", "E3014", True
    message = "The version's status does not allow this change. `details.allowed` lists the allowed statuses."
