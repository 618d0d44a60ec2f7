"""Errors of the API (specification section 7).

Each error is an exception class, next to the code that raises it, with a status, an `error` slug, and a `code`. This
module contains the errors that belong to no app. `ApiError.registry` lists all errors, so that tests can compare
the list with the OpenAPI document. `config.api.errors` renders errors.
"""

import re
from typing import Any, ClassVar, Self

import orjson
from django.conf import settings
from django.http import HttpResponse

from config.core.context import request_id

_FIELDS_MAX = 20  # a line of the request log contains at most this number of failed fields
_PATH_END = re.compile(r"[./]")
PROBLEM = "application/problem+json"


class ApiError(Exception):
    """An error that the API returns.

    `status` is the HTTP status, `error` the slug, and `code` the `E` number. With `stored`, the response is stored
    under the request's Idempotency-Key. Errors that a retry may resolve are not stored.
    """

    status: ClassVar[int] = 400
    error: ClassVar[str] = ""
    code: ClassVar[str] = ""
    message: ClassVar[str] = ""
    stored: ClassVar[bool] = False
    names_are_ours: ClassVar[bool] = True  # False if `details` can contain names that the caller chose
    registry: ClassVar[dict[str, type["ApiError"]]] = {}

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "code" in cls.__dict__:
            if not (cls.error and cls.message and 400 <= cls.status < 600 and cls.code[1:].isdigit()):
                raise TypeError(f"{cls.__module__}.{cls.__qualname__} lacks a `status`, `error`, `code` or `message`")
            existing = ApiError.registry.setdefault(cls.code, cls)
            if existing.__qualname__ != cls.__qualname__ or existing.__module__ != cls.__module__:
                raise TypeError(f"{cls.code} belongs to {existing.__module__}.{existing.__qualname__}")

    def __init__(self, message: str = "", *, details: Any = None, headers: dict[str, str] | None = None) -> None:
        """Create an error. The response contains `details` (an object, or a list of objects) and `headers`."""
        super().__init__(message or self.message)
        self.details = details
        self.headers = headers or {}

    def body(self) -> dict[str, Any]:
        members = {
            "error": self.error,
            "message": str(self),
            "code": self.code,
            "request_id": request_id.get() or None,
            "doc_url": doc_url(self.code),
        }
        return members if self.details is None else {**members, "details": self.details}

    def _failed_fields(self) -> list[str] | None:
        """Return the names of top-level fields in `details`.

        Names of nested fields are excluded, because callers may choose them.
        """
        if not (self.names_are_ours and isinstance(self.details, list)):
            return None
        paths = [str(entry["field"]).lstrip("/") for entry in self.details if "field" in entry]
        return list(dict.fromkeys(_PATH_END.split(path)[0] for path in paths))[:_FIELDS_MAX]

    def response(self) -> HttpResponse:
        """Render the error as JSON. Every 401 has `WWW-Authenticate` with an accepted scheme (RFC 9110, 11.6.1)."""
        headers = {"WWW-Authenticate": 'Bearer realm="api"', **self.headers} if self.status == 401 else self.headers
        content = orjson.dumps(self.body())
        # Without this header, an error that occurs before Django's middleware would be sent in chunks.
        headers = {**headers, "Content-Length": str(len(content))}
        response = HttpResponse(content, content_type="application/json", status=self.status, headers=headers)
        # The request log reads these attributes, because a different format may replace the body.
        response.error_code, response.failed_fields = self.code, self._failed_fields()  # type: ignore[attr-defined]
        return response


class ValidationFailed(ApiError):
    error, code, message = "validation_error", "E1001", "The request is not valid."

    @classmethod
    def of_member(cls, name: str, message: str) -> Self:
        return cls(f"{name}: {message}", details=[{"field": name, "message": message}])


class MalformedJSON(ApiError):
    error, code, message = "malformed_json", "E1002", "The body is not valid JSON."


class InvalidStatus(ApiError):
    error, code = "invalid_status", "E1004"
    message = "The status is unknown. Send a status that the field's schema lists."


class MissingParameter(ApiError):
    error, code, message = "missing_parameter", "E1005", "A required query parameter is missing."


class InvalidPagination(ApiError):
    error, code = "invalid_pagination", "E1006"
    message = "`limit` or `offset` is out of range. Most lists accept a `limit` of 1 to 100."


class PayloadTooLarge(ApiError):
    status, error, code = 413, "payload_too_large", "E1007"
    message = "The body is too large. Send a smaller body."


class HttpsRequired(ApiError):
    status, error, code = 403, "https_required", "E1009"
    message = "Use HTTPS. Credentials sent over HTTP are exposed."


class UnsupportedMediaType(ApiError):
    """The endpoint does not accept the body's media type. By default, endpoints accept application/json in UTF-8."""

    status, error, code = 415, "unsupported_media_type", "E1013"
    message = "Send application/json in UTF-8 (a file: multipart/form-data), without Content-Encoding."


class NotAcceptable(ApiError):
    status, error, code = 406, "not_acceptable", "E1014"
    message = "`Accept` must allow a content type of this operation. Most operations return only application/json."


class InvalidHost(ApiError):
    error, code, message = "invalid_host", "E1016", "The Host header is missing, or is not a host of this service."


class UserMismatch(ApiError):
    """A user ID in the request differs from the caller's ID (specification section 5, item 4)."""

    status, error, code = 401, "user_mismatch", "E2004"
    message = "`user_id` must be the id of the authenticated account."

    def __init__(self, member: str = "user_id") -> None:
        message = f"`{member}` must be the id of the authenticated account."
        super().__init__(message, details=[{"field": member, "message": message}])


class NotFound(ApiError):
    status, error, code, message, stored = 404, "not_found", "E4001", "No resource has this path or id.", True


class MethodNotAllowed(ApiError):
    status, error, code = 405, "method_not_allowed", "E4050"
    message = "This path does not support the HTTP method. The response header `Allow` lists the supported methods."


class InternalError(ApiError):
    status, error, code = 500, "internal_error", "E5000"
    message = "The server failed. Retry later. If it fails again, contact support with the request id."


class Unavailable(ApiError):
    """The database is unreachable or too busy. The caller may retry the request."""

    status, error, code = 503, "unavailable", "E5030"
    message = "The service is temporarily unavailable. Retry after the time in Retry-After."

    def __init__(self, message: str = "") -> None:
        super().__init__(message, headers={"Retry-After": "1"})


def doc_url(code: str) -> str:
    return f"{settings.HOST_ROOT}/docs/errors/{code}"


def as_problem(status: int, body: dict[str, Any]) -> dict[str, Any]:
    """Return an error's body in the format of RFC 9457. `type` is the URL of the page about the error."""
    code = body["code"]
    known = ApiError.registry.get(code)
    return {
        "type": body.get("doc_url") or doc_url(code),
        "title": known.message if known else body["message"],
        "status": status,
        "detail": body["message"],
        **{name: value for name, value in body.items() if name not in {"message", "doc_url"}},
    }
