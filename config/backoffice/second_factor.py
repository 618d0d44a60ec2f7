"""The second factor of the back office: a code of thirty seconds (TOTP, RFC 6238) after the password.

Whoever has no device yet is asked to add one at the first log-in. The secret of a device that is being added lives in
the session, encrypted, until its first code proves that it arrived; nothing else is stored before. Wrong codes slow
the device down (django-otp's rate_limits). A lost device is taken away by a superuser on the person's page or by
`reset_second_factor`, after which the next log-in asks for a new one.
"""

import secrets
from base64 import b32encode
from binascii import unhexlify
from typing import Any
from urllib.parse import quote, urlencode

import qrcode
from django import forms
from django.conf import settings
from django.contrib.auth import REDIRECT_FIELD_NAME, logout
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.safestring import SafeString, mark_safe
from django_otp import login, user_has_device, verify_token
from qrcode.image.svg import SvgPathImage

from config.api.log_in import show_refusal, words_of
from config.api.middleware import client_address
from config.api.rate_limits import RateLimited, consume, login_attempt
from config.backoffice.models import Authenticator
from config.core.encryption import key_ring
from config.core.errors import ApiError

SECRET_BYTES = 20  # as long as the HMAC's output, RFC 4226 section 4, R6
_SESSION_KEY = "backoffice.second_factor.key"


class CodeForm(forms.Form):
    code = forms.RegexField(
        regex=r"^\s*[0-9]{3}\s?[0-9]{3}\s*$",
        label="Code",
        error_messages={"invalid": f"The code is {Authenticator.DIGITS} digits."},
        widget=forms.TextInput(
            attrs={"autocomplete": "one-time-code", "inputmode": "numeric", "autofocus": True, "maxlength": 8}
        ),
    )

    def clean_code(self) -> int:
        return int("".join(self.cleaned_data["code"].split()))


def is_given(request: HttpRequest) -> bool:
    user: Any = request.user
    return bool(user.is_authenticated and user.is_verified())


def second_factor_view(request: HttpRequest, context: dict[str, Any]) -> HttpResponse:
    user: Any = request.user
    address = _next_of(request)
    if not (user.is_authenticated and user.is_active and user.is_staff):
        return redirect_to_login(address, reverse("admin:login"))
    if request.method == "POST" and "leave" in request.POST:
        # Django's own log-out is for those who are let in.
        logout(request)
        return HttpResponseRedirect(reverse("admin:login"))
    if is_given(request):
        return HttpResponseRedirect(address)
    has_device = user_has_device(user)
    form = CodeForm(request.POST if request.method == "POST" else None)
    refusal: ApiError | None = None
    if request.method == "POST" and form.is_valid():
        try:
            login(request, _device_showing(request, form.cleaned_data["code"], has_device=has_device))
            return HttpResponseRedirect(address)
        except ValidationError as wrong:
            form.add_error("code", wrong)
        except RateLimited as refused:
            refusal = refused
            form.add_error("code", words_of(refused))
    context |= {"title": "Second factor", "form": form, "next": address, "has_device": has_device}
    if not has_device:
        secret = b32encode(unhexlify(_secret_being_added(request))).decode()
        spaced = " ".join(secret[at : at + 4] for at in range(0, len(secret), 4))
        context |= {"secret": spaced, "picture": _picture(_address_of(user, secret))}
    return show_refusal(TemplateResponse(request, "backoffice/second_factor.html", context), refusal)


def _next_of(request: HttpRequest) -> str:
    wanted = request.POST.get(REDIRECT_FIELD_NAME) or request.GET.get(REDIRECT_FIELD_NAME) or ""
    is_ours = url_has_allowed_host_and_scheme(wanted, allowed_hosts={request.get_host()}, require_https=False)
    return wanted if is_ours and wanted.startswith("/admin/") else reverse("admin:index")


def _device_showing(request: HttpRequest, code: int, *, has_device: bool) -> Any:
    """Return the person's device that shows this code now, one that is being added if they have none.

    Raises ValidationError, and RateLimited for a try too many: a code is guessed at like a password, within its limits.
    """
    user: Any = request.user
    address = client_address(request)
    consume("token", address)
    with login_attempt(user.get_username(), address):
        device = verify_code(user, code) if has_device else _enrol(request, code)
        if device is None:
            raise ValidationError("That code is not right, or it was used already. Wait for the next one.")
        return device


def verify_code(user: Any, code: int) -> Any:
    """Use a code: return the person's device that shows it now, None when none does; a wrong one slows them down."""
    devices = Authenticator.objects.devices_for_user(user, confirmed=True)
    tried = (verify_token(user, device.persistent_id, code) for device in devices)
    return next((device for device in tried if device is not None), None)


def _secret_being_added(request: HttpRequest) -> str:
    """Return the secret of the device that this session is adding, a new one the first time."""
    kept = request.session.get(_SESSION_KEY)
    if kept is None:
        kept = key_ring().encrypt(secrets.token_hex(SECRET_BYTES).encode()).decode()
        request.session[_SESSION_KEY] = kept
    return key_ring().decrypt(kept).decode()


def _enrol(request: HttpRequest, code: int) -> Any:
    if _SESSION_KEY not in request.session:
        return None
    device = Authenticator.proven(request.user, _secret_being_added(request), code)
    if device is not None:
        del request.session[_SESSION_KEY]
    return device


def _address_of(user: Any, secret: str) -> str:
    """Return the secret in the form that authenticators read (the otpauth key URI)."""
    issuer = settings.PROVIDER_NAME
    facts = {"secret": secret, "issuer": issuer, "digits": Authenticator.DIGITS, "period": Authenticator.STEP_SECONDS}
    return f"otpauth://totp/{quote(issuer)}:{quote(user.get_username())}?{urlencode(facts, quote_via=quote)}"


def _picture(text: str) -> SafeString:
    drawn = qrcode.make(text, image_factory=SvgPathImage, border=2)
    return mark_safe(str(drawn.to_string(encoding="unicode")))  # noqa: S308  a path of our own numbers
