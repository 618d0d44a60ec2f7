"""Refusals that both sides can read: the error of everywhere, and the protocol's `messages`.

The protocol leaves open what a refusal's body holds, but for a version that is not served; there `code` is the
protocol's word. Who asks for another version may know an older form of the protocol, in which that was in `messages`.
"""

import re
from typing import Any

import orjson
from django.http import HttpResponse

from config.api.errors import as_api_error
from config.core.errors import ApiError, ValidationFailed
from credit.commerce.profile import VERSION

_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)
_INDEX = re.compile(r"\.([0-9]+)(?=\.|$)", re.ASCII)
_STEP = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:(?:\.|\[)[A-Za-z0-9_\]]+)*", re.ASCII)


class VersionUnsupported(ApiError):
    """A version of the protocol that is not served. It has no E number: `code` belongs to the protocol here."""

    status, error = 422, "version_unsupported"

    def __init__(self, asked_for: str) -> None:
        named = f"version {asked_for}" if _DATE.fullmatch(asked_for) else "the version asked for"
        super().__init__(f"Protocol {named} is not supported: {VERSION} is.")

    def body(self) -> dict[str, Any]:
        return {**super().body(), "code": self.error, "content": str(self)}


class InvalidProfileUrl(ValidationFailed):
    word = "invalid_profile_url"


class RequestTooLarge(ValidationFailed):
    word = "request_too_large"


def error_message(code: str, content: str, *, severity: str = "recoverable", path: str = "") -> dict[str, str]:
    message = {"type": "error", "code": code, "content": content, "severity": severity}
    return {**message, "path": path} if path else message


def info_message(code: str, content: str, *, path: str = "") -> dict[str, str]:
    message = {"type": "info", "code": code, "content": content}
    return {**message, "path": path} if path else message


def render_refusal(error: Exception, context: dict[str, Any]) -> HttpResponse:  # noqa: ARG001
    """Answer for an exception of this app's views (REST framework's exception handler)."""
    refusal = as_api_error(error)
    response = refusal.response()
    ucp = {"version": VERSION, "status": "error"}
    response.content = orjson.dumps({**refusal.body(), "ucp": ucp, "messages": _messages(refusal)})
    response.headers["Content-Length"] = str(len(response.content))
    return response


def _messages(refusal: ApiError) -> list[dict[str, str]]:
    code = getattr(refusal, "word", refusal.error)
    # Nothing that the caller can change helps against these.
    severity = "unrecoverable" if refusal.status in {422, 500} else "recoverable"
    told = refusal.details if isinstance(refusal.details, list) else []
    return [
        error_message(code, str(one["message"]), severity=severity, path=_path(str(one["field"]))) for one in told
    ] or [error_message(code, str(refusal), severity=severity)]


def _path(field: str) -> str:
    """Return the JSONPath of a member of the request, empty for a name that a path does not spell plainly."""
    spelled = _INDEX.sub(r"[\1]", field)
    return f"$.{spelled}" if _STEP.fullmatch(spelled) else ""
