"""Pages under `/account/` that allauth lacks. They work without JavaScript."""

from datetime import timedelta
from typing import Any, ClassVar

from allauth.account import app_settings as allauth_settings
from allauth.account.adapter import get_adapter
from allauth.account.models import EmailAddress
from allauth.account.utils import get_next_redirect_url
from allauth.account.views import (
    ConfirmEmailView,
    EmailVerificationSentView,
    PasswordResetFromKeyDoneView,
    PasswordResetFromKeyView,
)
from allauth.usersessions.models import UserSession
from allauth.usersessions.views import ListUserSessionsView
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.forms import BaseUserCreationForm
from django.contrib.auth.mixins import LoginRequiredMixin, UserPassesTestMixin
from django.contrib.sessions.models import Session
from django.core import signing
from django.db import IntegrityError, transaction
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext, gettext_lazy, override
from django.views.generic import FormView, TemplateView, View

from config.core.lifecycle import Actor
from config.core.log_in import gave_second_factor
from config.mail.outbox import queue_requested_mail
from identity.access.models import AccountHistory, TokenFamily, User
from identity.access.second_factor import has_one
from identity.accounts import addresses, invitations, managed
from identity.accounts.adapter import CONFIRMED, UNCONFIRMED, is_generated, mark_device
from identity.accounts.browsers import browser_name
from identity.accounts.forms import CONFIRMATION_TEMPLATE, AddressForm, NameForm
from identity.accounts.languages import page_language
from identity.accounts.links import LinkEnded, find_link
from identity.accounts.models import Invitation, OneTimeLink
from identity.accounts.names import check_chosen
from identity.accounts.recovery import make_codes
from identity.accounts.roles import STAFF, is_partner, words_of
from identity.accounts.security_mails import suspended_by_reset

_SUSPENDED = "suspended_by_reset"  # the session key of the credentials that a password reset has suspended


def brand(_request: HttpRequest) -> dict[str, Any]:
    """Context processor for the installation's name, policies, and sign-up, and whether staff use single sign-on."""
    return {
        "provider_name": settings.PROVIDER_NAME,
        "privacy_policy_url": settings.PRIVACY_POLICY_URL,
        "terms_url": settings.TERMS_URL,
        "sign_up": settings.SIGN_UP,
        "staff_issuer": settings.STAFF_OIDC is not None,
    }


class NewPasswordPage(PasswordResetFromKeyView):  # type: ignore[misc]
    """The page behind a reset link. It marks the browser as known, so that strangers can't lock out its owner.

    Without this mark, failed log-ins of strangers could use up the limit of the owner's user name. The link proves that
    the caller reads the account's mail.
    """

    def form_valid(self, form: Any) -> HttpResponse:
        response: HttpResponse = super().form_valid(form)
        user = User.objects.get(pk=self.reset_user.pk)
        mark_device(response, user)
        self.request.session[_SUSPENDED] = suspended_by_reset(user)
        return response


class NewPasswordDonePage(PasswordResetFromKeyDoneView):  # type: ignore[misc]
    """Confirms a new password, and states which credentials of the account the reset has suspended."""

    def get_context_data(self, **options: Any) -> Any:
        return super().get_context_data(**options) | self.request.session.get(_SUSPENDED, {})


class CheckMailPage(EmailVerificationSentView):  # type: ignore[misc]
    """Announces a mail that confirms an address. A button sends another mail to the address of this browser."""

    def get_context_data(self, **options: Any) -> Any:
        return super().get_context_data(**options) | {"address": self.request.session.get(UNCONFIRMED)}

    def post(self, request: HttpRequest) -> HttpResponse:
        if address := request.session.get(UNCONFIRMED):
            queue_requested_mail(address, CONFIRMATION_TEMPLATE, {}, now=timezone.now())
            messages.success(request, gettext("We sent a mail to %(email)s.") % {"email": address})
        return HttpResponseRedirect(reverse("account_email_verification_sent"))


