"""Build the forms of an applicant and of shared data, and the sections of the application form with their progress."""

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple
from unicodedata import category, decimal, normalize

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from config.api.serializers import ValidationError
from credit.api.applications.applicant_serializers import ApplicantRequestSerializer
from credit.core import applicant_schema
from credit.core.applicant_words import country_name, language_name
from credit.core.applicants import LANGUAGES
from credit.core.countries import COUNTRIES, can_have_zip, state_code, states_of
from credit.core.translations import fill
from credit.my.content import SHARED
from identity.bank.models import BankAccount, BankItem
from identity.kyc.machine import UNUSED
from identity.kyc.models import KycVerification

# The errors of empty fields. For a field that is not listed, the error contains the title that the lender chose.
_ENTER = {
    "amount_cents": _("Enter the amount that you want to borrow."),
    "term_months": _("Choose the number of months."),
    "legal_name": _("Enter the legal name."),
    "date_of_birth": _("Enter the date of birth."),
    "email": _("Enter the email address."),
    "phone": _("Enter the phone number."),
    "language": _("Choose the language."),
    "address.line1": _("Enter the street and the house number."),
    "address.city": _("Enter the city."),
    "address.region": _("Enter the state or province."),
    "address.postal_code": _("Enter the postal code."),
    "address.country": _("Choose the country."),
}
# The reasons for optional fields of an applicant.
_WHY = {
    "email": _("The lender uses this address to write to you about the application."),
    "phone": _("The lender uses this number to call you about the application."),
}
_WRONG_STATES = {
    "US": _("Enter the name or the code of a US state, such as Oregon or OR."),
    "CA": _("Enter the name or the code of a Canadian province, such as Ontario or ON."),
}
_MIN_AGE = _("Each applicant must be at least %(years)s years old.")
_REGION_BY_LAW = _("Required in the United States and Canada.")
_REGION_BY_OFFER = _("Required if addresses in the country have a state or province.")
_HOW = {
    "phone": _("Outside the United States and Canada, enter it with the country code, such as +44 20 7946 0123."),
    "address.country": _(
        "If addresses in this country have no city, no state, or no postal code, leave these fields empty."
    ),
}
_WRONG = {
    "date_of_birth": _("Enter a date in the past 130 years."),
    "email": _("Enter an email address such as name@example.com."),
    "phone": _("Enter the phone number with its country code, such as +1 503 555 0199."),
}
_PHONE_LENGTH = 40  # a typed number can be longer than its E.164 format
_AUTOCOMPLETE = {
    "legal_name": "name", "date_of_birth": "bday", "email": "email", "phone": "tel", "address.line1": "address-line1",
    "address.line2": "address-line2", "address.city": "address-level2", "address.region": "address-level1",
    "address.postal_code": "postal-code", "address.country": "country",
}  # fmt: skip
# The datalist `states` suggests the states of the US and Canada.
_INPUTS = {"email": {"type": "email"}, "phone": {"type": "tel"}, "address.region": {"list": "states"}}
# These characters can separate digits, in addition to spaces.
_PHONE_SEPARATORS = frozenset("-().,/\u2010\u2011\u2012\u2013\u2212")
_TEL = re.compile(r"^\W*tel:", re.ASCII | re.IGNORECASE)
# These countries have the country code 1.
_PLAN_OF_ONE = frozenset(["AS", "CA", "GU", "MP", "PR", "US", "VI"])
# In these countries, a 0 in front of a local number replaces the country code.
_CODES = {
    "AT": 43, "AU": 61, "BE": 32, "BG": 359, "CH": 41, "DE": 49, "FI": 358, "FR": 33, "GB": 44, "HR": 385, "IE": 353,
    "NL": 31, "NZ": 64, "RO": 40, "SE": 46, "SI": 386, "SK": 421,
}  # fmt: skip
_NUMBER_OF_ONE = re.compile("1?[2-9][0-9]{2}[2-9][0-9]{6}")
_WITH_STATES = ("US", "CA")
# The errors of texts with a wrong length.
TEXT_ERRORS = {
    "max_length": _("Use at most %(limit_value)d characters. You entered %(show_value)d."),
    "min_length": _("Use at least %(limit_value)d characters. You entered %(show_value)d."),
}
# The formats of postal codes, and the errors. In other countries, the form accepts each postal code.
_POSTAL_CODES = {
    "US": (re.compile("[0-9]{5}([- ]?[0-9]{4})?"), _("Enter a postal code such as 97201 or 97201-1234.")),
    "CA": (re.compile("[A-Z][0-9][A-Z][- ]?[0-9][A-Z][0-9]"), _("Enter a postal code such as K1A 0B1.")),
    "GB": (
        re.compile("(BFPO ?[0-9]{1,4}|[A-Z]{1,2}[0-9][0-9A-Z]?[- ]?[0-9][A-Z]{2})"),
        _("Enter a postal code such as SW1A 1AA."),
    ),
}
# The groups of an applicant's fields.
_PERSON = (
    (_("Person"), ("legal_name", "date_of_birth")),
    (_("Contact"), ("email", "phone", "language")),
    (
        _("Home address"),
        ("address.country", "address.line1", "address.line2", "address.city", "address.region", "address.postal_code"),
    ),
)


