"""The consent page, and the page of granted access. They work without JavaScript."""

from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.mixins import LoginRequiredMixin
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext, gettext_noop
from django.views.generic import ListView
from oauth2_provider.exceptions import OAuthToolkitError
from oauth2_provider.forms import AllowForm
from oauth2_provider.views import AuthorizationView
from oauthlib.oauth2 import InvalidRequestError

from config.core.ids import queryable
from config.core.lifecycle import Actor
from config.core.log_in import gave_second_factor
from identity.access.models import OAuthClient, TokenFamily
from identity.access.scopes import ACTING_SCOPES, BINDING, SCOPES, refused_with
from identity.access.second_factor import has_one
from identity.accounts import managed
from identity.accounts.consents import end_consents_to_app

CHALLENGE_MAX = 128  # the maximum length of a code challenge (RFC 7636, section 4.2)
NONCE_MAX = 255  # the maximum length of the grant's column


class ConsentForm(AllowForm):  # type: ignore[misc]
    """The user's response. The client gets the requested scopes that remain checked."""

    omits_redirect_uri = forms.BooleanField(required=False, widget=forms.HiddenInput())
    granted = forms.MultipleChoiceField(
        required=False, choices=list(SCOPES.items()), widget=forms.CheckboxSelectMultiple
    )
    code_challenge = forms.CharField(required=False, max_length=CHALLENGE_MAX, widget=forms.HiddenInput())
    nonce = forms.CharField(required=False, max_length=NONCE_MAX, widget=forms.HiddenInput())

    def clean_client_id(self) -> str:
        """Reject a client that was deleted after the page was displayed."""
        client_id: str = self.cleaned_data["client_id"]
        if not OAuthClient.objects.filter(client_id=client_id).exists():
            raise forms.ValidationError("Client not found.")
        return client_id

    def clean(self) -> dict[str, Any]:
        """Limit `scope` to the granted scopes. If no scope is granted, deny the request."""
        answer: dict[str, Any] = super().clean()
        granted = [scope for scope in answer.get("scope", "").split() if scope in answer.get("granted", ())]
        return {**answer, "scope": " ".join(granted), "allow": bool(answer.get("allow") and granted)}


