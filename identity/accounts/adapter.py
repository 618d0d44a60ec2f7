"""Settings for allauth: names, mails, limits, and the sign-up policy."""

import re
import secrets
from contextlib import suppress
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlencode, urlsplit

from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.models import EmailAddress
from allauth.account.stages import EmailVerificationStage
from allauth.mfa.adapter import DefaultMFAAdapter
from django.conf import settings
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.crypto import constant_time_compare
from django.utils.text import format_lazy
from django.utils.translation import gettext, gettext_lazy

from config.core.log_in import ISSUER_SESSION
from config.core.proxies import client_address
from config.mail.addresses import comparable, normalize
from config.mail.outbox import queue_requested_mail
from identity.access.log_ins import login_attempt
from identity.access.models import User
from identity.access.second_factor import has_one
from identity.access.staff import may_use_password
from identity.accounts import codes, invitations
from identity.accounts.addresses import ADDRESS_MAX
from identity.accounts.codes import is_right, renew_session, use_code
from identity.accounts.log_in import WrongCredentials, log_in
from identity.accounts.security_mails import EVENTS, mail_about_change

# This cookie marks a browser in which the account has logged in or reset its password.
KNOWN_DEVICE = "known_device"
KNOWN_SECONDS = 180 * 86_400
AFTER_CONFIRMATION = "after_confirmation"  # the session key of the page on which the sign-up started
CONFIRMED = "confirmed_address"  # the session key of the address that the log-in page fills in
UNCONFIRMED = "unconfirmed_address"  # the session key of the address that waits for its confirmation
# A mail's link contains only a path of this form. If the path could contain any text, a stranger could use the mail to
# send a message to the recipient.
_PLAIN_PATH = re.compile(r"/my/apply/[0-9]{1,19}")
# This maps each of allauth's mails with a link to our template, and to the context key of the link.
_MAILS = {
    "account/email/email_confirmation": ("confirm_address", "activate_url"),
    "account/email/email_confirmation_signup": ("confirm_address", "activate_url"),
    "account/email/account_already_exists": ("has_account", "password_reset_url"),
}


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]
    def authenticate(self, request: HttpRequest, **credentials: Any) -> Any:
        """Return the account for a user name or email address and a password, or None. Counts one attempt.

        Raises RateLimited. Raises Unavailable if too many log-ins are in progress.
        """
        name, password = credentials.get("email") or credentials.get("username") or "", credentials["password"]
        facts = {"name": name, "username": _username_of(name), "password": password}
        # allauth requests the code in the next stage, and starts a session only after that stage.
        return log_in(request, **facts, device=_known_device(request, name), has_code_step=True)

    def reauthenticate(self, user: Any, password: str) -> bool:
        account = self.authenticate(self.request, username=user.get_username(), password=password)
        if account is None or account.pk != user.pk:
            return False
        renew_session(self.request)
        return True

    def is_reauthentication_required(self, *, app: str, **options: Any) -> bool:
        """Return False for staff who can't use a password and have no second factor, so that they can add a factor."""
        user: Any = self.request.user
        if ISSUER_SESSION in self.request.session and not may_use_password(user) and not has_one(user):
            return False
        return bool(super().is_reauthentication_required(app=app, **options))

    def use_code(self, user: Any, code: str) -> Any:
        """Use a code, and count an attempt. Returns the authenticator, or None for a wrong code."""
        name, factor = user.get_username(), None
        device = _known_device(self.request, name)

        def shows_code() -> bool:
            return is_right(code, user=user)

        with (
            suppress(WrongCredentials),
            login_attempt(name, client_address(self.request), device=device, shows_code=shows_code),
        ):
            factor = use_code(user, code)
            if factor is None:
                raise WrongCredentials
        return factor

    def post_login(self, request: HttpRequest, user: Any, **options: Any) -> HttpResponse:
        response: HttpResponse = super().post_login(request, user, **options)
        mark_device(response, user)
        return response

    def get_login_stages(self) -> list[str]:
        ours = "identity.accounts.adapter.ConfirmAddressStage"
        theirs = "allauth.account.stages.EmailVerificationStage"
        return [ours if stage == theirs else stage for stage in super().get_login_stages()]

    def get_client_ip(self, request: HttpRequest) -> str:
        """Return the caller's address, or 0.0.0.0 if a proxy sends a placeholder that is not an address."""
        address = client_address(request)
        try:
            return str(ip_address(address.partition("%")[0]))  # the column can't store the zone of a link-local address
        except ValueError:
            return "0.0.0.0"  # noqa: S104  the column accepts only addresses

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        if settings.SIGN_UP == "open":
            return True
        return settings.SIGN_UP == "invited" and invitations.of_session(request) is not None

    def generate_unique_username(self, txts: Any, regex: Any = None) -> str:  # noqa: ARG002
        """Return a random name instead of the email address, because other users can see user names."""
        return f"u{secrets.token_hex(8)}"

    def clean_email(self, email: str) -> str:
        """Reject values that the column can't store. With an invitation, accept only the invited address."""
        if len(email) > ADDRESS_MAX:
            raise self.validation_error("address_too_long")
        email = normalize(email)
        invitation = invitations.of_session(self.request)
        is_sign_up = self.request.resolver_match.url_name == "account_signup"
        if invitation is not None and is_sign_up and comparable(invitation.email) != email:
            raise self.validation_error("invited_address")
        return email

    def confirm_email(self, request: HttpRequest, email_address: EmailAddress) -> bool:
        """Confirm a sign-up. Reject an address change that version 1.0 stored."""
        if EmailAddress.objects.filter(user=email_address.user, verified=True).exists():
            return False
        return super().confirm_email(request, email_address)

    def get_email_verification_redirect_url(self, email_address: EmailAddress) -> str:
        """Return the log-in page, which leads to the page from which the sign-up started, or to the offers."""
        address = super().get_email_verification_redirect_url(email_address)
        wanted = self.request.session.pop(AFTER_CONFIRMATION, settings.ACCOUNT_SIGNUP_REDIRECT_URL)
        if not self.request.user.is_authenticated:
            return f"{address}?{urlencode({'next': wanted})}"
        return str(address)

    def save_user(self, request: Any, user: Any, form: Any, commit: bool = True) -> Any:
        saved = super().save_user(request, user, form, commit=commit)
        if commit:
            request.accepted_invitation = invitations.accept_of_session(request, saved)
        return saved

    def get_signup_redirect_url(self, request: HttpRequest) -> str:
        """Return the page that confirms the invitation with which the account signed up, or the offers."""
        invitation = getattr(request, "accepted_invitation", None)
        return invitations.confirmation_of(invitation) if invitation else str(super().get_signup_redirect_url(request))

    def send_mail(self, template_prefix: str, email: str, context: dict[str, Any]) -> None:
        """Queue our own mail instead of allauth's mail. Our mail contains only the link of `context`.

        A stranger can request each of these mails for another person's address.
        """
        template, member = _MAILS[template_prefix]
        path = urlsplit(str(context[member])).path
        wanted = self.request.session.get(AFTER_CONFIRMATION, "") if template == "confirm_address" else ""
        if _PLAIN_PATH.fullmatch(wanted):
            path += f"?{urlencode({'next': wanted}, safe='/')}"
        queue_requested_mail(email, template, {"link": f"{settings.APP_URL}{path}"}, now=timezone.now())

    def send_notification_mail(self, template_prefix: str, user: Any, *_context: Any, email: str | None = None) -> None:
        """Queue our own mail about a change of the account's credentials."""
        to = email or EmailAddress.objects.get_primary_email(user)
        if to:
            mail_about_change(user, EVENTS[template_prefix], to=to, request=self.request, now=timezone.now())

    def add_message(self, request: HttpRequest, level: int, *args: Any, **options: Any) -> None:
        """Show a message. The messages of log-ins and second factors are suppressed."""
        template = (args[0] if args else options.get("message_template")) or ""
        if not template.startswith(("account/messages/logged_in", "mfa/")):
            super().add_message(request, level, *args, **options)

    error_messages = DefaultAccountAdapter.error_messages | {
        "address_too_long": format_lazy(
            gettext_lazy("An address has at most {number} characters."), number=ADDRESS_MAX
        ),
        "invited_address": gettext_lazy("The invitation is for another address."),
        "username_password_mismatch": gettext_lazy("The user name, the email address, or the password is wrong."),
        "email_password_mismatch": gettext_lazy("The user name, the email address, or the password is wrong."),
    }


