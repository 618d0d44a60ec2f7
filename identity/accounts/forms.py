import secrets
from typing import Any

from allauth.account.adapter import get_adapter
from allauth.account.forms import ChangePasswordForm, LoginForm, SignupForm
from django import forms
from django.db import transaction
from django.http import HttpRequest

from identity.accounts import invited


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

    def try_save(self, request: HttpRequest) -> tuple[Any, Any]:
        """Do as much for an address that is known as for one that is not: make an account, and take it back."""
        if self.account_already_exists:
            invited.forget(request)
            email = self.cleaned_data["email"]
            with transaction.atomic():
                self.account_already_exists, self.cleaned_data["email"] = False, f"{secrets.token_hex(8)}@localhost"
                self.save(request)
                transaction.set_rollback(True)
            self.account_already_exists, self.cleaned_data["email"] = True, email
        saved: tuple[Any, Any] = super().try_save(request)
        return saved


class PasswordForm(ChangePasswordForm):  # type: ignore[misc]
    def clean_oldpassword(self) -> str:
        """Count a try like one to log in: a stolen session must not guess."""
        given: str = self.cleaned_data["oldpassword"]
        if not get_adapter().reauthenticate(self.user, given):
            raise get_adapter().validation_error("enter_current_password")
        return given
