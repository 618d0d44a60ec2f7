"""The language of the pages for applicants and accounts: the user's choice, or the browser's language."""

from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.translation import get_language_from_request, get_supported_language_variant
from django.views.decorators.http import require_POST
from django.views.i18n import set_language


def chosen_language(request: HttpRequest) -> str:
    """Return the language that the account or, without a log-in, the browser chose.

    Return "" if neither has chosen a language.
    """
    user: Any = getattr(request, "user", None)
    if user is not None and user.is_authenticated and user.language:
        return str(user.language)
    return _supported(request.COOKIES.get(settings.LANGUAGE_COOKIE_NAME, ""))


def page_language(request: HttpRequest) -> str:
    """Return the language of a page that belongs to no application."""
    return chosen_language(request) or get_language_from_request(request)


@require_POST
def choose_language(request: HttpRequest) -> HttpResponseBase:
    """Store the language in a cookie and, after a log-in, in the account. Redirect to the page in `next`."""
    if request.user.is_authenticated:
        store_language(request.user, request.POST.get("language", ""))
    return set_language(request)


def store_language(user: Any, code: str) -> str:
    """Store the language of an account. Return it, or "" for an unsupported code, which is not stored."""
    if language := _supported(code):
        get_user_model().objects.filter(pk=user.pk).update(language=language)
    return language


def _supported(code: str) -> str:
    try:
        return get_supported_language_variant(code) if code else ""
    except LookupError:
        return ""