class ConfirmPage(ConfirmEmailView):  # type: ignore[misc]
    """The page behind the link that confirms a sign-up. After the confirmation, the link displays the result.

    In the browser of the sign-up, the confirmation logs the user in. Other browsers get the log-in page with the
    address.
    """

    def logout_other_user(self, confirmation: Any) -> None:
        """Log out the other account when the user presses the button, but not when the user opens the link."""
        if self.request.method == "POST":
            super().logout_other_user(confirmation)

    def respond(self, success: bool) -> Any:
        if success and not self.request.user.is_authenticated:
            self.request.session[CONFIRMED] = self.object.email_address.email
        return super().respond(success)

    def post(self, *args: Any, **options: Any) -> Any:
        try:
            return super().post(*args, **options)
        except Http404:  # the link was used, or has expired
            return self.get(*args, **options)

    def get_context_data(self, **options: Any) -> Any:
        user: Any = self.request.user
        of_another = self.object and user.is_authenticated and user.pk != self.object.email_address.user_id
        return super().get_context_data(**options) | {"is_confirmed": self._is_confirmed(), "of_another": of_another}

    def _is_confirmed(self) -> bool:
        try:
            key = signing.loads(self.kwargs["key"], salt=allauth_settings.SALT)
        except signing.BadSignature:
            return False
        return bool(EmailAddress.objects.filter(pk=key, verified=True).exists())


def form_expired(request: HttpRequest, reason: str = "") -> HttpResponse:  # noqa: ARG001  Django passes it, for developers
    """Respond to a form whose CSRF token is invalid, because the session ended or another tab started a new session."""
    page = request.headers.get("Referer", "")
    if not url_has_allowed_host_and_scheme(page, {request.get_host()}, require_https=request.is_secure()):
        page = ""
    with override(page_language(request)):
        response = render(request, "account/form_expired.html", {"page": page}, status=403)
    response.headers["Cache-Control"] = "no-store"
    return response


class AccountPage(LoginRequiredMixin, TemplateView):
    template_name = "account/account.html"

    def get_context_data(self, **options: Any) -> dict[str, Any]:
        address = EmailAddress.objects.filter(user=self.request.user.pk, primary=True).first()
        return super().get_context_data(**options) | {
            "address": address,
            "may_change_name": not is_partner(self.request.user),
            "has_chosen_name": not is_generated(self.request.user.get_username()),
        }

    def post(self, request: HttpRequest) -> HttpResponse:
        """Change whether the user gets mail about applications."""
        user: Any = request.user
        user.wants_mail = request.POST.get("wants_mail") == "yes"
        user.save(update_fields=["wants_mail"])
        return HttpResponseRedirect(reverse("account"))


class SessionsPage(ListUserSessionsView):  # type: ignore[misc]
    """Lists the account's sessions, the current session first. Buttons end another session, or all of them."""

    def get_context_data(self, **options: Any) -> Any:
        context = super().get_context_data(**options)
        sessions = sorted(context["sessions"], key=lambda session: not session.is_current())
        ends = Session.objects.filter(session_key__in=[session.session_key for session in sessions])
        ends_at = dict(ends.values_list("session_key", "expire_date"))
        # A session can end between the two queries.
        context["sessions"] = [session for session in sessions if session.session_key in ends_at]
        context["session_count"] = len(context["sessions"])
        for session in context["sessions"]:
            session.browser = browser_name(session.user_agent) or gettext("Unknown browser")
            # Each request extends the session.
            session.used_at = ends_at[session.session_key] - timedelta(seconds=settings.SESSION_COOKIE_AGE)
        return context

    def form_valid(self, form: Any) -> HttpResponse:
        key = self.request.POST.get("session", "")
        if not key:
            response: HttpResponse = super().form_valid(form)
            return response
        for session in UserSession.objects.filter(user=self.request.user.pk, pk=key if key.isdecimal() else 0):
            if not session.is_current():
                session.end()
                messages.success(self.request, gettext("The session has ended."))
        return HttpResponseRedirect(reverse("usersessions_list"))


