"""Serve the built documentation as HTML and Markdown, and the page at `/`. All views are read-only and public."""

import json
import mimetypes
import re
from base64 import b64encode
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.middleware.http import ConditionalGetMiddleware
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.decorators import decorator_from_middleware
from django.utils.translation import get_language_from_request, override
from django.views.decorators.gzip import gzip_page

from config.api.docs import View, reading
from config.api.reference_pages import overview, section
from config.core.credentials import SAFE_METHODS
from config.core.errors import NotFound
from config.core.media_types import prefers
from config.core.proxies import client_address
from config.docs.viewer import viewer_bytes

MAX_AGE_SECONDS = 300
BUILD_SECONDS = 10  # the `Retry-After` while the documentation is being built
POLICY_WITH_STYLES = settings.CONTENT_SECURITY_POLICY.replace("style-src 'self'", "style-src 'self' 'unsafe-inline'")
MARKDOWN = "text/markdown; charset=utf-8"
# Each key is the former path of a page. The value is its current path.
MOVED = {
    "backoffice": "backoffice/access",
    "errors": "reference/errors",
    "guides/errors-and-retries": "reference/errors",
}
_THIS_MACHINE = frozenset({"127.0.0.1", "::1", "localhost"})
_FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n\s*", re.DOTALL)
_INLINE_SCRIPT = re.compile(rb"<script>(.*?)</script>", re.DOTALL)

# This adds an ETag, and returns 304 for a request with the current ETag.
conditional = decorator_from_middleware(ConditionalGetMiddleware)


def compressed(view: View) -> Callable[..., HttpResponseBase]:
    """Reject all methods except for GET, HEAD, and OPTIONS. Compress the response, and add an ETag."""
    return gzip_page(conditional(reading(view)))


@reading
def front(request: HttpRequest) -> HttpResponse:  # noqa: ARG001
    """Redirect to the first page. The relative links of the page require a trailing slash."""
    return HttpResponseRedirect(f"{reverse('docs:front')}/")


@compressed
def page(request: HttpRequest, path: str = "index.html") -> HttpResponse:
    """Return a file of the built documentation. Redirect a path without `.html` to its page."""
    root = Path(settings.DOCS_ROOT)
    if not (root / "index.html").is_file():
        return _not_built()
    file = root / path
    if file.is_file():
        return _file(file)
    target = MOVED.get(path, path)
    if (root / f"{target}.html").is_file():
        query = request.META.get("QUERY_STRING", "")
        address = reverse("docs:page", args=[f"{target}.html"])
        return HttpResponseRedirect(f"{address}?{query}" if query else address)
    return nothing(request)


@compressed
def markdown(request: HttpRequest, name: str) -> HttpResponse:
    """Return a page as Markdown at the page's path with `.md`. llmstxt.org also defines the form `x.html.md`."""
    name = name.removesuffix(".html")
    file = Path(settings.DOCS_ROOT) / "_sources" / f"{MOVED.get(name, name)}.md"
    if not file.is_file():
        return nothing(request)
    return _text(_FRONT_MATTER.sub("", file.read_text(encoding="utf-8")))


@conditional
@reading
def llms(request: HttpRequest) -> HttpResponse:  # noqa: ARG001
    """Return the list of all pages, with instructions for AI agents (llmstxt.org)."""
    pages = Path(settings.DOCS_ROOT) / "pages.md"
    docs = f"{settings.HOST_ROOT}{reverse('docs:front')}"
    context = {
        "provider_name": settings.PROVIDER_NAME,
        "host": settings.HOST_ROOT,
        "docs": docs,
        "base_url": settings.BASE_URL,
        "chain_url": settings.CHAIN_URL,
        "key_prefix": settings.API_KEY_PREFIX,
        "openapi": reverse("openapi"),
        "pages": pages.read_text(encoding="utf-8").replace("](", f"]({docs}/") if pages.is_file() else "",
    }
    return _text(render_to_string("docs/llms.txt", context))


@reading
def picture(request: HttpRequest, name: str) -> HttpResponse:
    file = Path(settings.DOCS_ROOT) / "_images" / name
    return _file(file) if file.is_file() else nothing(request)


@reading
def nothing(request: HttpRequest) -> HttpResponse:
    """Return 404. Browsers get a page with links, and API clients get a JSON error."""
    if _is_a_person(request):
        text = render_to_string("docs/nothing.html", {"provider_name": settings.PROVIDER_NAME})
        response = HttpResponse(text, status=404)
    else:
        response = NotFound().response()
    response.headers["Vary"] = "Accept"
    return response


@compressed
def reference(request: HttpRequest) -> HttpResponse:
    return overview(request, **_reference_frame())


