"""allauth's forms with our own fields, limits, and mails."""

import secrets
from typing import Any

from allauth.account import forms as account_forms
from allauth.account.adapter import get_adapter
from allauth.account.forms import (
    ChangePasswordForm,
    LoginForm,
    ResetPasswordForm,
    ResetPasswordKeyForm,
    SetPasswordForm,
    SignupForm,
    default_token_generator,
)
from allauth.account.models import EmailAddress, EmailConfirmationHMAC
from allauth.account.utils import user_pk_to_url_str
from allauth.mfa.base.forms import AuthenticateForm, ReauthenticateForm
from allauth.mfa.totp.forms import ActivateTOTPForm
from allauth.mfa.webauthn.forms import AddWebAuthnForm
from django import forms
from django.conf import settings
from django.db import transaction
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy

from config.core.names import clean_words
from config.mail.outbox import queue_requested_mail
from identity.access.models import User
from identity.access.passwords import PASSWORD_MIN
from identity.access.staff import may_use_password
from identity.accounts import invitations
from identity.accounts.adapter import AFTER_CONFIRMATION, CONFIRMED
from identity.accounts.addresses import ADDRESS_MAX, accounts_with, forget_pending
from identity.accounts.codes import spend
from identity.accounts.roles import words_of

CODE_MAX, NAME_MAX, PASSKEYS_MAX, PERSON_NAME_MAX = 32, 64, 20, 150
# The worker decides about the content of these mails, so that the pages can't reveal whether an account exists.
FORGOTTEN_TEMPLATE, CONFIRMATION_TEMPLATE = "forgotten_password", "confirmation_again"


def _remove_placeholders(form: Any) -> None:
    """Remove the placeholders of allauth, which repeat the labels."""
    for field in form.fields.values():
        field.widget.attrs.pop("placeholder", None)


class LogInForm(LoginForm):  # type: ignore[misc]
    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["login"] = forms.CharField(
            label=gettext("Email address or user name"),
            max_length=254,
            widget=forms.TextInput(attrs={"autocomplete": "username", "autocapitalize": "none", "autofocus": True}),
        )
        self.initial.setdefault("login", get_adapter().request.session.get(CONFIRMED, ""))
        if self.initial["login"]:
            self.fields["login"].widget.attrs["autofocus"] = False
            self.fields["password"].widget.attrs["autofocus"] = True
        self.order_fields(["login", "password"])
        _remove_placeholders(self)


def _name_fields() -> dict[str, forms.Field]:
    return {
        "first_name": _name_field(gettext("First name"), "given-name"),
        "last_name": _name_field(gettext("Last name"), "family-name", required=False),
    }


def _name_field(label: str, autocomplete: str, *, required: bool = True) -> forms.CharField:
    widget = forms.TextInput(attrs={"autocomplete": autocomplete})
    return forms.CharField(label=label, max_length=PERSON_NAME_MAX, required=required, widget=widget)


class _ShortRules:
    """Replace the list of all password rules by a sentence.

    The error of a rejected password states the violated rule.
    """

    fields: dict[str, forms.Field]

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        words = gettext("At least %(number)s characters. Don't use a common word or your own name.")
        self.fields["password1"].help_text = words % {"number": PASSWORD_MIN}
        if "password2" in self.fields:
            self.fields["password1"].label = gettext("New password")
            self.fields["password2"].label = gettext("Repeat the new password")
        _remove_placeholders(self)


class _PersonName:
    """Validate the name of a person, which other users can see."""

    cleaned_data: dict[str, Any]

    def clean_first_name(self) -> str:
        return self._clean_name("first_name")

    def clean_last_name(self) -> str:
        return self._clean_name("last_name")

    def _clean_name(self, field: str) -> str:
        text: str = self.cleaned_data[field]
        try:
            return clean_words(text) if text else ""
        except ValueError as error:
            raise forms.ValidationError(gettext("Enter a name without control characters.")) from error


class NameForm(_PersonName, forms.Form):
    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields.update(_name_fields())


class SignUpForm(_PersonName, _ShortRules, SignupForm):  # type: ignore[misc]
    account_already_exists: bool

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["email"].label = gettext("Email address")
        request = get_adapter().request
        self.invitation = invitations.of_session(request)
        if self.invitation is not None:
            self.invited = {**words_of(self.invitation), "link": invitations.link_of_session(request)}
            self.fields["email"].widget.attrs["readonly"] = True
        if self.invitation is not None and invitations.requires_name(self.invitation):
            self.fields.update(_name_fields())
            self.order_fields(["email", "first_name", "last_name"])

    def validate_unique_email(self, value: str) -> str:
        """Store whether the address belongs to an account. An unconfirmed change of an address is ignored."""
        self.account_already_exists = bool(accounts_with(value))
        return value

    def try_save(self, request: HttpRequest) -> tuple[Any, Any]:
        """Create an account.

        For a known address, do the same work as for an unknown address, and roll back the new account.
        """
        forget_pending(self.cleaned_data["email"])
        if (wanted := request.POST.get("next", "")) and get_adapter(request).is_safe_url(wanted):
            request.session[AFTER_CONFIRMATION] = wanted
        if self.account_already_exists:
            invitations.forget_in_session(request)
            email = self.cleaned_data["email"]
            with transaction.atomic():
                self.account_already_exists = False
                self.cleaned_data["email"] = f"{secrets.token_hex(8)}@example.invalid"
                user = self.save(request)
                addresses = EmailAddress.objects.filter(user=user)
                addresses.filter(verified=True).exists()
                addresses.first()
                User.objects.filter(pk=user.pk).first()
                transaction.set_rollback(True)
            self.account_already_exists, self.cleaned_data["email"] = True, email
        return super().try_save(request)