class NamePage(UserPassesTestMixin, FormView):  # type: ignore[type-arg]
    """Changes the name that members of the same lender see.

    Partners can't change their name, because their customers see it.
    """

    template_name = "account/name_change.html"
    form_class = NameForm

    def test_func(self) -> bool:
        return self.request.user.is_authenticated and not is_partner(self.request.user)

    def get_initial(self) -> dict[str, Any]:
        user: Any = self.request.user
        return {"first_name": user.first_name, "last_name": user.last_name}

    def form_valid(self, form: NameForm) -> HttpResponse:
        user: Any = self.request.user
        user.first_name, user.last_name = form.cleaned_data["first_name"], form.cleaned_data["last_name"]
        user.save(update_fields=["first_name", "last_name"])
        AccountHistory.note("account.name_changed", Actor(user, "session"), now=timezone.now())
        return HttpResponseRedirect(reverse("account"))


class AddressPage(LoginRequiredMixin, FormView):  # type: ignore[type-arg]
    """Mails a link to a new address. The address is not used until the account confirms it."""

    template_name = "account/email_change.html"
    form_class = AddressForm

    def get_context_data(self, **options: Any) -> dict[str, Any]:
        links = OneTimeLink.objects.usable_at(timezone.now())
        waiting = links.filter(purpose=addresses.CHANGE, subject=str(self.request.user.pk)).last()
        return super().get_context_data(**options) | {"waiting": waiting}

    def form_valid(self, form: AddressForm) -> HttpResponse:
        user: Any = self.request.user
        addresses.ask_to_change(user, form.cleaned_data["email"], now=timezone.now())
        return HttpResponseRedirect(reverse("account_email"))


class AddressLinkPage(LoginRequiredMixin, View):
    """Confirms a new address.

    The confirmation requires the link, and a log-in of the account that requested the link.
    """

    def get(self, request: HttpRequest, token: str) -> HttpResponse:
        user: Any = request.user
        if addresses.is_changed_by(user, token):
            messages.info(request, gettext("The address was confirmed already."))
            return HttpResponseRedirect(reverse("account"))
        return render(request, "account/address_confirm.html", {"waiting": self._link(request, token)})

    def post(self, request: HttpRequest, token: str) -> HttpResponse:
        user: Any = request.user
        if not addresses.is_changed_by(user, token):
            self._link(request, token)
            addresses.change(user, token, request=request, now=timezone.now())
        messages.success(request, gettext("Your address is confirmed."))
        return HttpResponseRedirect(reverse("account"))

    @staticmethod
    def _link(request: HttpRequest, token: str) -> OneTimeLink:
        link = find_link(token, addresses.CHANGE, now=timezone.now())
        if link.subject != str(request.user.pk):
            raise LinkEnded
        return link


class InvitationPage(View):
    """Displays an invitation, and accepts it by a button. Without a log-in, the button leads to the sign-up form."""

    def get(self, request: HttpRequest, token: str) -> HttpResponse:
        return self._show(request, invitations.find_or_none(token))

    def post(self, request: HttpRequest, token: str) -> HttpResponse:
        invitation = invitations.find_or_none(token)
        if invitation is None:
            return self._show(request, None)
        if invitation.role == STAFF and not settings.STAFF_PASSWORDS:
            return HttpResponseRedirect(reverse("account_login"))  # single sign-on accepts the invitation
        if not request.user.is_authenticated:
            invitations.remember_in_session(request, token, invitation)
            return HttpResponseRedirect(reverse("account_signup"))
        try:
            invitations.accept(token, request.user, timezone.now())
        except LinkEnded:
            return self._show(request, invitation, of_another=True)
        return HttpResponseRedirect(invitations.confirmation_of(invitation))

    @staticmethod
    def _show(request: HttpRequest, invitation: Invitation | None, *, of_another: bool = False) -> HttpResponse:
        context: dict[str, Any] = {"invited": invitation, "of_another": of_another}
        if invitation is not None:
            context |= words_of(invitation)
            user: Any = request.user
            context["unconfirmed"] = of_another and addresses.is_named(user, invitation.email)
        return render(request, "account/invitation.html", context, status=200 if invitation else 410)


