"""Format the errors of the protocol's views.

An error has the platform's fields and the protocol's `messages`, or for agents only `messages`.

The protocol defines the body of an error only for an unsupported version, with a separate `code`. Clients of older
versions of the protocol can read this error in `messages`.
"""

import re
from typing import Any

import orjson
from django.conf import settings
from django.http import HttpRequest, HttpResponse

from config.api.errors import as_api_error
from config.core.errors import PROBLEM, ApiError, ValidationFailed
from credit.api.commerce.discovery import VERSION

CATALOG_PATH = "/v1/ucp/catalog"
_ERROR_TYPES = {"application/json", PROBLEM}
_UCP = {"version": VERSION, "status": "error"}
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)
_INDEX = re.compile(r"\.([0-9]+)(?=\.|$)", re.ASCII)
_STEP = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:(?:\.|\[)[A-Za-z0-9_\]]+)*", re.ASCII)


class VersionUnsupported(ApiError):
    """The requested version is not supported. The error has no E number, because the protocol defines `code`."""

    status, error = 422, "version_unsupported"

    def __init__(self, asked_for: str) -> None:
        named = f"Protocol version {asked_for}" if _DATE.fullmatch(asked_for) else "The requested protocol version"
        super().__init__(f"{named} is not supported. Send {VERSION}.")

    def body(self) -> dict[str, Any]:
        page = f"{settings.HOST_ROOT}/docs/guides/commerce#errors"
        return {**super().body(), "code": self.error, "content": str(self), "doc_url": page}


class InvalidProfileUrl(ValidationFailed):
    word = "invalid_profile_url"


class RequestTooLarge(ValidationFailed):
    word = "request_too_large"


def message(kind: str, code: str, content: str, *, path: str, **more: str) -> dict[str, str]:
    entry = {"type": kind, "code": code, "content": content, **more}
    return {**entry, "path": path} if path else entry


def render_refusal(error: Exception, context: dict[str, Any]) -> HttpResponse:  # noqa: ARG001
    """Return the response for an exception of the protocol's views (REST framework's exception handler)."""
    refusal = as_api_error(error)
    response = refusal.response()
    response.content = orjson.dumps({**refusal.body(), "ucp": _UCP, "messages": _messages(refusal)})
    response.headers["Content-Length"] = str(len(response.content))
    return response


def write_for_agent(request: HttpRequest, response: HttpResponse) -> None:
    """Convert every error to the protocol's form if the caller sends `UCP-Agent`.

    The protocol allows only `ucp` and `messages`. For an unsupported version, the protocol also requires `code` and
    `content`.
    """
    is_agent = "HTTP_UCP_AGENT" in request.META and request.path.startswith(CATALOG_PATH)
    if not is_agent or response.headers.get("Content-Type") not in _ERROR_TYPES:
        return
    body = orjson.loads(response.content)
    content = str(body.get("message") or body["detail"])
    answer: dict[str, Any] = {
        "ucp": _UCP,
        "messages": body.get("messages") or [_message_of(body["error"], content, response.status_code)],
    }
    if body["code"] == VersionUnsupported.error:
        answer |= {"code": body["code"], "content": body["content"]}
    response.content = orjson.dumps(answer)
    response.headers["Content-Type"] = "application/json"
    response.headers["Content-Length"] = str(len(response.content))


def _message_of(code: str, content: str, status: int, *, path: str = "") -> dict[str, str]:
    # The caller can't fix errors with the status 422 or 500.
    severity = "unrecoverable" if status in {422, 500} else "recoverable"
    return message("error", code, content, path=path, severity=severity)


def _messages(refusal: ApiError) -> list[dict[str, str]]:
    code = getattr(refusal, "word", refusal.error)
    details = refusal.details if isinstance(refusal.details, list) else []
    if not details:
        return [_message_of(code, str(refusal), refusal.status)]
    return [
        _message_of(code, str(detail["message"]), refusal.status, path=_path(str(detail["field"])))
        for detail in details
    ]


def _path(field: str) -> str:
    """Return the JSONPath of a field of the request, or "" for a name that JSONPath must quote."""
    spelled = _INDEX.sub(r"[\1]", field)
    return f"$.{spelled}" if _STEP.fullmatch(spelled) else ""
