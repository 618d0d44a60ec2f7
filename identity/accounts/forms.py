import secrets
from typing import Any

from allauth.account.adapter import get_adapter
from allauth.account.forms import ChangePasswordForm, LoginForm, ResetPasswordForm, SignupForm
from allauth.account.models import EmailAddress
from django import forms
from django.db import transaction
from django.http import HttpRequest
from django.utils import timezone

from config.mail.outbox import queue_mail
from identity.access.models import User
from identity.accounts import forgotten, invitations
from identity.accounts.addresses import ADDRESS_MAX, accounts_with, forget_pending


class LogInForm(LoginForm):  # type: ignore[misc]
    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["login"] = forms.CharField(
            label="User name or e-mail address",
            max_length=254,
            widget=forms.TextInput(attrs={"autocomplete": "username", "autocapitalize": "none", "autofocus": True}),
        )
        self.order_fields(["login", "password"])


class SignUpForm(SignupForm):  # type: ignore[misc]
    account_already_exists: bool

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["email"].label = "E-mail address"

    def validate_unique_email(self, value: str) -> str:
        """Note whether an account owns this address: an unconfirmed change does not count."""
        self.account_already_exists = bool(accounts_with(value))
        return value

    def try_save(self, request: HttpRequest) -> tuple[Any, Any]:
        """Do equal work for a known address: make an account, look it up as its log-in does, and roll back."""
        forget_pending(self.cleaned_data["email"])
        if self.account_already_exists:
            invitations.forget_in_session(request)
            email = self.cleaned_data["email"]
            with transaction.atomic():
                self.account_already_exists, self.cleaned_data["email"] = (
                    False,
                    f"{secrets.token_hex(8)}@example.invalid",
                )
                user = self.save(request)
                addresses = EmailAddress.objects.filter(user=user)
                addresses.filter(verified=True).exists()
                addresses.first()
                User.objects.filter(pk=user.pk).first()
                transaction.set_rollback(True)
            self.account_already_exists, self.cleaned_data["email"] = True, email
        saved: tuple[Any, Any] = super().try_save(request)
        return saved


class ForgottenPasswordForm(ResetPasswordForm):  # type: ignore[misc]
    def clean_email(self) -> str:
        """Look nothing up: the time of the response would reveal whether an account has this address."""
        return str(get_adapter().clean_email(self.cleaned_data["email"]))

    def save(self, request: HttpRequest, **_options: Any) -> str:  # noqa: ARG002
        email: str = self.cleaned_data["email"]
        queue_mail(email, forgotten.TEMPLATE, {}, now=timezone.now())
        return email


class AddressForm(forms.Form):
    email = forms.CharField(
        label="New e-mail address",
        max_length=ADDRESS_MAX,
        widget=forms.TextInput(attrs={"type": "email", "autocomplete": "email"}),
    )

    def clean_email(self) -> str:
        return str(get_adapter().clean_email(self.cleaned_data["email"]))


class PasswordForm(ChangePasswordForm):  # type: ignore[misc]
    def clean_oldpassword(self) -> str:
        """Count a try like one to log in: a stolen session must not guess."""
        given: str = self.cleaned_data["oldpassword"]
        if not get_adapter().reauthenticate(self.user, given):
            raise get_adapter().validation_error("enter_current_password")
        return given
