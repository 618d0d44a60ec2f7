"""The OpenAPI document over HTTP, and the page that makes it readable."""

from functools import cache
from threading import Lock
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.html import format_html

from config.api.credentials import PUBLIC, SAFE_METHODS
from config.api.views import ApiRequest, ApiViewSet, endpoint
from config.core.errors import ApiError, NotFound
from config.core.json_text import render_json

DOCUMENT_MAX_AGE_SECONDS = 300
_BACK_OFFICE = "/admin/"
_FRONT_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{name}</title></head><body>
<h1>{name}</h1>
<p>This is an interface for programs. For people there are:</p>
<ul>
<li><a href="{docs}">the documentation</a></li>
<li><a href="{back_office}">the back office</a></li>
</ul>
</body></html>
"""
_ERROR_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{code} {error}</title>
<meta name="viewport" content="width=device-width, initial-scale=1"></head><body>
<h1><code>{code}</code> {error}</h1>
<p>HTTP status {status}. {message}</p>
<p>{advice}</p>
<p><a href="{docs}">The reference</a> says which operations answer so.</p>
</body></html>
"""
_ADVICE = {
    401: "Log in again, or send another credential: the same request will be refused again.",
    409: "The first request is still running. Send the same one again, with the same Idempotency-Key.",
    429: "Send the same request again after as many seconds as Retry-After says.",
    500: "Quote the request id when you write to us.",
    503: "Send the same request again after as many seconds as Retry-After says.",
}
_CHANGE_IT = "Sent again as it is, the request will be refused again."


# drf-spectacular writes through what all views share: of two threads that write at once, one fails.
_writing = Lock()
_written: dict[str, bytes] = {}


def document_bytes(urlconf: str) -> bytes:
    """Return the OpenAPI document of the service whose addresses `urlconf` lists; it is written once per process."""
    from drf_spectacular.generators import SchemaGenerator

    with _writing:
        if urlconf not in _written:
            _written[urlconf] = render_json(SchemaGenerator(urlconf=urlconf).get_schema(request=None, public=True))
        return _written[urlconf]


class OpenapiViewSet(ApiViewSet):
    """What describes this interface to programs."""

    tag = "documents"

    @endpoint(access=PUBLIC)
    def document(self, request: ApiRequest) -> HttpResponse:  # noqa: ARG002
        """Return the OpenAPI 3.1 document of this service."""
        return HttpResponse(
            document_bytes(settings.ROOT_URLCONF),
            content_type="application/json",
            headers={"Cache-Control": f"public, max-age={DOCUMENT_MAX_AGE_SECONDS}"},
        )


@cache
def _docs_view() -> Any:
    from drf_spectacular.views import SpectacularSwaggerSplitView

    return SpectacularSwaggerSplitView.as_view(
        authentication_classes=[], permission_classes=[], throttle_classes=[], url_name="openapi"
    )


def front_page(request: HttpRequest) -> HttpResponse:
    """Lead a person at `/` to the documentation and the back office; to a program nothing is here."""
    addresses = {"docs": reverse("docs"), "back_office": _BACK_OFFICE}
    if request.method in SAFE_METHODS and "text/html" in request.headers.get("Accept", ""):
        response = HttpResponse(format_html(_FRONT_PAGE, name=settings.PROVIDER_NAME, **addresses))
        response.headers["Content-Security-Policy"] = settings.CONTENT_SECURITY_POLICY
    else:
        where = "Nothing is here. The documentation is at {docs}, the back office at {back_office}."
        response = NotFound(where.format(**addresses)).response()
    response.headers["Vary"] = "Accept"
    return response


def error_page(request: HttpRequest, code: str) -> HttpResponse:
    """Say what errors of a code are: the page that `type` of a problem (RFC 9457) names."""
    error = ApiError.registry.get(code)
    if request.method not in SAFE_METHODS or error is None:
        return NotFound().response()
    advice = _ADVICE.get(error.status, _CHANGE_IT)
    shown = {name: getattr(error, name) for name in ("code", "error", "status", "message")}
    response = HttpResponse(format_html(_ERROR_PAGE, docs=reverse("docs"), advice=advice, **shown))
    response.headers["Content-Security-Policy"] = settings.CONTENT_SECURITY_POLICY
    return response


def docs_page(request: HttpRequest) -> HttpResponse:
    """Show Swagger UI under the policy that it can live with: it sets styles on its elements."""
    response: HttpResponse = _docs_view()(request)
    response.headers["Content-Security-Policy"] = settings.CONTENT_SECURITY_POLICY.replace(
        "style-src 'self'", "style-src 'self' 'unsafe-inline'"
    )
    return response
