"""Middleware for the pages under `/account/`: rate limits, language, and error pages.

The middleware runs before the CSRF check, so the limits also count forms that the check rejects. Forms that look up an
address do equal work for known and unknown addresses (`identity.accounts.forms`), so no form is delayed.
"""

import logging
from collections.abc import Callable
from datetime import UTC, tzinfo
from typing import Any

from django.contrib.auth.views import redirect_to_login
from django.db import IntegrityError
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import activate, get_language_from_request, gettext, override

from config.api.rate_limits import RateLimited, consume_by_address
from config.core.errors import ApiError
from config.core.json_text import is_deeper
from config.core.log_in import gave_second_factor
from config.core.registration import declared
from identity.access.second_factor import has_one
from identity.accounts.languages import chosen_language
from identity.accounts.links import LinkEnded

logger = logging.getLogger("platform.accounts")

PREFIX = "/account/"
NO_PASSKEY = "The passkey's data are invalid."
# These limits apply to a form in addition to the general limit.
_COUNTED = {
    "account_signup": ("new_account", "mail_address"),
    "account_reset_password": ("mail_address",),
    "account_email": ("mail_address",),
    "account_email_verification_sent": ("mail_address",),
}
_LANGUAGE = "account_language"
_PAGES = (PREFIX, "/oauth/grants", "/oauth/authorize")  # the path prefixes of pages in the account's language
# The identity provider calls this page from one address for all staff. The view counts calls with an invalid token.
_SIGNED = frozenset({"oidc_logout"})
# Forms that could give an attacker access, or lock the owner out.
_CHANGES = frozenset({
    "account_email", "account_change_password", "account_set_password", "account_reauthenticate", "account_privacy",
    "account_invitation", "account_confirm_address",
})  # fmt: skip
# Pages of the second factor that submit a code or change nothing.
_GIVES = frozenset({"mfa_index", "mfa_authenticate", "mfa_reauthenticate", "mfa_reauthenticate_webauthn"})
_PASSKEY_DEPTH_MAX = 8  # about twice the depth in browsers' requests
# The passkey library raises these exceptions for malformed input.
_UNREADABLE = (AttributeError, IndexError, KeyError, RecursionError, TypeError, ValueError)


# These pages display dates in the time zone of the account.
_DATED = frozenset({"/account/sessions", "/account/privacy", "/account/second-factor", "/oauth/grants"})


class AccountPages:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if not request.path_info.startswith(_PAGES):
            return self.get_response(request)
        with override(get_language_from_request(request)), timezone.override(None):
            response = self.get_response(request)
        response.headers["Cache-Control"] = "no-store"
        response.headers.pop("Expires", None)  # the header is redundant, because its value is the time of the response
        return response

    def process_view(self, request: HttpRequest, *_view: Any) -> HttpResponse | None:
        """Activate the account's language. Require the account's second factor for sensitive forms, and count forms."""
        if request.path_info.startswith(_PAGES) and (language := chosen_language(request)):
            activate(language)  # `__call__` restores the language for the thread's next request
        if request.path_info in _DATED and request.user.is_authenticated:
            timezone.activate(_tzinfo_of(request.user))
        if not request.path_info.startswith(PREFIX):
            return None
        name = getattr(request.resolver_match, "url_name", None) or ""
        changes = name in _CHANGES or (name.startswith("mfa_") and name not in _GIVES)
        if changes and request.user.is_authenticated and has_one(request.user) and not gave_second_factor(request):
            return redirect_to_login(request.path_info, reverse("mfa_reauthenticate"))
        if request.method != "POST" or name in _SIGNED:
            return None
        try:
            # The choice of a language does not count as an attempt to log in.
            for limit in ("anonymous",) if name == _LANGUAGE else ("token", *_COUNTED.get(name, ())):
                consume_by_address(limit, request)
        except ApiError as refusal:
            return _refused(request, refusal)
        # A valid passkey has less depth, and a deeper document could overflow the parser's stack.
        if is_deeper(request.POST.get("credential", "").encode(errors="replace"), _PASSKEY_DEPTH_MAX):
            return _error_page(request, gettext(NO_PASSKEY), 400)
        return None

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        if not request.path_info.startswith(PREFIX):
            return None
        if "credential" in request.POST and isinstance(error, _UNREADABLE):
            logger.warning("a passkey could not be read", exc_info=error)  # bugs can also raise these exceptions
            return _error_page(request, gettext(NO_PASSKEY), 400)
        if isinstance(error, LinkEnded):  # a concurrent request has just used the link
            title = gettext("This link has expired")
            return _error_page(request, gettext("The link was used or replaced, or is too old."), 410, title=title)
        if isinstance(error, IntegrityError):
            return _error_page(request, gettext("Another request completed this step first."), 409)
        return _refused(request, error) if isinstance(error, ApiError) else None


def _tzinfo_of(user: Any) -> tzinfo:
    return next((tzinfo_of(user) for tzinfo_of in declared("account_time_zone")), UTC)


def _error_page(request: HttpRequest, text: str, status: int, **context: Any) -> HttpResponse:
    return render(request, "account/refused.html", {"text": text, **context}, status=status)


def _refused(request: HttpRequest, refusal: ApiError) -> HttpResponse:
    text, title = gettext(str(refusal)), ""
    if isinstance(refusal, RateLimited):
        seconds, title = int(refusal.headers["Retry-After"]), gettext("Too many tries")
        text = gettext("Too many tries. Try again in %(minutes)s minutes.") % {"minutes": -(-seconds // 60)}
    is_locked_name = refusal.headers.get("RateLimit-Policy", "").startswith('"login_name"')
    page = _error_page(request, text, refusal.status, title=title, is_locked_name=is_locked_name)
    for name, value in refusal.headers.items():
        page.headers[name] = value
    return page
