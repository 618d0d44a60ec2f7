"""Render notices and information forms as HTML or PDF. PDF requires weasyprint."""

from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.staticfiles import finders
from django.http import HttpResponse
from rest_framework.renderers import BaseRenderer

from config.api import heavy
from config.api.renderers import OrjsonRenderer, renderer_for
from config.api.views import ApiRequest
from config.core.errors import NotAcceptable

HTML, PDF = "text/html", "application/pdf"
PRINTABLE: list[type[BaseRenderer]] = [OrjsonRenderer, renderer_for(HTML), renderer_for(PDF)]


def printed(request: ApiRequest, html: str) -> HttpResponse | None:
    """Return the page as HTML or PDF, as the request accepts. Return None for JSON. Raises NotAcceptable."""
    wanted = request.accepted_renderer.media_type
    if wanted == HTML:
        return HttpResponse(html, content_type=f"{HTML}; charset=utf-8")
    if wanted != PDF:
        return None
    with heavy.slot(request):
        return HttpResponse(pdf_of(html), content_type=PDF)


def pdf_of(html: str) -> bytes:
    """Return the page as a PDF. Raises NotAcceptable if weasyprint, or a library that it requires, is not installed."""
    try:
        weasyprint: Any = import_module("weasyprint")
    except (ImportError, OSError) as error:  # OSError: a system library is missing
        raise NotAcceptable(
            "PDF requires weasyprint, which is not installed here. Send `Accept: text/html`."
        ) from error
    page = weasyprint.HTML(string=html, base_url=settings.APP_URL, url_fetcher=_own_files())
    printed: bytes = page.write_pdf()
    return printed


def _own_files() -> Any:
    """Return a URL fetcher that reads only the platform's static files and data in the page itself."""
    urls: Any = import_module("weasyprint.urls")

    class OwnFiles(urls.URLFetcher):  # type: ignore[misc]
        def fetch(self, url: str, headers: Any = None) -> Any:
            path = urlsplit(url).path
            is_static = url.startswith(f"{settings.APP_URL}{settings.STATIC_URL}")
            file = finders.find(path.removeprefix(settings.STATIC_URL)) if is_static else None
            if file is None:
                return super().fetch(url, headers)
            return urls.URLFetcherResponse(url, Path(str(file)).read_bytes(), {"Content-Type": "text/css"})

    return OwnFiles(allowed_protocols=("data",))