@compressed
def reference_section(request: HttpRequest, name: str) -> HttpResponse:
    """Return a section of the reference, or 404."""
    response = section(name, **_reference_frame())
    return nothing(request) if response.status_code == 404 else response


@reading
def try_page(request: HttpRequest) -> HttpResponse:
    """Return the page from which users can call operations. In development, it contains the demo's key.

    The page's viewer needs inline styles.
    """
    facts = {"demo": _demo(request), "viewer_document": reverse("try_document")}
    frame = _frame(("Reference", reverse("docs"))) | facts
    headers = {"Content-Security-Policy": POLICY_WITH_STYLES, "Cache-Control": "no-store"}
    return HttpResponse(render_to_string("docs/try.html", frame), headers=headers)


@compressed
def try_document(request: HttpRequest) -> HttpResponse:  # noqa: ARG001
    """Return the OpenAPI document for the page from which users can call operations."""
    headers = {"Cache-Control": f"public, max-age={MAX_AGE_SECONDS}"}
    return HttpResponse(viewer_bytes(settings.ROOT_URLCONF), content_type="application/json", headers=headers)


def root(request: HttpRequest) -> HttpResponse:
    """Return the start page in the chosen language, or in the browser's. API clients get 404."""
    addresses = {"docs": reverse("docs:front"), "reference": reverse("docs"), "back_office": reverse("admin:index")}
    if request.method in SAFE_METHODS and _is_a_person(request):
        pages = {
            "apply": reverse("my_apply"),
            "my": reverse("my"),
            "developers": reverse("developers"),
            "forgotten": reverse("account_reset_password"),
        }
        user: Any = request.user
        with override((user.is_authenticated and user.language) or get_language_from_request(request)):
            response = render(request, "docs/root.html", {**addresses, **pages})
    else:
        where = "Nothing is here. The documentation is at {docs} and {reference}, the back office at {back_office}."
        response = NotFound(where.format(**addresses)).response()
    response.headers["Vary"] = "Accept, Accept-Language"
    return response


def _reference_frame() -> dict[str, Any]:
    front, try_page_url = reverse("docs:front"), reverse("try")
    urls = {"errors": f"{front}/errors/", "try_page": try_page_url, "guides": f"{front}/search.html"}
    return {**_frame(("Try the operations", try_page_url)), **urls}


def _frame(link: tuple[str, str]) -> dict[str, Any]:
    home = reverse("docs:front")
    errors = reverse("docs:page", args=["reference/errors.html"])
    return {
        "name": settings.PROVIDER_NAME,
        "home": home,
        "icon": "backoffice/icon.svg",
        "document": reverse("openapi"),
        "links": [("Docs", home), ("Error codes", errors), link, ("Developers", reverse("developers"))],
    }


def _demo(request: HttpRequest) -> dict[str, Any]:
    """Return the output of `seed_demo` in development for requests from the same machine, otherwise {}.

    Users on other machines get the key from the operator.
    """
    names = {client_address(request), urlsplit(f"//{request.get_host()}").hostname}
    if settings.PRODUCTION or not names <= _THIS_MACHINE:
        return {}
    try:
        kept: dict[str, Any] = json.loads((Path(settings.VAR_DIR) / "demo.json").read_text())
    except OSError:
        return {}
    return kept


def _file(file: Path) -> HttpResponse:
    """Return a built file. The theme's pages need inline scripts and styles in the content security policy."""
    content = file.read_bytes()
    kind = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
    is_text = kind.startswith("text/")
    response = HttpResponse(content, content_type=f"{kind}; charset=utf-8" if is_text else kind)
    response.headers["Cache-Control"] = f"public, max-age={MAX_AGE_SECONDS}"
    if kind == "text/html":
        digests = [b64encode(sha256(script).digest()).decode() for script in _INLINE_SCRIPT.findall(content)]
        scripts = " ".join(["script-src 'self'", *(f"'sha256-{digest}'" for digest in digests)])
        response.headers["Content-Security-Policy"] = POLICY_WITH_STYLES.replace("script-src 'self'", scripts)
    return response


def _text(text: str) -> HttpResponse:
    return HttpResponse(text, content_type=MARKDOWN, headers={"Cache-Control": f"public, max-age={MAX_AGE_SECONDS}"})


def _not_built() -> HttpResponse:
    """Return the placeholder until `make docs` has finished."""
    text = render_to_string("docs/not_built.html", {"provider_name": settings.PROVIDER_NAME})
    return HttpResponse(text, status=503, headers={"Retry-After": str(BUILD_SECONDS), "Cache-Control": "no-store"})


def _is_a_person(request: HttpRequest) -> bool:
    return prefers("text/html", request.headers.get("Accept", ""))
