"""Build the forms of an application from the offer's JSON Schema, limits, and required applicant fields."""

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any
from unicodedata import category, decimal, normalize

from django import forms
from django.utils.html import escape
from django.utils.translation import gettext, gettext_lazy
from django.utils.translation import gettext_lazy as _

from config.api.serializers import ValidationError
from config.core.currencies import to_minor_units, to_units
from config.core.figure_fields import AmountField, FigureField, as_typed
from config.core.json_text import SAFE_INTEGER_MAX
from credit.api.applications.applicant_serializers import ApplicantRequestSerializer
from credit.core import applicant_schema
from credit.core.applicant_words import country_name, language_name
from credit.core.applicants import LANGUAGES
from credit.core.countries import COUNTRIES
from credit.core.due import REQUIRED, Due, OfferRequirements
from credit.core.figures import Figures
from credit.core.profile import TEXT_MAX_LENGTH, is_same
from credit.models import Offer
from credit.my.content import SHARED, title_of, value_in_words
from credit.my.words import describe_missing
from credit.offers.links import Prefill

_CENTS = "_cents"
# A text field with a higher maximum length has several lines.
_LONG_TEXT = 300
_MISSING = gettext_lazy("This field is required.")
_NUMBER = {"invalid": _("Enter a number.")}
_WRONG = {
    "date_of_birth": _("Enter a date in the past."),
    "email": _("Enter an e-mail address such as name@example.com."),
    "phone": _("Enter the phone number with its country code, such as +1 503 555 0199."),
}
# The maximum length of a typed phone number. The schema limits the number in E.164 format.
_PHONE_LENGTH = 40
_AUTOCOMPLETE = {
    "legal_name": "name", "date_of_birth": "bday", "email": "email", "phone": "tel", "address.line1": "address-line1",
    "address.line2": "address-line2", "address.city": "address-level2", "address.region": "address-level1",
    "address.postal_code": "postal-code", "address.country": "country",
}  # fmt: skip
# These characters can separate digits, in addition to spaces.
_PHONE_SEPARATORS = frozenset("-().,/\u2010\u2011\u2012\u2013\u2212")
_TEL = re.compile(r"^\W*tel:", re.ASCII | re.IGNORECASE)
# These countries have the country code 1.
_PLAN_OF_ONE = frozenset(["AS", "CA", "GU", "MP", "PR", "US", "VI"])
_NUMBER_OF_ONE = re.compile("1?[2-9][0-9]{2}[2-9][0-9]{6}")
_LOAN = frozenset({"amount_cents", "term_months"})


def _amount_field(minimum: int | None, maximum: int | None, currency: str | None, **about: Any) -> AmountField:
    """Return a form field for an amount in currency units. `_as_json` converts the amount to minor units.

    `currency` is `Conventions.shown_currency`, which is None for dollars.
    """

    def check(units: Any) -> None:
        amount = to_minor_units(units, currency)
        if minimum is not None and amount < minimum:
            raise forms.ValidationError(gettext("Enter at least %s.") % value_in_words(_CENTS, minimum, currency))
        if maximum is not None and amount > maximum:
            raise forms.ValidationError(gettext("Enter at most %s.") % value_in_words(_CENTS, maximum, currency))

    return AmountField(currency, max_digits=15, validators=[check], error_messages=_NUMBER, **about)


def members_of(offer: Offer) -> dict[str, Any]:
    """Return the schemas of the form's fields: the amount, the term, and the fields of the offer."""
    properties: Mapping[str, Any] = (offer.application_schema or {}).get("properties", {})
    amount: dict[str, Any] = {
        "type": "integer",
        "minimum": offer.loan_amount_min_cents,
        "maximum": offer.loan_amount_max_cents,
    }
    loan: dict[str, Any] = {"amount_cents": {name: value for name, value in amount.items() if value is not None}}
    if offer.term_options_months:
        loan["term_months"] = {"type": "integer", "enum": sorted(offer.term_options_months)}
    return {**{name: member for name, member in loan.items() if name not in properties}, **properties}


def _is_amount(name: str, member: Mapping[str, Any]) -> bool:
    return name.endswith(_CENTS) and member["type"] == "integer"


def _help(name: str, member: Mapping[str, Any], currency: str | None) -> str:
    """Return a field's help text as HTML. It is the lender's description, or the limits of an amount."""
    if "description" in member:
        return escape(member["description"])
    limits = {side: value_in_words(name, member[side], currency) for side in ("minimum", "maximum") if side in member}
    if not name.endswith(_CENTS) or not limits:
        return ""
    if len(limits) == 1:
        words = gettext("At least %(minimum)s") if "minimum" in limits else gettext("At most %(maximum)s")
        return words % limits
    return gettext("From %(minimum)s to %(maximum)s") % limits


