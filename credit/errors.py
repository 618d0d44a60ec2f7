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


class OfferNotFound(ApiError):
    """No such offer, or not the caller's to change."""

    status, error, code, message, stored = 404, "offer_not_found", "E4004", "There is no such offer.", True


class OfferUnavailable(ApiError):
    error, code, message = "offer_unavailable", "E1011", "The offer is not open to applications."


class ProviderTaken(ApiError):
    status, error, code = 403, "provider_taken", "E2011"
    message = "This provider id belongs to another account."


class InvalidApplicationTransition(InvalidTransition):
    error, code, stored = "invalid_application_transition", "E3001", True
    message = "The application cannot be moved there."