class DraftForm(forms.Form):
    """A form whose fields are all optional. An application can be submitted only if the form is complete."""

    use_required_attribute = False

    def mark_optional(self, required: Collection[str]) -> None:
        """Mark the optional fields in their labels. With Django's `required`, users couldn't save incomplete drafts."""
        for name, field in self.fields.items():
            if name not in required:
                field.label = fill(gettext("%s (optional)"), field.label)

    def add_missing(self, name: str) -> None:
        """Add an error to an empty field that has no other error."""
        if name in self.fields and name not in self.errors and self.cleaned_data.get(name) in (None, ""):
            self.add_error(name, self.missing(name))

    def missing(self, name: str) -> str:
        """Return the error of an empty field."""
        field = self.fields[name]
        if name in _ENTER:
            return str(_ENTER[name])
        words = gettext("Choose an answer for “%s”.") if hasattr(field, "choices") else gettext("Enter “%s”.")
        return fill(words, field.label)


class StateField(forms.CharField):
    """A state, province, or region. In the US and in Canada, only names and codes of states are valid.

    The cleaned value is the code.
    """

    def __init__(self, country: str, **options: Any) -> None:
        super().__init__(**options)
        self.country = country

    def clean(self, value: Any) -> Any:
        region = super().clean(value)
        if region is None or self.country not in _WITH_STATES:
            return region
        code = state_code(self.country, region)
        if code not in states_of(self.country):
            raise forms.ValidationError(_WRONG_STATES[self.country])
        return code


def suggested_states() -> list[tuple[str, Any]]:
    """Return the codes and names of the US states and the Canadian provinces."""
    return [item for country in _WITH_STATES for item in states_of(country).items()]


def required_paths(person: Mapping[str, Any], requires: Collection[str]) -> list[str]:
    """Return the paths of the fields that the form requires for a person's country. `requires` is the offer's list.

    In the US and in Canada, the form requires the state, although the API does not.
    """
    region = ["address.region"] if person["address"].get("country") in _WITH_STATES else []
    required = {*applicant_schema.DUE, *requires, *region}
    return [path for path in applicant_schema.PATHS if path in required and applicant_schema.is_required(person, path)]


def _in_e164(typed: str, country: str | None) -> str:
    """Convert a phone number to E.164 if possible. In some countries, local numbers require no country code."""
    # NFKC converts full-width characters to ASCII. The (0) is not part of the international number.
    plain = _TEL.sub("", normalize("NFKC", typed)).replace("(0)", "")
    digits = "".join(str(decimal(sign, sign)) for sign in plain if not _separates(sign))
    if digits.startswith("00"):
        return f"+{digits[2:]}"
    if country in _CODES and digits.startswith("0"):
        return f"+{_CODES[country]}{digits[1:]}"
    if country in _PLAN_OF_ONE and digits.startswith("011"):
        return f"+{digits[3:]}"
    return f"+1{digits[-10:]}" if country in _PLAN_OF_ONE and _NUMBER_OF_ONE.fullmatch(digits) else digits