def _field(name: str, member: Mapping[str, Any], currency: str | None) -> forms.Field:
    """Convert a field of the schema to a form field. Form fields are optional, because drafts can be incomplete."""
    about: dict[str, Any] = {
        "label": title_of(name, member), "help_text": _help(name, member, currency), "required": False,
    }  # fmt: skip
    least, most = member.get("minimum"), member.get("maximum")
    if "enum" in member:
        by_text = {str(value): value for value in member["enum"]}
        choices = [("", ""), *((text, value_in_words(name, value, currency)) for text, value in by_text.items())]
        return forms.TypedChoiceField(choices=choices, coerce=by_text.__getitem__, empty_value=None, **about)
    if member["type"] == "boolean":
        choices = [("yes", gettext("Yes")), ("no", gettext("No"))]
        radio = forms.RadioSelect
        return forms.TypedChoiceField(choices=choices, coerce="yes".__eq__, empty_value=None, widget=radio, **about)
    if member["type"] == "string" and member.get("format") == "date":
        return forms.DateField(
            widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"), input_formats=["%Y-%m-%d"], **about
        )
    if member["type"] == "string":
        longest = min(member.get("maxLength", TEXT_MAX_LENGTH), TEXT_MAX_LENGTH)
        widget = forms.Textarea(attrs={"rows": 4}) if longest > _LONG_TEXT else forms.TextInput()
        shortest = member.get("minLength")
        return forms.CharField(max_length=longest, min_length=shortest, empty_value=None, widget=widget, **about)
    if _is_amount(name, member):
        return _amount_field(least, most, currency, **about)
    places = 0 if member["type"] == "integer" else None
    bounds: dict[str, Any] = {
        "min_value": -SAFE_INTEGER_MAX if least is None else least,
        "max_value": SAFE_INTEGER_MAX if most is None else most,
    }
    return FigureField(currency=currency, decimal_places=places, error_messages=_NUMBER, **bounds, **about)


class DraftForm(forms.Form):
    """A form whose fields are all optional. An application can be submitted only if the form is complete."""

    use_required_attribute = False

    def mark_optional(self, required: Collection[str]) -> None:
        """Mark the optional fields in their labels. With Django's `required`, users couldn't save incomplete drafts."""
        for name, field in self.fields.items():
            if name not in required:
                field.label = gettext("%s (optional)") % field.label

    def add_missing(self, name: str) -> None:
        """Add an error to an empty field that has no other error."""
        if name in self.fields and name not in self.errors and self.cleaned_data.get(name) in (None, ""):
            self.add_error(name, _MISSING)


class DataForm(DraftForm):
    """The form of an application's data. Each item of `members_of` has a field."""

    def __init__(self, offer: Offer, typed: Any, *, stored: Any) -> None:
        self.members, self.currency = members_of(offer), offer.conventions.shown_currency
        self.stored = stored if isinstance(stored, dict) else {}
        shown = {name: self._as_typed(name) for name in self.members if self.stored.get(name) is not None}
        super().__init__(typed, prefix="data", initial=shown, label_suffix="")
        self.fields = {name: _field(name, member, self.currency) for name, member in self.members.items()}
        self.mark_optional({*_LOAN, *(offer.application_schema or {}).get("required", ())})

    def _as_typed(self, name: str) -> Any:
        member, value = self.members[name], self.stored[name]
        if "enum" in member:
            return next((str(choice) for choice in member["enum"] if is_same(choice, value)), str(value))
        if isinstance(value, bool):
            return "yes" if value else "no"
        if _is_amount(name, member):
            units = to_units(round(value), self.currency) if isinstance(value, int | float) else None
            return None if units is None else as_typed(units, self.currency)
        return value

    def to_data(self) -> dict[str, Any] | None:
        """Return `application_data` from the form. Empty values are omitted. Stored values without a field remain.

        An unreadable amount or term without a field is omitted, because the applicant can't correct it.
        """
        unreadable = {name for name in _LOAN if getattr(Figures(self.stored), name) is None}
        others = {name: value for name, value in self.stored.items() if name not in {*self.members, *unreadable}}
        typed = {
            name: _as_json(name, self.members[name], value, self.currency) for name, value in self.cleaned_data.items()
        }
        return {**others, **{name: value for name, value in typed.items() if value is not None}} or None


def _as_json(name: str, member: Mapping[str, Any], value: Any, currency: str | None) -> Any:
    if value in ("", None) or "enum" in member or member["type"] == "boolean":
        return None if value == "" else value
    if member["type"] == "string":
        return value if isinstance(value, str) else value.isoformat()
    if _is_amount(name, member):
        return int(to_minor_units(value, currency))
    return int(value) if member["type"] == "integer" or value == int(value) else float(value)


