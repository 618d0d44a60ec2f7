"""Errors that card payments and crypto payments share."""

from config.core.errors import ApiError


class PaymentNotFound(ApiError):
    """No such payment among the caller's own."""

    status, error, code, message, stored = 404, "payment_not_found", "E4010", "There is no such payment.", True
