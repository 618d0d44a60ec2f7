"""Recovery of a form's fields if the form was submitted without a sufficient log-in.

The browser's new, encrypted session stores the form's body for SESSION_COOKIE_AGE. Only the account that logged in last
with this browser (cookie `known_device`) can get the fields. Files and passwords are not stored.

A view class with `restores_text = True` fills its own form with `restored(request)`, and all its fields are stored.
Other forms are stored if a user typed a text into them. After the log-in, a page offers to send or discard the text.
"""

from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext, override

from identity.accounts.adapter import known_person
from identity.accounts.languages import page_language

LETTERS_MAX = 100_000
_KEPT = "typed_text"
_DISCARD = "discard"
DISCARD = f"?{_DISCARD}"  # the link that deletes the stored fields of a page
_BUTTON = "do"
_NEVER_KEPT = frozenset({"csrfmiddlewaretoken", "code", "credential"})
_TEXTS = frozenset({"claimed", "documents", "first_name", "last_name", "reason", "statement", "text"})


class TypedText:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if not request.path_info.startswith(("/admin/", "/my", "/account/", "/developers")):
            return self.get_response(request)
        if request.method == "GET" and (page := _offer(request)):
            return page
        response = self.get_response(request)
        query = parse_qs(urlsplit(response.headers.get("Location", "")).query)
        leads_back = query.get("next") in ([request.path], [request.get_full_path()])
        if response.status_code == 302 and leads_back:
            has_ended = _has_ended(request)
            is_kept = request.method == "POST" and _keep(request)
            if has_ended:
                with _language_of(request):
                    saved = gettext("Your session has ended. Your text is saved. Log in to send it.")
                    messages.info(request, saved if is_kept else gettext("Your session has ended. Log in again."))
        elif request.method == "POST" and response.status_code < 400 and _kept_path(request) == request.path:
            del request.session[_KEPT]
        return response


def _kept_path(request: HttpRequest) -> str | None:
    path: str | None = request.session.get(_KEPT, {}).get("path")
    return path


def _has_ended(request: HttpRequest) -> bool:
    """Check whether a request comes from a page of this site, in a browser with an earlier log-in, but no session."""
    page = request.headers.get("Referer", "")
    from_here = url_has_allowed_host_and_scheme(page, {request.get_host()}, require_https=request.is_secure())
    is_next = from_here or request.method == "POST"
    return is_next and not request.user.is_authenticated and known_person(request) is not None


def _language_of(request: HttpRequest) -> override:
    return override(page_language(request) if request.path_info.startswith(("/my", "/account/")) else None)


def _keep(request: HttpRequest) -> bool:
    """Store the fields of the form if they contain a typed text. Return whether they are stored."""
    person = request.user.pk or known_person(request)
    fields = {
        name: values for name, values in request.POST.lists() if name not in _NEVER_KEPT and "password" not in name
    }
    typed = [(name, value) for name, values in fields.items() for value in values]
    letters = sum(len(value) for _name, value in typed)
    view = getattr(request.resolver_match and request.resolver_match.func, "view_class", None)
    restores = getattr(view, "restores_text", False)
    has_text = any(_is_text(name, value) or (restores and name != _BUTTON and value.strip()) for name, value in typed)
    is_kept = bool(person and has_text and letters <= LETTERS_MAX)
    if is_kept:
        request.session[_KEPT] = {"person": person, "path": request.path, "fields": fields, "restores": restores}
    return is_kept


def restored(request: HttpRequest) -> QueryDict | None:
    """Return the stored fields for a view with `restores_text`, or None. `TypedText` has checked the account."""
    kept = request.session.get(_KEPT)
    if kept is None or kept["path"] != request.path:
        return None
    fields = QueryDict(mutable=True)
    for name, values in kept["fields"].items():
        fields.setlist(name, values)
    return fields


def _offer(request: HttpRequest) -> HttpResponse | None:
    """Return the page that offers the stored fields. Returns None if none are stored for this page and account."""
    kept = request.session.get(_KEPT)
    if kept is None or kept["path"] != request.path or not request.user.is_authenticated:
        return None
    if kept["person"] != request.user.pk or _DISCARD in request.GET:
        del request.session[_KEPT]
        return HttpResponseRedirect(request.path)
    if kept.get("restores"):  # sessions of an earlier version lack the value
        return None
    fields = [
        {"name": name, "value": value, "is_text": _is_text(name, value)}
        for name, values in kept["fields"].items()
        for value in values
    ]
    with _language_of(request):
        response = render(request, "account/typed_text.html", {"fields": fields, "discard": DISCARD})
    response.headers["Cache-Control"] = "no-store"
    return response


def _is_text(name: str, value: str) -> bool:
    """Check whether a user may have typed a value.

    In a field outside of `_TEXTS`, a value with spaces or non-ASCII characters is typed text, because choices and ids
    contain neither.
    """
    if name in _TEXTS:
        return bool(value.strip())
    return name != _BUTTON and (not value.isascii() or any(letter.isspace() for letter in value.strip()))
