"""The forms with which a lender's owners change the lender's data and logo."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.http import HttpRequest

from config.backoffice.forms import SeenForm
from config.backoffice.records import RecordAction
from config.backoffice.transitions import actor_of
from config.core.errors import ValidationFailed
from credit.api.offers.provider_serializers import ProviderRequestSerializer
from credit.core.agencies import CHOICES
from credit.core.logos import MAX_BYTES, PNG_SIDE_MAX, Logo, NotALogo, read_logo
from credit.models import Provider
from credit.offers.providers import change_logo, change_provider

_PLAIN = ("name", "address", "agency", "phone", "email", "register_number", "debt_advice")
_PARTS = {"supervisor": ("name", "address"), "redress": ("name", "url")}
_LINES = forms.Textarea(attrs={"rows": 4})
_EU = ("register_number", "supervisor_name", "supervisor_address", "redress_name", "redress_url", "debt_advice")
_FOR_EU = "Required for credit in the European Union."


def _optional(label: str, max_length: int, help_text: str = "", **options: Any) -> forms.CharField:
    return forms.CharField(label=label, max_length=max_length, required=False, help_text=help_text, **options)


class LenderForm(SeenForm):
    """The lender's name and contact data. The form has the rules of `PUT /v1/providers/{provider_id}`."""

    name = forms.CharField(max_length=255, help_text="Applicants see it. It must not look like another lender's name.")
    address = _optional("Postal address", 500, "The address for notices and agreements.", widget=_LINES)
    phone = _optional("Telephone number", 64, _FOR_EU)
    email = _optional("Email address", 254, _FOR_EU)
    agency = forms.ChoiceField(
        label="Federal agency",
        choices=[("", "The default of the platform"), *CHOICES],
        required=False,
        help_text="Adverse action notices name the agency that supervises you under Regulation B.",
    )
    register_number = _optional("Registration number", 255, "The register and the number.")
    supervisor_name = _optional("Supervisory authority", 255)
    supervisor_address = _optional("Address of the supervisory authority", 500)
    redress_name = _optional("Body for complaints out of court", 255)
    redress_url = _optional("Website of this body", 500, "Such as https://ombudsman.example.")
    debt_advice = _optional("Where borrowers get debt advice", 1000)

    @property
    def fieldset(self) -> tuple[str, Any]:
        return _FOR_EU.removesuffix("."), [self[name] for name in _EU]

    def clean(self) -> dict[str, Any]:
        facts: dict[str, Any] = super().clean() or {}
        if self.errors:
            return facts
        parts = {name: {member: facts[f"{name}_{member}"] for member in members} for name, members in _PARTS.items()}
        body = {
            **{name: facts[name] or None for name in _PLAIN},
            "address": facts["address"],
            **{name: part if any(part.values()) else None for name, part in parts.items()},
        }
        try:
            self.lender = ProviderRequestSerializer.read(body)
        except ValidationFailed as refusal:
            details: Any = refusal.details or ()
            for detail in details:
                field = str(detail["field"]).replace("/", "_").replace(".", "_").strip("_")
                self.add_error(field if field in self.fields else None, detail["message"])
        return facts


def _initial(provider: Provider) -> dict[str, Any]:
    parts = {name: getattr(provider, name) or {} for name in _PARTS}
    return {
        **{name: getattr(provider, name) or "" for name in _PLAIN},
        **{f"{name}_{member}": parts[name].get(member, "") for name, members in _PARTS.items() for member in members},
    }


def _change(request: HttpRequest, provider: Provider, form: Any) -> str:
    change_provider(provider.pk, **form.lender, by=actor_of(request))
    return "The lender's data are stored."


CHANGE_LENDER = RecordAction(
    name="lender",
    label="Change the lender's data",
    permission="credit.view_provider",
    run=_change,
    form=LenderForm,
    seen=lambda provider: repr(sorted(_initial(provider).items())),  # without line breaks, which browsers change
    initial=_initial,
    consequences=lambda _provider: [
        "Applicants see the name and the contact data. Later notices and agreements contain them.",
        "Applications can't be decided without a name and a postal address.",
    ],
)


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
    change_logo(provider.pk, form.cleaned_data["logo"], by=actor_of(request))
    return "The logo is stored."


def _remove(request: HttpRequest, provider: Provider, _form: Any) -> str:
    change_logo(provider.pk, None, by=actor_of(request))
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
    consequences=lambda _provider: ["Pages then show only your name."],
)