def _separates(sign: str) -> bool:
    """Return whether a character separates digits. Numbers from address books can contain invisible characters (Cf)."""
    return sign in _PHONE_SEPARATORS or sign.isspace() or category(sign) == "Cf"


class PersonForm(DraftForm):
    """The form of an applicant. An empty form means no applicant."""

    def __init__(
        self,
        typed: Any,
        *,
        prefix: str,
        stored: Any,
        language: str,
        country: str | None,
        requires: Collection[str],
        min_age: int,
    ) -> None:
        values = {path: applicant_schema.value_at(stored, path) for path in applicant_schema.PATHS} if stored else {}
        entered = {path: value for path, value in values.items() if value is not None}
        initial = {"address.country": country, "language": language, **entered}
        super().__init__(typed, prefix=prefix, initial=initial, label_suffix="")
        chosen = initial["address.country"] if typed is None else typed.get(f"{prefix}-address.country")
        self.fields = dict(self._make_fields(values.get("language"), chosen))
        self.requires = requires
        required = {*required_paths({"address": {"country": chosen or None}}, requires), "language"}
        # The applicant can choose another country, so the hints explain which parts of an address are optional.
        self.mark_optional({*required, "address.city", "address.region", "address.postal_code"})
        region = _REGION_BY_OFFER if "address.region" in requires else _REGION_BY_LAW
        for path, field in self.fields.items():
            hints = (
                _WHY.get(path) if path not in required else None,
                _HOW.get(path),
                region if path == "address.region" else None,
                _MIN_AGE % {"years": min_age} if path == "date_of_birth" else None,
            )
            field.help_text = " ".join(str(hint) for hint in hints if hint)

    def _make_fields(self, language: str | None, country: str | None) -> Iterator[tuple[str, forms.Field]]:
        for path in (path for _title, paths in _PERSON for path in paths):
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
                text = forms.TextInput(attrs={**fill, **_INPUTS.get(path, {})})
                longest = _PHONE_LENGTH if path == "phone" else applicant_schema.max_length_of(path)
                about |= {"error_messages": TEXT_ERRORS, "max_length": longest, "widget": text, "empty_value": None}
                is_region = path == "address.region"
                field = StateField(country or "", **about) if is_region else forms.CharField(**about)
            yield path, field

    def clean(self) -> None:
        if typed := self.cleaned_data.get("phone"):
            self.cleaned_data["phone"] = _in_e164(typed, self.cleaned_data.get("address.country"))

    @property
    def is_empty(self) -> bool:
        preset = {"language", "address.country"}
        return not any(value for path, value in self.cleaned_data.items() if path not in preset)

    def entered(self) -> dict[str, Any] | None:
        """Return the entered values in the API's format. A missing value is None.

        For an empty form, the result is None.
        """
        if self.is_empty:
            return None
        person: dict[str, Any] = {"address": {}}
        for path, value in self.cleaned_data.items():
            first, _dot, inner = path.partition(".")
            typed = value.isoformat() if hasattr(value, "isoformat") else value or None
            (person["address"] if inner else person)[inner or first] = typed
        return person

    def to_person(self, *, is_complete: bool) -> dict[str, Any] | None:
        """Return the applicant in the API's format, or None if the form is empty, invalid, or incomplete.

        Adds the errors of invalid values. With `is_complete`, also adds the errors of missing values.
        """
        if not self.is_valid() or (person := self.entered()) is None:
            return None
        self._check_postal_code(person["address"])
        try:
            checked = ApplicantRequestSerializer.shared().run_validation(person)
        except ValidationError as error:
            for path in _paths(error.detail):
                if applicant_schema.value_at(person, path) is not None:
                    self.add_error(path, self._fault(path, applicant_schema.value_at(person, path)))
                elif is_complete:
                    self.add_error(path, self.missing(path))
            checked = None
        # The serializer checks country-dependent fields only if all other fields are valid.
        if is_complete:
            self.require(person)
        return checked and {**checked, "address": dict(checked["address"])}

    def require(self, person: Mapping[str, Any]) -> None:
        """Add errors to the empty fields that the form requires of a person."""
        for path in required_paths(person, self.requires):
            self.add_missing(path)

    def _check_postal_code(self, where: Mapping[str, Any]) -> None:
        """Add an error to a postal code with a wrong format, or to a ZIP code that is not in the state."""
        postal_code, state = normalize("NFKC", where["postal_code"] or "").upper(), where["region"]
        country = where["country"]
        if not postal_code or country not in _POSTAL_CODES:
            return
        pattern, error = _POSTAL_CODES[country]
        if not pattern.fullmatch(postal_code):
            self.add_error("address.postal_code", error)
        elif country == "US" and state and not can_have_zip(state, postal_code):
            words = gettext("This ZIP code isn't in %s. Correct the ZIP code or the state.")
            self.add_error("address.postal_code", words % states_of("US")[state])

    def _fault(self, path: str, typed: str) -> Any:
        """Return the error of an invalid value."""
        if not typed.isprintable():
            return _("This text has an invisible character. Delete the text, and type it again.")
        if path == "email" and not typed.rpartition("@")[0].isascii():
            return _("Enter an email address without letters such as ö or é before the @.")
        if path == "phone" and self.cleaned_data.get("address.country") not in _PLAN_OF_ONE:
            return _("Enter the phone number with its country code, such as +44 20 7946 0123.")
        return _WRONG.get(path, _("Check this value."))


