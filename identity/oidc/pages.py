"""The pages under `/account/oidc/`: the log-in at the issuer, its callback, and back-channel logout."""

import logging
import secrets
import time
from datetime import timedelta
from typing import Any

from allauth.account.adapter import get_adapter
from allauth.account.utils import perform_login
from django.conf import settings
from django.contrib.auth import logout
from django.contrib.auth.mixins import LoginRequiredMixin
from django.contrib.auth.views import redirect_to_login
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext
from django.views.decorators.csrf import csrf_exempt
from django.views.generic import View

from config.api.rate_limits import consume_by_address
from config.core import audit
from config.core.log_in import BY_ISSUER, ISSUER_SESSION, SECOND_FACTOR, gave_second_factor
from identity.access.second_factor import has_one
from identity.oidc import client, services
from identity.oidc.client import SignInFailed
from identity.oidc.services import LogInRefused

logger = logging.getLogger("platform.log_ins")

_TRIES = "issuer_tries"  # the session key of state → (nonce, verifier, target page, start time)
_TRIES_MAX = 5
_TRY_SECONDS = 600
_FAILED = "The log-in at your organization could not be completed. Start again from the log-in page."
_OUTAGE = "Your organization's log-in service does not respond. Try again in a minute."


class IssuerPage(View):
    def dispatch(self, request: HttpRequest, *arguments: Any, **options: Any) -> Any:
        if settings.STAFF_OIDC is None:
            raise Http404
        if request.method == "GET":  # `AccountPages` limits the rate of forms
            consume_by_address("token", request)
        return super().dispatch(request, *arguments, **options)


class StartPage(IssuerPage):
    """Redirect to the issuer. A GET request is safe, because it stores values only in this browser's session."""

    def get(self, request: HttpRequest) -> HttpResponse:
        state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
        wanted = request.GET.get("next", "")
        if not url_has_allowed_host_and_scheme(wanted, {request.get_host()}, require_https=request.is_secure()):
            wanted = settings.LOGIN_REDIRECT_URL
        try:
            address = client.authorization_address(state=state, nonce=nonce, verifier=verifier)
        except SignInFailed as failure:
            return _failed(request, failure)
        tries = [*request.session.get(_TRIES, {}).items()][1 - _TRIES_MAX :]
        request.session[_TRIES] = {**dict(tries), state: [nonce, verifier, wanted, int(time.time())]}
        return HttpResponseRedirect(address)


class CallbackPage(IssuerPage):
    """Process the issuer's response. Each state is valid at most once, in the browser that started the log-in."""

    def get(self, request: HttpRequest) -> HttpResponse:
        tries = request.session.get(_TRIES, {})
        attempt = tries.pop(request.GET.get("state", ""), None)
        request.session[_TRIES] = tries
        if request.session.session_key:
            request.session.save()  # save early, so that only one of two concurrent requests finds the state
        try:
            claims, wanted = _claims_of(request, attempt)
            is_strong = client.has_second_factor(claims)
            user, session = services.log_in_person(claims, now=timezone.now())
        except SignInFailed as failure:
            return _failed(request, failure)
        except LogInRefused as refusal:
            return _refused(request, refusal.word, str(refusal), 403)
        return _log_in(request, user, session.pk, wanted=wanted, is_strong=is_strong)


def _claims_of(request: HttpRequest, attempt: list[Any] | None) -> tuple[dict[str, Any], str]:
    """Return the user's claims from the issuer, and the target page. Raises SignInFailed."""
    if attempt is None or time.time() - attempt[3] > _TRY_SECONDS:
        raise SignInFailed("state")
    nonce, verifier, wanted, _began = attempt
    client.check_response_issuer(request.GET.get("iss"))
    if "error" in request.GET or not request.GET.get("code"):
        raise SignInFailed("refused_by_issuer")
    return client.exchange_code(request.GET["code"], verifier=verifier, nonce=nonce), wanted


def _log_in(request: HttpRequest, user: Any, session_id: Any, *, wanted: str, is_strong: bool) -> HttpResponse:
    """Start the session. If the issuer checked no second factor, the next page requires the account's second factor."""
    if request.user.is_authenticated:
        logout(request)
    request.session.pop(SECOND_FACTOR, None)
    request.session[ISSUER_SESSION] = str(session_id)
    response: HttpResponse
    if not is_strong:
        response = perform_login(request, user, redirect_url=wanted)
        return response
    adapter = get_adapter()
    adapter.login(request, user)
    request.session[SECOND_FACTOR] = BY_ISSUER
    response = adapter.post_login(
        request, user, email_verification="none", signal_kwargs=None, email=None, signup=False, redirect_url=wanted
    )
    return response


class CodePage(LoginRequiredMixin, IssuerPage):
    """Show a one-time code to staff without a password. The API exchanges the code for tokens."""

    def post(self, request: HttpRequest) -> HttpResponse:
        session_id = request.session.get(ISSUER_SESSION)
        if session_id is None:
            raise Http404
        if not gave_second_factor(request):
            way = reverse("mfa_reauthenticate" if has_one(request.user) else "mfa_index")
            return redirect_to_login(reverse("account"), way)
        code = services.create_code(session_id, now=timezone.now())
        minutes = services.CODE_LASTS // timedelta(minutes=1)
        response = render(request, "account/token_code.html", {"code": code, "minutes": minutes})
        response.headers["Cache-Control"] = "no-store"
        return response


@method_decorator(csrf_exempt, name="dispatch")  # the issuer sends the request, and signs the token
class LogoutPage(IssuerPage):
    def post(self, request: HttpRequest) -> HttpResponse:
        try:
            claims = client.read_logout_token(request.POST.get("logout_token"))
        except SignInFailed as failure:
            consume_by_address("token", request)
            logger.warning("back-channel logout refused: %s", failure.word)
            return JsonResponse({"error": "invalid_request"}, status=503 if failure.is_outage else 400)
        services.log_out_person(claims, now=timezone.now())
        return HttpResponse(status=200)


def _failed(request: HttpRequest, failure: SignInFailed) -> HttpResponse:
    text, status = (_OUTAGE, 502) if failure.is_outage else (_FAILED, 403)
    return _refused(request, failure.word, text, status)


def _refused(request: HttpRequest, word: str, text: str, status: int) -> HttpResponse:
    logger.warning("log-in at the issuer failed: %s", word)
    audit.emit_now("log_in.failed", user=audit.ocsf_user("issuer"), status_detail=word)
    return render(request, "account/refused.html", {"text": gettext(text)}, status=status)
