"""Recovery of a form's fields if the form was submitted without a sufficient log-in.

The browser's new, encrypted session stores the form's body for SESSION_COOKIE_AGE. Only the account that logged in last
with this browser (cookie `known_device`) can get the fields. Files and passwords are not stored.
"""

from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils.translation import override

from identity.accounts.adapter import known_person
from identity.accounts.languages import page_language

LETTERS_MAX = 100_000
_KEPT = "typed_text"
_DISCARD = "discard"
_BUTTON = "do"
_NEVER_KEPT = frozenset({"csrfmiddlewaretoken", "code", "credential"})


class TypedText:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if not request.path_info.startswith(("/admin/", "/my", "/account/", "/developers")):
            return self.get_response(request)
        if request.method == "GET" and (page := _offer(request)):
            return page
        response = self.get_response(request)
        if request.method == "POST":
            query = parse_qs(urlsplit(response.headers.get("Location", "")).query)
            if response.status_code == 302 and query.get("next") in ([request.path], [request.get_full_path()]):
                _keep(request)
            elif response.status_code < 400 and request.session.get(_KEPT, {}).get("path") == request.path:
                del request.session[_KEPT]
        return response


def _keep(request: HttpRequest) -> None:
    person = request.user.pk or known_person(request)
    fields = {
        name: values for name, values in request.POST.lists() if name not in _NEVER_KEPT and "password" not in name
    }
    typed = [(name, value) for name, values in fields.items() for value in values]
    letters = sum(len(value) for _name, value in typed)
    if person and any(_is_text(name, value) for name, value in typed) and letters <= LETTERS_MAX:
        request.session[_KEPT] = {"person": person, "path": request.path, "fields": fields}


def _offer(request: HttpRequest) -> HttpResponse | None:
    """Return the page that offers the stored fields. Returns None if none are stored for this page and account."""
    kept = request.session.get(_KEPT)
    if kept is None or kept["path"] != request.path or not request.user.is_authenticated:
        return None
    if kept["person"] != request.user.pk or _DISCARD in request.GET:
        del request.session[_KEPT]
        return HttpResponseRedirect(request.path)
    fields = [
        {"name": name, "words": name.replace("_", " "), "value": value, "is_text": _is_text(name, value)}
        for name, values in kept["fields"].items()
        for value in values
    ]
    with override(page_language(request) if request.path_info.startswith(("/my", "/account/")) else None):
        response = render(request, "account/typed_text.html", {"fields": fields, "discard": f"?{_DISCARD}"})
    response.headers["Cache-Control"] = "no-store"
    return response


def _is_text(name: str, value: str) -> bool:
    """Check whether a user may have typed a value. Unlike buttons, choices and ids are ASCII without spaces."""
    return name != _BUTTON and (not value.isascii() or any(letter.isspace() for letter in value.strip()))
