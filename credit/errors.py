"""Errors that this app answers with."""

from config.core.errors import ApiError
from config.core.lifecycle import InvalidTransition


class ApplicationNotFound(ApiError):
    """No such application, or not one that the caller may see."""

    status, error, code, stored = 404, "application_not_found", "E4002", True
    message = "There is no such application."


class RecordNotEditable(ApiError):
    error, code, stored = "record_not_editable", "E3004", True
    message = "The application's data can no longer change."


class DocumentClosed(ApiError):
    """The document was accepted, or has as many files as it takes."""

    error, code, stored = "document_closed", "E3013", True
    message = "The document takes no more files."


class InfectedFile(ApiError):
    error, code = "infected_file", "E1018"
    message = "The file is infected. It was not kept."


class OfferNotFound(ApiError):
    """No such offer, or not the caller's to change."""

    status, error, code, message, stored = 404, "offer_not_found", "E4004", "There is no such offer.", True


class OfferUnavailable(ApiError):
    error, code, message = "offer_unavailable", "E1011", "The offer is not open to applications."


class ReasonsRequired(ApiError):
    """A rejection without its principal reasons where reviewers decide, or a reopening that needs a reason."""

    error, code = "reasons_required", "E1017"
    message = (
        "`metadata.reasons` must name one to four principal reasons, each once, the most important first: codes, or "
        '{"code": "other", "text": "…"}.'
    )


class NothingToAccept(ApiError):
    error, code, stored = "not_acceptable", "E3011", True
    message = "Only an approved application can be accepted."


class TermsChanged(ApiError):
    error, code, stored = "terms_changed", "E3012", True
    message = "`terms_sha256` is not that of the terms that were approved."


class ProviderNotFound(ApiError):
    """No such provider, or not one that the caller acts for."""

    status, error, code, message, stored = 404, "provider_not_found", "E4012", "There is no such provider.", True


class ScoringModelNotFound(ApiError):
    """No such model or version, or not one of a provider that the caller acts for."""

    status, error, code, stored = 404, "scoring_model_not_found", "E4011", True
    message = "There is no such scoring model."


class ScoreNotFound(ApiError):
    status, error, code, stored = 404, "score_not_found", "E4013", True
    message = "The application has no score."


class ProviderTaken(ApiError):
    status, error, code = 403, "provider_taken", "E2011"
    message = "This provider id belongs to another account."


class InvalidApplicationTransition(InvalidTransition):
    error, code, stored = "invalid_application_transition", "E3001", True
    message = "The application cannot be moved there."


class InvalidVersionTransition(InvalidTransition):
    """A scoring model's version that is retired, or was never published."""

    error, code, stored = "invalid_version_transition", "E3014", True
    message = "The version cannot be moved there."
