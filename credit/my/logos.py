"""The logos of lenders, which pages show in `<img>`."""

from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from credit.models import ProviderLogo

_HEADERS = {
    # An SVG that is opened directly runs no script and loads nothing.
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox",
    "X-Content-Type-Options": "nosniff",
    # The URL contains the file's digest, so the file never changes.
    "Cache-Control": "public, max-age=31536000, immutable",
}


@require_safe
def logo(_request: HttpRequest, sha256: str) -> HttpResponse:
    """Return the logo with this digest (lowercase hex) if a lender uses it."""
    stored = ProviderLogo.objects.filter(sha256=sha256).values_list("content", "media_type").first()
    if stored is None:
        raise Http404
    content, media_type = stored
    return HttpResponse(bytes(content), content_type=media_type, headers=_HEADERS)
