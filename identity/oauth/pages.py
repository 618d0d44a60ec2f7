"""The pages that a person sees: log-in, consent, and what they have consented to. They work without JavaScript."""

from typing import Any, cast
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth.mixins import LoginRequiredMixin
from django.contrib.auth.views import LoginView, LogoutView
from django.http import HttpRequest, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404
from django.utils import timezone
from django.views.generic import ListView
from oauth2_provider.views import AuthorizationView

from identity import tokens
from identity.authentication import forget_credentials
from identity.models import OAuthClient, TokenFamily, User
from identity.scopes import SCOPES

LOGIN_PATH = "/oauth/login"


BRAND = {"provider_name": settings.PROVIDER_NAME}


class LogInPage(LoginView):
    """Log-in for everybody, staff or not."""

    template_name = "oauth/login.html"
    extra_context = BRAND
    redirect_authenticated_user = True
    next_page = "/oauth/grants"


class LogOutPage(LogoutView):
    """Log-out, by POST."""

    next_page = LOGIN_PATH


class ConsentPage(AuthorizationView):  # type: ignore[misc]
    """Asks a person whether a client may act for them, naming the client and each thing that it may then do."""

    template_name = "oauth/authorize.html"
    extra_context = BRAND
    login_url = LOGIN_PATH

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Ask, every time: no parameter of the client's decides that a person need not be asked."""
        asked = request.GET.copy()
        for unwanted in ("prompt", "approval_prompt", "request", "claims", "resource"):
            asked.pop(unwanted, None)
        request.GET = asked  # type: ignore[assignment]
        response: HttpResponseBase = super().get(request, *args, **kwargs)
        return response

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Put each scope in plain words, and where the answer goes."""
        context: dict[str, Any] = super().get_context_data(**kwargs)
        redirect = context.get("redirect_uri") or ""
        if isinstance(redirect, str) and redirect:
            context["destination"] = urlsplit(redirect).netloc
        context["permissions"] = [(scope, SCOPES[scope]) for scope in context.get("scopes", ())]
        return context

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Answer, and let the form's answer travel to the client: browsers hold redirects against `form-action`."""
        response: HttpResponseBase = super().dispatch(request, *args, **kwargs)
        context = getattr(response, "context_data", None) or {}
        parts = urlsplit(context.get("redirect_uri") or "")
        if parts.scheme in {"http", "https"} and context.get("permissions"):
            response.headers["Content-Security-Policy"] = settings.CONTENT_SECURITY_POLICY.replace(
                "form-action 'self'", f"form-action 'self' {parts.scheme}://{parts.netloc}"
            )
        response.headers["Cache-Control"] = "no-store"
        return response


class GrantsPage(LoginRequiredMixin, ListView):  # type: ignore[type-arg]
    """Everything a person has let clients do, with a button to end each."""

    template_name = "oauth/grants.html"
    extra_context = BRAND
    login_url = LOGIN_PATH
    context_object_name = "clients"

    def get_queryset(self) -> Any:
        """Return the clients that can act for this person now, each with what it may do."""
        user = cast("User", self.request.user)
        families = (
            TokenFamily.objects.filter(
                user=user,
                client__isnull=False,
                revoked_at__isnull=True,
                created_at__gte=user.credentials_changed_at,
                refresh_tokens__expires_at__gt=timezone.now(),
                refresh_tokens__used_at__isnull=True,
            )
            .select_related("client")
            .order_by("created_at")
            .distinct()
        )
        found: dict[int | None, dict[str, Any]] = {}
        for family in families:
            shown = found.setdefault(
                family.client_id, {"client": family.client, "since": family.created_at, "scopes": set()}
            )
            shown["scopes"] |= set(family.scope.split())
        for shown in found.values():
            shown["permissions"] = [words for scope, words in SCOPES.items() if scope in shown["scopes"]]
        return list(found.values())

    def post(self, request: HttpRequest, *_args: Any, **_kwargs: Any) -> HttpResponseBase:
        """End everything that one client can do for this person."""
        client = get_object_or_404(OAuthClient, client_id=request.POST.get("client_id", ""))
        now = timezone.now()
        for family in TokenFamily.objects.filter(
            user=cast("User", request.user), client=client, revoked_at__isnull=True
        ):
            tokens.revoke_family(family.pk, now=now)
        forget_credentials()
        return HttpResponseRedirect("/oauth/grants")
