"""allauth's forms of the second factor, with our limits."""

from typing import Any

from allauth.account.adapter import get_adapter
from allauth.mfa.base.forms import AuthenticateForm, ReauthenticateForm
from allauth.mfa.totp.forms import ActivateTOTPForm
from allauth.mfa.webauthn.forms import AddWebAuthnForm
from django import forms

from identity.accounts.codes import spend

CODE_MAX, NAME_MAX, PASSKEYS_MAX = 32, 64, 20


def _code_field(label: str, **attributes: Any) -> forms.CharField:
    attributes = {"autocomplete": "one-time-code", "autofocus": True, **attributes}
    return forms.CharField(label=label, max_length=CODE_MAX, widget=forms.TextInput(attrs=attributes))


class _CodeForm(forms.Form):
    """Checks a code within the limits of log-ins; raises RateLimited."""

    user: Any
    code = _code_field("Code")

    def clean_code(self) -> str:
        code: str = self.cleaned_data["code"]
        self.authenticator = get_adapter().use_code(self.user, code)
        if self.authenticator is None:
            raise forms.ValidationError("This code is wrong, or was used already. Wait for the next one.")
        return code


class CodeForm(_CodeForm, AuthenticateForm):  # type: ignore[misc]
    """Asks for the code of a log-in."""


class CodeAgainForm(_CodeForm, ReauthenticateForm):  # type: ignore[misc]
    """Asks for a code to confirm a log-in that lasts."""


class AddAppForm(ActivateTOTPForm):  # type: ignore[misc]
    code = _code_field("Code that it shows", inputmode="numeric")

    def clean_code(self) -> str:
        code: str = super().clean_code()
        spend(self.user, code)
        return code


class AddPasskeyForm(AddWebAuthnForm):  # type: ignore[misc]
    name = forms.CharField(label="Your name for it", max_length=NAME_MAX, required=False)

    def clean(self) -> Any:
        if self.user.authenticator_set.filter(type="webauthn").count() >= PASSKEYS_MAX:
            raise forms.ValidationError(f"An account has at most {PASSKEYS_MAX} passkeys.")
        return super().clean()