def is_generated(username: str) -> bool:
    """Check whether a user name has the form of the names that `generate_unique_username` creates."""
    return re.fullmatch(r"u[0-9a-f]{16}", username) is not None


class ConfirmAddressStage(EmailVerificationStage):  # type: ignore[misc]
    """Requires a confirmed address before the first log-in. Accounts that an operator created need no confirmation."""

    def handle(self) -> tuple[Any, bool]:
        user = self.login.user
        if user is not None and not self.login.signup and not EmailAddress.objects.filter(user=user).exists():
            return None, True
        response, goes_on = super().handle()
        if response is not None:
            self.request.session[UNCONFIRMED] = self.login.email or user.email
            if not self.login.signup:
                messages.info(self.request, gettext("You have not confirmed the address of your account yet."))
        return response, goes_on


class SecondFactorAdapter(DefaultMFAAdapter):  # type: ignore[misc]
    def encrypt(self, text: str) -> str:
        return codes.seal_secret(text, self.request.user.pk)

    def decrypt(self, encrypted_text: str) -> str:
        return codes.open_secret(encrypted_text, self.request.user.pk)

    def get_public_key_credential_rp_entity(self) -> dict[str, str]:
        return super().get_public_key_credential_rp_entity() | {"name": settings.PROVIDER_NAME}


