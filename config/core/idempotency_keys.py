"""The Idempotency-Key of a request."""

import re
from datetime import timedelta
from math import ceil
from uuid import UUID

from django.http import HttpRequest

from config.core.errors import ApiError

_KEY = re.compile(r'("?)([0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12})\1', re.ASCII)


class InvalidIdempotencyKey(ApiError):
    error, code, message = "invalid_idempotency_key", "E1008", "Idempotency-Key must be one UUID."


class RequestInProgress(ApiError):
    status, error, code = 409, "request_in_progress", "E3010"
    message = "The first request with this Idempotency-Key is still running. Retry later."

    def __init__(self, *, wait: timedelta = timedelta(seconds=1)) -> None:
        super().__init__(headers={"Retry-After": str(max(1, ceil(wait.total_seconds())))})


def read_key(request: HttpRequest) -> UUID | None:
    """Return the key from the header, or None if the header is missing. Raises InvalidIdempotencyKey.

    Quotes and upper case are allowed.
    """
    raw = request.META.get("HTTP_IDEMPOTENCY_KEY")
    if raw is None:
        return None
    match = _KEY.fullmatch(raw)
    if match is None:
        raise InvalidIdempotencyKey
    return UUID(match[2])
