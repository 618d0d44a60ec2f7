"""The logo of a lender, which its owners upload and remove on the page *Team*."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString

from config.backoffice.forms import SeenForm
from config.backoffice.html import NOTHING
from config.backoffice.records import RecordAction
from credit.console.offer_forms import lender_actor
from credit.core.logos import MAX_BYTES, PNG_SIDE_MAX, Logo, NotALogo, read_logo
from credit.models import Provider
from credit.offers.providers import change_logo


def logo_image(provider: Provider) -> SafeString | str:
    if not provider.logo_path:
        return NOTHING
    return format_html('<img class="lender-logo" src="{}" alt="Logo">', provider.logo_path)


class LogoForm(SeenForm):
    logo = forms.FileField(
        label="File",
        widget=forms.FileInput(attrs={"accept": ".png,.svg"}),
        help_text=f"A PNG of at most {PNG_SIDE_MAX:,} by {PNG_SIDE_MAX:,} pixels, or a plain SVG. At most "
        f"{MAX_BYTES // 1024} KiB.",
    )

    def clean_logo(self) -> Logo:
        file: Any = self.cleaned_data["logo"]
        try:
            return read_logo(file.read(MAX_BYTES + 1))
        except NotALogo as refusal:
            raise ValidationError(str(refusal)) from refusal


def _set(request: HttpRequest, provider: Provider, form: Any) -> str:
    change_logo(provider.pk, form.cleaned_data["logo"], by=lender_actor(request))
    return "The logo is stored."


def _remove(request: HttpRequest, provider: Provider, _form: Any) -> str:
    change_logo(provider.pk, None, by=lender_actor(request))
    return "The logo is removed."


SET_LOGO = RecordAction(
    name="logo",
    label="Upload a logo",
    permission="credit.view_provider",
    run=_set,
    form=LogoForm,
    seen=lambda provider: str(provider.logo_sha256),
    consequences=lambda _provider: [
        "Applicants see the logo next to your offers, in your contact data, and on the page where they accept a loan.",
        "The header of your console shows it.",
    ],
)
REMOVE_LOGO = RecordAction(
    name="remove-logo",
    label="Remove the logo",
    permission="credit.view_provider",
    run=_remove,
    refusal=lambda provider: "" if provider.logo_sha256 else "There is no logo.",
    seen=lambda provider: str(provider.logo_sha256),
    consequences=lambda _provider: ["Pages show your name alone."],
)
