"""The documentation's pages, as HTML and as Markdown, and the one at `/`. They are read-only and public."""

import json
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.middleware.http import ConditionalGetMiddleware
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.decorators import decorator_from_middleware

from config.api.docs import reading, reference_page, viewer_page
from config.core.credentials import SAFE_METHODS
from config.core.errors import ApiError, NotFound
from config.core.proxies import client_address
from config.docs.pages import CONTENTS_LEVEL, Library, library
from config.docs.rendering import render_line
from config.docs.searching import QUERY_LETTERS_MAX, Index, Section, words_of

MAX_AGE_SECONDS = 300
_ADVICE = {
    401: "Log in again, or send another credential: the same request will be refused again.",
    409: "The first request is still running. Send the same one again, with the same Idempotency-Key.",
    429: "Send the same request again after as many seconds as Retry-After says.",
    500: "Quote the request id when you write to us.",
    503: "Send the same request again after as many seconds as Retry-After says.",
}
_CHANGE_IT = "Sent again as it is, the request will be refused again."
DEMO_FILE = "demo.json"  # in VAR_DIR
_THIS_MACHINE = frozenset({"127.0.0.1", "::1", "localhost"})


# A request with the ETag of the current version gets 304.
conditional = decorator_from_middleware(ConditionalGetMiddleware)


@conditional
@reading
def front(request: HttpRequest) -> HttpResponse:  # noqa: ARG001
    """Show README.md, or where the documentation is when this installation has none."""
    pages = _library()
    if "" not in pages.by_name:
        return _show("missing.html")
    return _page(pages, "")


@conditional
@reading
def page(request: HttpRequest, name: str) -> HttpResponse:
    pages = _library()
    return _page(pages, name) if name and name in pages.by_name else _nothing(request)


@conditional
@reading
def markdown(request: HttpRequest, name: str) -> HttpResponse:
    """Return a page as the Markdown that it is written in, under its address and `.md`."""
    found = _library().by_name.get(name)
    return _nothing(request) if found is None else _text(found.markdown)


@conditional
@reading
def llms(request: HttpRequest) -> HttpResponse:  # noqa: ARG001
    """Tell programs that read where everything is, as llmstxt.org has it."""
    context = {
        "provider_name": settings.PROVIDER_NAME,
        "host": settings.HOST_ROOT,
        "base_url": settings.BASE_URL,
        "chain_url": settings.CHAIN_URL,
        "key_prefix": settings.API_KEY_PREFIX,
        "openapi": reverse("openapi"),
        "navigation": _library().navigation,
    }
    return _text(_written("llms.txt", **context))


@reading
def picture(request: HttpRequest, name: str) -> HttpResponse:
    file = _library().pictures.get(name)
    if file is None:
        return _nothing(request)
    response = HttpResponse(file.read_bytes(), content_type="image/png")
    response.headers["Cache-Control"] = f"public, max-age={MAX_AGE_SECONDS}"
    return response


@reading
def search(request: HttpRequest) -> HttpResponse:
    """Show the sections that have the words of `q`, the best first."""
    asked = request.GET.get("q", "")[:QUERY_LETTERS_MAX]
    query = "".join(letter for letter in asked if letter.isprintable())
    words = words_of(query)
    found = _index(settings.DOCS_ROOT).find(words) if words else []
    response = _show("search.html", query=query, words=words, found=found)
    response.headers["X-Robots-Tag"] = "noindex"
    return response


@reading
def errors(request: HttpRequest) -> HttpResponse:  # noqa: ARG001
    return _show("errors.html", errors=[(one, _meaning(one)) for _, one in sorted(ApiError.registry.items())])


@conditional
@reading
def errors_markdown(request: HttpRequest) -> HttpResponse:  # noqa: ARG001
    return _text(_written("errors.md", errors=[one for _, one in sorted(ApiError.registry.items())]))


@conditional
@reading
def error_markdown(request: HttpRequest, code: str) -> HttpResponse:
    known = ApiError.registry.get(code)
    if known is None:
        return _nothing(request)
    about = _library().about_error(code, as_html=False)
    return _text(_written("error.md", error=known, about=about, advice=_ADVICE.get(known.status, _CHANGE_IT)))


@reading
def error(request: HttpRequest, code: str) -> HttpResponse:
    """Describe the errors of a code: the page that `type` of a problem (RFC 9457) names."""
    known = ApiError.registry.get(code)
    if known is None:
        return _nothing(request)
    about, advice = _library().about_error(code), _ADVICE.get(known.status, _CHANGE_IT)
    return _show("error.html", error=known, meaning=_meaning(known), about=about, advice=advice)