def _without_accents(choice: tuple[str, str]) -> str:
    return normalize("NFKD", choice[1]).encode("ascii", "ignore").decode()


def _paths(detail: Any) -> Iterator[str]:
    for name, inner in detail.items():
        if isinstance(inner, dict):
            yield from (f"{name}.{path}" for path in inner)
        else:
            yield name


def areas_with_data(user: Any) -> frozenset[str]:
    """Return the areas of `SHARED` for which the account has data. Costs at most three queries."""
    has_bank = BankItem.objects.linked().filter(user=user).exists() or BankAccount.objects.filter(user=user).exists()
    has_check = KycVerification.objects.filter(user=user).exclude(status__in=UNUSED).exists()
    return frozenset(area for area, has_data in (("bank", has_bank), ("identity", has_check)) if has_data)


class ShareForm(DraftForm):
    """The form of the additional data that the applicant shares with the lender.

    The form shows the areas with data, and the areas that are selected already. It accepts every area, because the
    account's data can change before the applicant sends the form.
    """

    share = forms.MultipleChoiceField(
        choices=list(SHARED.items()), required=False, widget=forms.CheckboxSelectMultiple,
        label=_("The lender may also see"),
    )  # fmt: skip

    def __init__(self, typed: Any, *, stored: Collection[str], areas: Collection[str]) -> None:
        super().__init__(typed, prefix="share", initial={"share": stored}, label_suffix="")
        shown = {*areas, *(self["share"].value() or ())}
        self.fields["share"].widget.choices = [item for item in SHARED.items() if item[0] in shown]
        self.is_empty = not self.fields["share"].widget.choices


DONE, TO_DO, WRONG, OPTIONAL = "done", "to_do", "wrong", "optional"


class Step(NamedTuple):
    """A section of the form. `anchor` is its HTML ID."""

    number: int
    anchor: str
    title: str
    state: str


def groups_of(person: forms.Form) -> list[tuple[str, list[forms.BoundField]]]:
    """Return the groups of an applicant's fields, each with its title."""
    return [(str(title), [person[name] for name in names]) for title, names in _PERSON]


def state_of(form: forms.Form, names: Collection[str], required: Collection[str]) -> str:
    """Return the progress of the form's fields in `names`. The fields that are also in `required` must have a value."""
    if form.is_bound and any(form[name].errors for name in names):
        return WRONG
    empty = [name for name in names if name in required and form[name].value() in (None, "")]
    return TO_DO if empty else DONE


def number_steps(states: dict[str, str]) -> list[Step]:
    """Return the steps of the form, numbered from 1. `states` has the progress of each section with fields."""
    titles = {
        "loan": gettext("Loan"),
        "answers": gettext("Your answers"),
        "applicant": gettext("Applicant"),
        "sharing": gettext("Data shared with the lender"),
        "sending": gettext("Check and send"),
    }
    sections = {**states, "sending": TO_DO}
    names = [name for name in titles if name in sections]
    return [Step(number, name, titles[name], sections[name]) for number, name in enumerate(names, start=1)]
