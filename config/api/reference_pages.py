"""Views of the API reference: an overview with a search, and a page for each tag. Both services serve these pages."""

from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.urls import reverse

from config.api.reference import reference
from config.core.errors import NotFound

QUERY_MAX = 200
_HEADERS = {"Cache-Control": "public, max-age=300"}


def overview(request: HttpRequest, **frame: Any) -> HttpResponse:
    """Render all operations by tag, or the operations that contain every word of the parameter `q`.

    `frame` contains the service's `name`, which links to `home`, and the static file `icon`. `document` is the URL of
    the OpenAPI document, and `links` are pairs `(label, URL)`. The URLs `errors` (pages about error codes), `try_page`
    (calls of operations), and `guides` (search in the documentation) can be empty.
    """
    content = reference(settings.ROOT_URLCONF)
    query = request.GET.get("q", "").strip()[:QUERY_MAX]
    results = content.search(query) if query else []
    search = {"query": query, "results": results, "error_code": content.error_code(query)}
    text = _render("api/reference_overview.html", frame, reference=content, **search)
    return HttpResponse(text, headers=_HEADERS)


def section(tag: str, **frame: Any) -> HttpResponse:
    """Render the operations of a tag, or all events. Raises 404 for an unknown tag."""
    shown = reference(settings.ROOT_URLCONF)
    if tag not in shown.pages:
        return NotFound().response()
    key = f"{tag} {frame}"
    if key not in shown.rendered:
        shown.rendered[key] = _render("api/reference_section.html", frame, reference=shown, page=shown.pages[tag])
    return HttpResponse(shown.rendered[key], headers=_HEADERS)


def operation_at(method: str, path: str) -> dict[str, str] | None:
    """Return the summary and the URL of the operation with this method and path template, or None."""
    for page in reference(settings.ROOT_URLCONF).pages.values():
        for operation in page["operations"]:
            if (operation["method"], operation["path"]) == (method, path):
                url = f"{reverse('docs_section', args=[page['name']])}#{operation['id']}"
                return {"summary": operation["summary"], "url": url}
    return None


def _render(template: str, frame: dict[str, Any], **content: Any) -> str:
    return render_to_string(template, {**frame, **content, "overview": reverse("docs")})
