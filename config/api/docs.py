"""The OpenAPI document over HTTP, and its HTML pages. Both services serve the document and the pages."""

from collections.abc import Callable
from functools import wraps
from threading import Lock

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from config.api.views import ApiRequest, ApiViewSet, endpoint
from config.core.credentials import PUBLIC, SAFE_METHODS
from config.core.errors import MethodNotAllowed
from config.core.json_text import render_json

View = Callable[..., HttpResponse]

# Generation modifies objects that all views share, so only one thread may generate a document.
_writing = Lock()
_written: dict[str, bytes] = {}


def document_bytes(urlconf: str) -> bytes:
    """Return the OpenAPI document of the service with this `urlconf`. The result is cached."""
    from drf_spectacular.generators import SchemaGenerator

    with _writing:
        if urlconf not in _written:
            _written[urlconf] = render_json(SchemaGenerator(urlconf=urlconf).get_schema(request=None, public=True))
        return _written[urlconf]


class OpenapiViewSet(ApiViewSet):
    """The documents that describe this API to programs."""

    tag = "openapi"

    @endpoint(access=PUBLIC)
    def document(self, request: ApiRequest) -> HttpResponse:  # noqa: ARG002
        """Get the OpenAPI 3.1 document of this service."""
        headers = {"Cache-Control": "public, max-age=300"}
        return HttpResponse(document_bytes(settings.ROOT_URLCONF), content_type="application/json", headers=headers)


def reading(view: View) -> View:
    """Reject all methods except GET, HEAD, and OPTIONS."""

    @wraps(view)
    def guarded(request: HttpRequest, **kwargs: str) -> HttpResponse:
        if request.method not in SAFE_METHODS:
            return MethodNotAllowed(headers={"Allow": ", ".join(sorted(SAFE_METHODS))}).response()
        return view(request, **kwargs)

    return guarded