class ForgottenPasswordForm(ResetPasswordForm):  # type: ignore[misc]
    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.fields["email"].label = gettext("Email address")
        _remove_placeholders(self)

    def clean_email(self) -> str:
        """Normalize the address without a query, whose time would reveal whether the address has an account."""
        return get_adapter().clean_email(self.cleaned_data["email"])

    def save(self, request: HttpRequest, **_options: Any) -> str:  # noqa: ARG002
        email = self.cleaned_data["email"]
        queue_requested_mail(email, FORGOTTEN_TEMPLATE, {}, now=timezone.now())
        return email


class AddressForm(forms.Form):
    email = forms.CharField(
        label=gettext_lazy("New email address"),
        max_length=ADDRESS_MAX,
        widget=forms.TextInput(attrs={"type": "email", "autocomplete": "email"}),
    )

    def clean_email(self) -> str:
        return get_adapter().clean_email(self.cleaned_data["email"])


class NewPasswordForm(_ShortRules, SetPasswordForm):  # type: ignore[misc]
    """The form of an account without a password."""


class ForgottenPasswordKeyForm(_ShortRules, ResetPasswordKeyForm):  # type: ignore[misc]
    """The form that a mailed link opens."""


class PasswordForm(_ShortRules, ChangePasswordForm):  # type: ignore[misc]
    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.fields["oldpassword"].label = gettext("Current password")

    def clean_oldpassword(self) -> str:
        """Count the attempt like a log-in, so that the holder of a stolen session can't guess the password."""
        password = self.cleaned_data["oldpassword"]
        if not get_adapter().reauthenticate(self.user, password):
            raise get_adapter().validation_error("enter_current_password")
        return password


def _code_field(label: Any, **attributes: Any) -> forms.CharField:
    attributes = {"autocomplete": "one-time-code", "autofocus": True, **attributes}
    return forms.CharField(label=label, max_length=CODE_MAX, widget=forms.TextInput(attrs=attributes))


class PasswordAgainForm(account_forms.ReauthenticateForm):  # type: ignore[misc]
    """The form in which a logged-in user enters the password again."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        _remove_placeholders(self)


class _CodeForm(forms.Form):
    """Validates a code within the limits of log-ins. Raises RateLimited."""

    user: Any
    code = _code_field(gettext_lazy("Code"))

    def clean_code(self) -> str:
        code = self.cleaned_data["code"]
        self.authenticator = get_adapter().use_code(self.user, code)
        if self.authenticator is None:
            raise forms.ValidationError(gettext("This code is wrong, or was already used. Wait for the next code."))
        return code


class CodeForm(_CodeForm, AuthenticateForm):  # type: ignore[misc]
    """Requests the code during a log-in."""


class CodeAgainForm(_CodeForm, ReauthenticateForm):  # type: ignore[misc]
    """Requests a code to confirm an existing log-in."""


class AddAppForm(ActivateTOTPForm):  # type: ignore[misc]
    code = _code_field(gettext_lazy("Code from the app"), inputmode="numeric")

    def secret_groups(self) -> list[str]:
        """Return the secret in groups of four characters, for people who type it."""
        return [self.secret[start : start + 4] for start in range(0, len(self.secret), 4)]

    def clean_code(self) -> str:
        code = super().clean_code()
        spend(self.user, code)
        return code


class AddPasskeyForm(AddWebAuthnForm):  # type: ignore[misc]
    name = forms.CharField(label=gettext_lazy("Your name for it"), max_length=NAME_MAX, required=False)

    def clean(self) -> Any:
        if self.user.authenticator_set.filter(type="webauthn").count() >= PASSKEYS_MAX:
            raise forms.ValidationError(
                gettext("An account has at most %(number)s passkeys.") % {"number": PASSKEYS_MAX}
            )
        return super().clean()


def _make_forgotten_mail(recipient: str) -> tuple[str, dict[str, Any]]:
    """Return the template and the context of a mail with a link for a new password, or with the reason for no link."""
    users = accounts_with(recipient.lower())
    if users and not may_use_password(users[0]):
        return "staff_password", {"link": f"{settings.APP_URL}{reverse('account_login')}"}
    if not users:
        return "has_no_account", {"link": f"{settings.APP_URL}{reverse('account_signup')}"}
    key = {"uidb36": user_pk_to_url_str(users[0]), "key": default_token_generator.make_token(users[0])}
    return "new_password", {"link": f"{settings.APP_URL}{reverse('account_reset_password_from_key', kwargs=key)}"}


def _make_confirmation_mail(recipient: str) -> tuple[str, dict[str, Any]]:
    """Return the template and the context of the mail that a user requests again after a sign-up with this address."""
    waiting = EmailAddress.objects.filter(email=recipient.lower(), verified=False)
    address = waiting.exclude(user__emailaddress__verified=True).order_by("-pk").first()
    if address is None or not address.can_set_verified():
        return "has_account", {"link": f"{settings.APP_URL}{reverse('account_reset_password')}"}
    key = EmailConfirmationHMAC(address).key
    return "confirm_address", {"link": f"{settings.APP_URL}{reverse('account_confirm_email', args=[key])}"}


MAIL_MAKERS = {FORGOTTEN_TEMPLATE: _make_forgotten_mail, CONFIRMATION_TEMPLATE: _make_confirmation_mail}