def _username_of(login: str) -> str:
    """Return the user name of the account with this address. An account that confirmed the address comes first.

    Returns an unknown address, or any other value, unchanged.
    """
    if "@" not in login:
        return login
    try:
        email = normalize(login)
    except ValidationError:
        return login
    known = EmailAddress.objects.filter(email=email).order_by("-verified", "pk")
    username: str | None = known.values_list("user__username", flat=True).first()
    return username or login


def mark_device(response: HttpResponse, user: Any) -> None:
    """Mark the browser as known until the password of the account changes."""
    response.set_signed_cookie(
        KNOWN_DEVICE,
        f"{user.pk}:{secrets.token_hex(16)}:{user.get_session_auth_hash()}",
        salt=KNOWN_DEVICE,
        max_age=KNOWN_SECONDS,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def _known_device(request: HttpRequest, name: str) -> str | None:
    """Return the browser's id if the account with this name or address has logged in with the browser."""
    user_id, device, password = _read_cookie(request)
    user = User.objects.filter(pk=user_id).first() if device else None
    if user is None or not (
        name.casefold() == user.username.casefold() or ("@" in name and comparable(name) == comparable(user.email))
    ):
        return None
    return device if constant_time_compare(password, user.get_session_auth_hash()) else None


def known_person(request: HttpRequest) -> int | None:
    """Return the id of the account that logged in last with this browser, or None for an unknown browser."""
    user_id = _read_cookie(request)[0]
    return int(user_id) if user_id else None


def _read_cookie(request: HttpRequest) -> tuple[str, str, str]:
    kept = request.get_signed_cookie(KNOWN_DEVICE, "", salt=KNOWN_DEVICE, max_age=KNOWN_SECONDS)
    user_id, _, rest = (kept or "").partition(":")
    device, _, password = rest.partition(":")
    return user_id, device, password