class ConsentPage(AuthorizationView):  # type: ignore[misc]
    form_class = ConsentForm
    template_name = "oauth/authorize.html"
    _destination = ""
    _omits_redirect_uri = False

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        # Remove the client's parameters that could skip the consent.
        parameters = request.GET.copy()
        for unwanted in ("prompt", "approval_prompt", "request", "claims", "resource"):
            parameters.pop(unwanted, None)
        request.GET = parameters  # type: ignore[assignment]
        return super().get(request, *args, **kwargs)

    def validate_authorization_request(self, request: HttpRequest) -> Any:
        """Redirect to the client with an error if a challenge is too long for its column."""
        scopes, credentials = super().validate_authorization_request(request)
        self._destination = credentials["redirect_uri"]
        if len(credentials.get("code_challenge") or "") > CHALLENGE_MAX:
            words = f"A code_challenge has at most {CHALLENGE_MAX} characters."
            error = InvalidRequestError(description=words, state=credentials["state"])
            raise OAuthToolkitError(error, redirect_uri=credentials["redirect_uri"])
        return scopes, credentials

    def get_initial(self) -> dict[str, Any]:
        return super().get_initial() | {"omits_redirect_uri": "redirect_uri" not in self.request.GET}

    def form_valid(self, form: Any) -> HttpResponseBase:
        self._destination = form.cleaned_data["redirect_uri"]
        self._omits_redirect_uri = form.cleaned_data["omits_redirect_uri"]
        return super().form_valid(form)

    def create_authorization_response(
        self, request: HttpRequest, scopes: str, credentials: dict[str, Any], allow: bool
    ) -> Any:
        """Record in the validator's request that the client omitted `redirect_uri` and uses its default."""
        credentials["omits_redirect_uri"] = self._omits_redirect_uri
        return super().create_authorization_response(request, scopes, credentials, allow)

    def error_response(self, error: Any, application: OAuthClient | None, **options: Any) -> HttpResponseBase:
        self._destination = getattr(error.oauthlib_error, "redirect_uri", None) or ""
        return super().error_response(error, application, **options)

    def form_invalid(self, form: Any) -> HttpResponseBase:  # noqa: ARG002
        """Return an error page, because the form was changed or its client was deleted."""
        error = InvalidRequestError(
            description=gettext_noop("The form was not complete, or the app is no longer known.")
        )
        return self.render_to_response({"error": error}, status=400)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context: dict[str, Any] = super().get_context_data(**kwargs)
        scopes = context.get("scopes", [])
        context["destination"] = urlsplit(context.get("redirect_uri") or "").netloc
        context["permissions"] = [(scope, gettext(SCOPES[scope])) for scope in scopes if scope not in BINDING]
        context["binding"] = [(scope, gettext(SCOPES[scope])) for scope in scopes if scope in BINDING]
        context["refused"] = [gettext(words) for words in refused_with(scopes)]
        return context

    def redirect(self, redirect_to: str, application: OAuthClient | None) -> HttpResponseBase:
        """Redirect to the client. Errors also contain `iss` (RFC 9207, section 2).

        The query of the client's redirect URI remains unchanged, because oauthlib would encode it differently.
        """
        answer = parse_qsl(urlsplit(redirect_to).query, keep_blank_values=True)
        for pair in parse_qsl(urlsplit(self._destination).query, keep_blank_values=True):
            if pair in answer:  # django-oauth-toolkit replaces `iss`
                answer.remove(pair)
        answer = [(name, value) for name, value in answer if name != "iss"]
        separator = "&" if "?" in self._destination else "?"
        named = f"{self._destination}{separator}{urlencode([*answer, ('iss', settings.HOST_ROOT)])}"
        return super().redirect(named, application)

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Add the client to `form-action`, because browsers also apply this policy to the redirect after the form."""
        user: Any = request.user
        if user.is_authenticated and has_one(user) and not gave_second_factor(request):
            return redirect_to_login(request.get_full_path(), reverse("mfa_reauthenticate"))
        response: HttpResponseBase = super().dispatch(request, *args, **kwargs)
        context = getattr(response, "context_data", None) or {}
        parts = urlsplit(context.get("redirect_uri") or "")
        if parts.scheme in {"http", "https"} and context.get("scopes"):
            response.headers["Content-Security-Policy"] = settings.CONTENT_SECURITY_POLICY.replace(
                "form-action 'self'", f"form-action 'self' {parts.scheme}://{parts.netloc}"
            )
        response.headers["Cache-Control"] = "no-store"
        return response


class GrantsPage(LoginRequiredMixin, ListView):  # type: ignore[type-arg]
    """The apps and the partner that have access to the user's account. A button ends each access."""

    template_name = "oauth/grants.html"
    context_object_name = "clients"

    def get_queryset(self) -> Any:
        user: Any = self.request.user
        families = TokenFamily.objects.filter(
            user=user,
            client__isnull=False,
            revoked_at__isnull=True,
            created_at__gte=user.credentials_changed_at,
            refresh_tokens__expires_at__gt=timezone.now(),
            refresh_tokens__used_at__isnull=True,
        )
        by_client: dict[Any, list[TokenFamily]] = {}
        for family in families.select_related("client").order_by("created_at").distinct():
            by_client.setdefault(family.client, []).append(family)
        grants = []
        for client, held in by_client.items():
            scopes = {scope for family in held for scope in family.scope.split()}
            permissions = [gettext(words) for scope, words in SCOPES.items() if scope in scopes]
            grants.append({"client": client, "since": held[0].created_at, "permissions": permissions})
        return grants

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        partners = managed.partners_of(self.request.user)
        permissions = [gettext(SCOPES[scope]) for scope in ACTING_SCOPES]
        return {**super().get_context_data(**kwargs), "partners": partners, "partner_permissions": permissions}

    def post(self, request: HttpRequest, *_args: Any, **_kwargs: Any) -> HttpResponseBase:
        user: Any = request.user
        if "partner" in request.POST:
            for account in managed.partners_of(user):
                managed.end_access(account, now=timezone.now())
                messages.success(request, gettext("The partner can no longer act on your behalf."))
            return HttpResponseRedirect("/oauth/grants")
        client = get_object_or_404(OAuthClient, client_id=queryable(request.POST.get("client_id", "")))
        end_consents_to_app(Actor(user, "session"), client, now=timezone.now())
        messages.success(request, gettext("The app can no longer act on your behalf."))
        return HttpResponseRedirect("/oauth/grants")