def _in_e164(typed: str, country: str | None) -> str:
    """Convert a phone number to E.164 if possible. US and Canadian numbers require no country code."""
    # NFKC converts full-width characters to ASCII. The (0) is not part of the international number.
    plain = _TEL.sub("", normalize("NFKC", typed)).replace("(0)", "")
    digits = "".join(str(decimal(sign, sign)) for sign in plain if not _separates(sign))
    if digits.startswith("00"):
        return f"+{digits[2:]}"
    if country in _PLAN_OF_ONE and digits.startswith("011"):
        return f"+{digits[3:]}"
    return f"+1{digits[-10:]}" if country in _PLAN_OF_ONE and _NUMBER_OF_ONE.fullmatch(digits) else digits


def _separates(sign: str) -> bool:
    """Return whether a character separates digits. Numbers from address books can contain invisible characters (Cf)."""
    return sign in _PHONE_SEPARATORS or sign.isspace() or category(sign) == "Cf"


class PersonForm(DraftForm):
    """The form of an applicant. An empty form means that there is no such applicant."""

    def __init__(
        self, typed: Any, *, prefix: str, stored: Any, language: str, country: str | None, requires: Collection[str]
    ) -> None:
        values = {path: applicant_schema.value_at(stored, path) for path in applicant_schema.PATHS} if stored else {}
        super().__init__(
            typed, prefix=prefix, initial={"address.country": country, "language": language, **values}, label_suffix=""
        )
        self.fields = dict(self._make_fields(values.get("language")))
        self.mark_optional({*applicant_schema.DUE, "language", *requires})

    def _make_fields(self, language: str | None) -> Iterator[tuple[str, forms.Field]]:
        for path in applicant_schema.PATHS:
            about: dict[str, Any] = {"label": gettext(applicant_schema.title_of_member(path)), "required": False}
            fill = {"autocomplete": _AUTOCOMPLETE.get(path, "off") if self.prefix == "first" else "off"}
            if path == "date_of_birth":
                widget = forms.DateInput(attrs={"type": "date", **fill}, format="%Y-%m-%d")
                wrong = {"invalid": _WRONG[path]}
                field: forms.Field = forms.DateField(
                    widget=widget, input_formats=["%Y-%m-%d"], error_messages=wrong, **about
                )
            elif path == "address.country":
                named = [(code, country_name(code)) for code in COUNTRIES]
                choices = [("", ""), *sorted(named, key=_without_accents)]
                field = forms.ChoiceField(choices=choices, widget=forms.Select(attrs=fill), **about)
            elif path == "language":
                # A language tag from the API, such as es-US, remains selectable.
                tags = [*LANGUAGES, *([language] if language and language not in LANGUAGES else [])]
                field = forms.ChoiceField(choices=[(tag, language_name(tag)) for tag in tags], **about)
            else:
                text = forms.TextInput(attrs=fill)
                longest = _PHONE_LENGTH if path == "phone" else applicant_schema.max_length_of(path)
                field = forms.CharField(max_length=longest, widget=text, empty_value=None, **about)
            yield path, field

    def clean(self) -> None:
        if typed := self.cleaned_data.get("phone"):
            self.cleaned_data["phone"] = _in_e164(typed, self.cleaned_data.get("address.country"))

    @property
    def is_empty(self) -> bool:
        preset = {"language", "address.country"}
        return not any(value for path, value in self.cleaned_data.items() if path not in preset)

    def to_person(self) -> dict[str, Any] | None:
        """Return the applicant in the API's format. If the form is empty or invalid, return None and add the errors."""
        if not self.is_valid() or self.is_empty:
            return None
        person: dict[str, Any] = {"address": {}}
        for path, value in self.cleaned_data.items():
            first, _dot, inner = path.partition(".")
            typed = value.isoformat() if hasattr(value, "isoformat") else value or None
            (person["address"] if inner else person)[inner or first] = typed
        try:
            checked = ApplicantRequestSerializer.shared().run_validation(person)
        except ValidationError as error:
            for path in _paths(error.detail):
                is_missing = applicant_schema.value_at(person, path) is None
                self.add_error(path, _MISSING if is_missing else _WRONG.get(path, _("Check this value.")))
            return None
        return {**checked, "address": dict(checked["address"])}


def _without_accents(choice: tuple[str, str]) -> str:
    return normalize("NFKD", choice[1]).encode("ascii", "ignore").decode()


