"""The OpenAPI document over HTTP, and the page on which its operations are tried."""

from functools import cache
from threading import Lock
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from config.api.credentials import PUBLIC
from config.api.views import ApiRequest, ApiViewSet, endpoint
from config.core.json_text import render_json

DOCUMENT_MAX_AGE_SECONDS = 300

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
def _try_view() -> Any:
    from drf_spectacular.views import SpectacularSwaggerSplitView

    return SpectacularSwaggerSplitView.as_view(
        authentication_classes=[], permission_classes=[], throttle_classes=[], url_name="openapi"
    )


def try_page(request: HttpRequest) -> HttpResponse:
    """Show Swagger UI under the policy that it can live with: it sets styles on its elements."""
    response: HttpResponse = _try_view()(request)
    response.headers["Content-Security-Policy"] = settings.CONTENT_SECURITY_POLICY.replace(
        "style-src 'self'", "style-src 'self' 'unsafe-inline'"
    )
    return response