class AcceptedInvitationPage(LoginRequiredMixin, TemplateView):
    """Confirms an accepted invitation to its account: the role, what the account can do, and what is missing."""

    template_name = "account/invitation_accepted.html"

    def get_context_data(self, **options: Any) -> dict[str, Any]:
        user: Any = self.request.user
        invitation = Invitation.objects.filter(accepted_by=user.pk, pk=options["invitation_id"]).first()
        outcome = None if invitation is None else invitations.outcome_of(invitation, user)
        if outcome is None:
            raise Http404
        return super().get_context_data(**options) | {
            "outcome": outcome,
            "gave_factor": gave_second_factor(self.request),
        }


class ClaimForm(BaseUserCreationForm):  # type: ignore[type-arg]
    """Django's sign-up form, applied to an existing account: an unused user name, and a password twice."""

    class Meta(BaseUserCreationForm.Meta):
        model = User
        fields = ("username",)
        labels: ClassVar[dict[str, Any]] = {"username": gettext_lazy("User name")}
        help_texts: ClassVar[dict[str, Any]] = {"username": gettext_lazy("Letters A to Z and digits.")}

    def clean_username(self) -> str:
        name: str = self.cleaned_data["username"]
        check_chosen(name)
        return name


class ClaimPage(View):
    """Transfers an account that a partner created to the customer. A mailed link opens the page."""

    def get(self, request: HttpRequest, token: str) -> HttpResponse:
        return self._show(request, token, ClaimForm())

    def post(self, request: HttpRequest, token: str) -> HttpResponse:
        form = ClaimForm(request.POST)
        try:
            managed.find_claimable(token, now=timezone.now())
            if form.is_valid():
                facts = {"username": form.cleaned_data["username"], "password": form.cleaned_data["password1"]}
                managed.claim(token, **facts, now=timezone.now())
                return HttpResponseRedirect("/oauth/grants")
        except LinkEnded:
            pass  # `_show` displays the error
        except IntegrityError:
            form.add_error("username", gettext("This user name has just been taken."))
        return self._show(request, token, form)

    @staticmethod
    def _show(request: HttpRequest, token: str, form: ClaimForm) -> HttpResponse:
        try:
            account, status = managed.find_claimable(token, now=timezone.now()), 200
        except LinkEnded:
            account, status = None, 410
        return render(request, "account/claim.html", {"account": account, "form": form}, status=status)


class NewRecoveryCodesPage(View):
    """Creates new recovery codes. The old codes become invalid."""

    def get(self, request: HttpRequest) -> HttpResponse:
        return render(request, "account/new_recovery_codes.html")

    def post(self, request: HttpRequest) -> HttpResponse:
        user: Any = request.user
        if not has_one(user):
            return HttpResponseRedirect(reverse("mfa_index"))
        # An attacker with the old codes must not stay logged in.
        now = timezone.now()
        TokenFamily.objects.filter(user=user, second_factor=True).revoke(now=now)
        AccountHistory.note("account.second_factor_added", Actor(user, "session"), now=now)
        get_adapter().send_notification_mail("mfa/email/recovery_codes_generated", user)
        return _with_new_codes(request)


def adding(page: type[View]) -> Any:
    """Wrap an allauth page that adds a second factor. After the first factor, create and display recovery codes."""
    add = page.as_view()

    @transaction.atomic
    def add_with_codes(request: HttpRequest) -> HttpResponseBase:
        had_one = request.user.is_anonymous or has_one(request.user)
        response = add(request)
        return response if had_one or not has_one(request.user) else _with_new_codes(request)

    return add_with_codes


def _with_new_codes(request: HttpRequest) -> HttpResponse:
    """Create codes, and display them in this response. Only hashes are stored, so no later page can display them.

    The page leads to the page that required the second factor, if any.
    """
    user: Any = request.user
    context = {
        "codes": make_codes(user, now=timezone.now()),
        "next": get_next_redirect_url(request) or reverse("mfa_index"),
    }
    return render(request, "account/recovery_codes.html", context)