def _paths(detail: Any) -> Iterator[str]:
    for name, inner in detail.items():
        if isinstance(inner, dict):
            yield from (f"{name}.{path}" for path in inner)
        else:
            yield name


class ShareForm(DraftForm):
    """The form of the additional data that the applicant shares with the lender."""

    share = forms.MultipleChoiceField(
        choices=list(SHARED.items()), required=False, widget=forms.CheckboxSelectMultiple,
        label=_("The lender may also see"),
    )  # fmt: skip


class ApplicationForms:
    """The forms of an application: data, two applicants, and shared data."""

    def __init__(
        self, offer: Offer, typed: Any = None, *, application: Any = None, prefill: Prefill | None = None, language: str
    ) -> None:
        stored = None if application is None else application.application_data
        persons = [] if application is None or application.applicants is None else application.applicants.persons
        if prefill is not None:
            stored, persons = prefill.application_data, prefill.applicants
        first, second = (persons[0] if persons else None), (persons[1] if len(persons) > 1 else None)
        self.offer, self.requirements = offer, OfferRequirements.by(offer.terms())
        self.data = DataForm(offer, typed, stored=stored)
        # The form preselects the United States for US offers, because most of their applicants live there.
        country = None if offer.conventions.is_eu else "US"
        about: dict[str, Any] = {"language": language, "country": country, "requires": self.requirements.applicant}
        self.first = PersonForm(typed, prefix="first", stored=first, **about)
        self.second = PersonForm(typed, prefix="second", stored=second, **about)
        share = {} if application is None else {"share": application.share}
        self.share = ShareForm(typed, prefix="share", initial=share, label_suffix="")
        self.has_second = second is not None or (
            typed is not None and (self.second.is_valid() is False or not self.second.is_empty)
        )

    def errors_by_field(self) -> list[tuple[forms.BoundField, list[str]]]:
        """Return the invalid fields of all forms, with their error messages."""
        bound = [form for form in (self.data, self.first, self.second) if form.is_bound]
        return [(field, [str(text) for text in field.errors]) for form in bound for field in form if field.errors]

    def to_changes(self, *, is_complete: bool) -> dict[str, Any] | None:
        """Return the changed columns of the application, or None if a field has an error.

        Drafts may lack data and applicants. With `is_complete`, the application must meet the offer's requirements.
        """
        forms_of_all = (self.data, self.first, self.second, self.share)
        # Validate all forms, so that the page shows all errors.
        are_valid = [form.is_valid() for form in forms_of_all]
        first, second = self.first.to_person(), self.second.to_person()
        data = self.data.to_data()
        self._require_data(data, is_complete=is_complete)
        if second is not None and self.first.is_empty:
            self.first.add_missing("legal_name")
        if is_complete:
            self._require_person(self.first, first)
            self._require_person(self.second, second)
        if not all(are_valid) or any(form.errors for form in forms_of_all):
            return None
        return {
            "application_data": data,
            "applicants": [person for person in (first, second) if person is not None] or None,
            "share": sorted(self.share.cleaned_data["share"]),
        }

    def _due(self, *, data: Any = None, person: Any = None) -> list[Due]:
        """Return the requirements that the API would report as missing or invalid. Documents are excluded."""
        persons = [] if person is None else [person]
        return self.requirements.due(data=data, persons=persons, uploaded=self.requirements.documents)

    def _require_data(self, data: Any, *, is_complete: bool) -> None:
        """Add errors for invalid values. With `is_complete`, also add errors for missing values."""
        for item in self._due(data=data):
            name = item.pointer.rpartition("/")[2]
            if name not in self.data.fields:
                if is_complete or item.why != REQUIRED:
                    self.data.add_error(None, describe_missing(item))
            elif item.why != REQUIRED:
                self.data.add_error(name, describe_missing(item))
            elif is_complete:
                self.data.add_missing(name)
        if is_complete:
            for name in self.data.members.keys() & _LOAN:
                self.data.add_missing(name)

    def _require_person(self, form: PersonForm, person: Mapping[str, Any] | None) -> None:
        """Add errors for missing values of an applicant, and for an applicant who is too young."""
        if person is not None:
            for item in self._due(person=person):
                path = ".".join(item.pointer.split("/")[3:])
                if item.pointer.startswith("/applicants") and path not in form.errors:
                    form.add_error(path, _MISSING if item.why == REQUIRED else describe_missing(item))
        elif form is self.first:
            country = {"address": {"country": form.cleaned_data.get("address.country") or None}}
            for path in dict.fromkeys((*applicant_schema.DUE, *self.requirements.applicant)):
                if path in form.fields and applicant_schema.is_required(country, path):
                    form.add_missing(path)