@reading
def reference(request: HttpRequest) -> HttpResponse:  # noqa: ARG001
    return reference_page(**_frame(("Try the operations", reverse("try"))))


@reading
def try_page(request: HttpRequest) -> HttpResponse:
    """Let a person call the operations, in development with the demo's key."""
    frame = _frame(("Reference", reverse("docs"))) | {"demo": _demo(request)}
    response = viewer_page("docs/try.html", **frame)
    response.headers["Cache-Control"] = "no-store"
    return response


def root(request: HttpRequest) -> HttpResponse:
    """Lead a person at `/` to the documentation and the back office; to a program nothing is here."""
    addresses = {"docs": reverse("docs:front"), "reference": reverse("docs"), "back_office": reverse("admin:index")}
    if request.method in SAFE_METHODS and _is_a_person(request):
        response = HttpResponse(
            render_to_string("docs/root.html", {"provider_name": settings.PROVIDER_NAME, **addresses})
        )
    else:
        where = "Nothing is here. The documentation is at {docs} and {reference}, the back office at {back_office}."
        response = NotFound(where.format(**addresses)).response()
    response.headers["Vary"] = "Accept"
    return response


def _frame(link: tuple[str, str]) -> dict[str, Any]:
    """Return what stands around a viewer of the OpenAPI document, with a link to the other one."""
    home = reverse("docs:front")
    return {
        "name": settings.PROVIDER_NAME,
        "home": home,
        "icon": "backoffice/icon.svg",
        "document": reverse("openapi"),
        "links": [("Documentation", home), ("Error codes", reverse("docs:errors")), link],
    }


def _demo(request: HttpRequest) -> dict[str, Any]:
    """Return what `seed_demo` keeps, for a person at the very machine of a server for development; else nothing.

    People who reach such a server from another machine must get the key from a person who sees the terminal.
    """
    names = {client_address(request), urlsplit(f"//{request.get_host()}").hostname}
    if settings.PRODUCTION or not names <= _THIS_MACHINE:
        return {}
    try:
        kept: dict[str, Any] = json.loads((Path(settings.VAR_DIR) / DEMO_FILE).read_text())
    except OSError:
        return {}
    return kept


def _library() -> Library:
    return library(settings.DOCS_ROOT)


@cache
def _index(root: Path) -> Index:
    """Return what can be searched: every part of every page, and every error code."""
    sections = []
    for one in library(root).pages:
        for part in one.rendered.parts:
            anchor = f"#{part.anchor}" if part.level > 1 else ""
            sections.append(Section(one.label, part.heading, f"{one.address}{anchor}", part.text))
    for code, known in sorted(ApiError.registry.items()):
        address = reverse("docs:error", args=[code])
        sections.append(Section("Error codes", f"{code} {known.error}", address, known.message))
    return Index(sections)


def _meaning(error: type[ApiError]) -> str:
    """Return the default message of an error class, as HTML: names are in backticks."""
    return render_line(error.message, str)


def _page(pages: Library, name: str) -> HttpResponse:
    shown = pages.by_name[name]
    before, after = pages.neighbours(shown)
    contents = [part for part in shown.rendered.parts if part.level == CONTENTS_LEVEL]
    return _show("page.html", page=shown, before=before, after=after, contents=contents)


def _written(template: str, **context: Any) -> str:
    return render_to_string(f"docs/{template}", {"docs": reverse("docs:front"), **context})


def _text(text: str) -> HttpResponse:
    headers = {"Cache-Control": f"public, max-age={MAX_AGE_SECONDS}"}
    return HttpResponse(text, content_type="text/markdown; charset=utf-8", headers=headers)


def _nothing(request: HttpRequest) -> HttpResponse:
    """Answer a person with a page that helps to look on, and a program as everywhere."""
    response = _show("nothing.html", status=404) if _is_a_person(request) else NotFound().response()
    response.headers["Vary"] = "Accept"
    return response


def _is_a_person(request: HttpRequest) -> bool:
    return "text/html" in request.headers.get("Accept", "")


def _show(template: str, *, status: int = 200, **context: Any) -> HttpResponse:
    frame = {"provider_name": settings.PROVIDER_NAME, "navigation": _library().navigation}
    response = HttpResponse(render_to_string(f"docs/{template}", {**frame, **context}), status=status)
    response.headers["Cache-Control"] = f"public, max-age={MAX_AGE_SECONDS}"
    return response
