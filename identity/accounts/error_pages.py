"""Error pages for browsers at all addresses outside of the API.

The pages need no session and no database, so they also work if the database fails.
"""

from typing import Any

import orjson
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.utils.cache import patch_vary_headers
from django.utils.translation import get_language_from_request, override
from django.utils.translation import gettext_lazy as _

from config.core.errors import PROBLEM
from config.core.media_types import prefers

_API = "/v1"
_REPLACED = ("application/json", PROBLEM, "text/plain")
# This maps each status to the title, the meaning, and the next step.
_WORDS = {
    403: (_("You can't open this page"), _("Your account has no access to it."), _("Log in with another account.")),
    404: (
        _("Page not found"),
        _("The address is wrong, or the page belongs to another account."),
        _("Check the address, or start from one of these pages."),
    ),
    410: (
        _("This page is no longer available"),
        _("Its link was already used, or has expired."),
        _("Start from one of these pages."),
    ),
    429: (_("Too many requests"), _("You sent too many requests."), _("Wait a minute, then try again.")),
    503: (
        _("Temporarily unavailable"),
        _("The page is not available now."),
        _("Try again in a few minutes. Your saved data are not lost."),
    ),
}
_REFUSED = (_("This request can't be answered"), _("Nothing was saved."), _("Go back and try again."))
_FAULT = (_("Something went wrong"), _("The error is on our side, and was recorded."), _("Try again in a few minutes."))
# This maps the path of each section to the text of its link. An error page links to all sections that contain it.
_SECTIONS = {
    "/my/apply": _("Compare offers"),
    "/my": _("My applications"),
    "/developers": _("Developers"),
    "/admin/": _("Back office"),
}
_ACCOUNT = ("/account/", _("My account"))


def write_for_browser(request: HttpRequest, response: HttpResponse) -> None:
    """Replace the error response of a page with an HTML page if the caller accepts HTML."""
    path = request.path_info
    kind = response.headers.get("Content-Type", "").partition(";")[0]
    reads_html = prefers("text/html", request.headers.get("Accept", ""))
    if not reads_html or kind not in _REPLACED or path == _API or path.startswith(f"{_API}/"):
        return
    title, meaning, remedy = _WORDS.get(response.status_code, _FAULT if response.status_code >= 500 else _REFUSED)
    sections = [(start, name) for start, name in _SECTIONS.items() if path.startswith(start.rstrip("/"))]
    context = {
        "title": title, "meaning": meaning, "remedy": remedy, "provider_name": settings.PROVIDER_NAME,
        "ways": [*sections, _ACCOUNT], "request_id": _request_id(response),
        "privacy_policy_url": settings.PRIVACY_POLICY_URL, "terms_url": settings.TERMS_URL,
    }  # fmt: skip
    language = getattr(request, "LANGUAGE_CODE", None) or get_language_from_request(request)
    with override(language):
        response.content = render_to_string("account/error.html", context).encode()
    response.headers["Content-Type"] = "text/html; charset=utf-8"
    response.headers["Content-Length"] = str(len(response.content))
    patch_vary_headers(response, ("Accept", "Accept-Language"))


def _request_id(response: HttpResponse) -> str:
    """Return the request id of an error, or an empty string if the error has none."""
    try:
        body: Any = orjson.loads(response.content)
    except orjson.JSONDecodeError:
        return ""
    return str(body.get("request_id", "")) if isinstance(body, dict) else ""
