"""Build the forms of an application from the offer's JSON Schema, limits, and required applicant fields."""

from collections.abc import Collection, Mapping, Sequence
from decimal import Decimal
from typing import Any

from django import forms
from django.utils.html import conditional_escape
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from config.core.currencies import to_minor_units, to_units
from config.core.figure_fields import AmountField, FigureField, as_typed
from config.core.json_text import SAFE_INTEGER_MAX
from credit.core import profile
from credit.core.countries import US_STATES, state_code, states_in_words
from credit.core.due import REQUIRED, Due, OfferRequirements
from credit.core.figures import Figures
from credit.core.profile import TEXT_MAX_LENGTH, is_same
from credit.core.quotes import AMOUNT_MAX_CENTS
from credit.core.translations import marked, other_language
from credit.models import Offer, PartialApplicants
from credit.models.partial_applicants import Persons
from credit.my.comparison import WHOLE_MONTHS
from credit.my.content import choice_in_words, offer_to_read, title_of, value_in_words
from credit.my.person_form import (
    OPTIONAL,
    TEXT_ERRORS,
    WRONG,
    DraftForm,
    PersonForm,
    ShareForm,
    Step,
    number_steps,
    required_paths,
    state_of,
)
from credit.my.words import describe_missing, name_applicant
from credit.offers.links import Prefill

_CENTS = "_cents"
_LONG_TEXT = 300  # the form field of a longer text has several lines
_NUMBER = {"invalid": _("Enter a number.")}
# These limits apply to numbers for which the lender sets no limit. They reject misplaced digits.
_MONTHS_MAX = 1_200
_DOLLARS_MAX_CENTS = 10_000_000_000
_LOAN = frozenset({"amount_cents", "term_months"})


class ChoiceSelect(forms.Select):
    """A select element whose options have the `lang` of their texts."""

    def create_option(self, name: str, value: Any, label: Any, *args: Any, **options: Any) -> dict[str, Any]:
        option: dict[str, Any] = super().create_option(name, value, label, *args, **options)
        if lang := other_language(label):
            option["attrs"]["lang"] = lang
        return option


def _amount_field(minimum: int | None, maximum: int | None, currency: str | None, **about: Any) -> AmountField:
    """Return a form field for an amount in currency units. `_as_json` converts the amount to minor units.

    `currency` is `Conventions.shown_currency`, which is None for dollars.
    """

    if maximum is None:
        maximum = _DOLLARS_MAX_CENTS if currency is None else AMOUNT_MAX_CENTS

    def check(units: Any) -> None:
        amount = to_minor_units(units, currency)
        if minimum is not None and amount < minimum:
            raise forms.ValidationError(gettext("Enter at least %s.") % value_in_words(_CENTS, minimum, currency))
        if amount > maximum:
            raise forms.ValidationError(gettext("Enter at most %s.") % value_in_words(_CENTS, maximum, currency))

    return AmountField(currency, validators=[check], error_messages=_NUMBER, **about)


def _number_field(name: str, member: Mapping[str, Any], currency: str | None, **about: Any) -> FigureField:
    """Return a form field for a number that is not an amount."""
    is_whole, is_months = member["type"] == "integer", "months" in name.split("_")
    least = member.get("minimum", 0 if is_months else -SAFE_INTEGER_MAX)
    most = member.get("maximum", _MONTHS_MAX if is_months else SAFE_INTEGER_MAX)
    errors = {
        **_NUMBER,
        "max_decimal_places": WHOLE_MONTHS if is_months else _("Enter a whole number, such as 40."),
        "min_value": gettext("Enter at least %s.") % value_in_words(name, least, currency),
        "max_value": gettext("Enter at most %s.") % value_in_words(name, most, currency),
    }
    return FigureField(
        currency=currency, decimal_places=0 if is_whole else None, min_value=least, max_value=most,
        error_messages=errors, **about,
    )  # fmt: skip


def members_of(offer: Offer) -> dict[str, Any]:
    """Return the schemas of the form's fields: the amount, the term, and the fields of the offer.

    For the amount and the term, the stricter limit applies if the offer's terms and schema have different limits.
    """
    properties = profile.members_of(offer.application_schema)
    loan: dict[str, Any] = {"amount_cents": {"type": "integer", **properties.get("amount_cents", {})}}
    amount = loan["amount_cents"]
    if amount["type"] in {"integer", "number"}:
        amount["minimum"] = max(1, offer.loan_amount_min_cents or 1, amount.get("minimum", 1))
        maximums = [limit for limit in (offer.loan_amount_max_cents, amount.get("maximum")) if limit is not None]
        amount |= {"maximum": min(maximums)} if maximums else {}
        amount |= {"enum": _allowed(amount, amount["enum"])} if "enum" in amount else {}
    if offer.term_options_months:
        term = {"type": "integer", **properties.get("term_months", {})}
        loan["term_months"] = {**term, "enum": _allowed(term, sorted(offer.term_options_months))}
    return {**loan, **{name: member for name, member in properties.items() if name not in loan}}


def _allowed(member: Mapping[str, Any], values: Sequence[Any]) -> list[Any]:
    """Return the values that meet a field's schema, or all values if no value meets the schema."""
    return [value for value in values if profile.fault(member, value) is None] or list(values)


def availability_of(offer: Offer) -> str:
    """Return the US states of an offer as a sentence, or "" if the offer is available in all states."""
    if offer.included_states and not offer.nationwide:
        return gettext("This offer is only available in: %s.") % states_in_words(offer.included_states)
    if offer.excluded_states:
        return gettext("This offer isn't available in: %s.") % states_in_words(offer.excluded_states)
    return ""


def _is_elsewhere(offer: Offer, where: Mapping[str, Any]) -> bool:
    """Return whether the offer is not available in the US state of an address.

    Addresses of the armed forces belong to no state.
    """
    included = (not offer.nationwide and offer.included_states) or US_STATES
    others = (US_STATES - {*included}) | {*(offer.excluded_states or ())}
    return where["country"] == "US" and state_code("US", where["region"]) in others


def missing_figures(offer: Offer, data: Any) -> dict[str, str]:
    """Return the names and titles of the figures (amount and term) that the form requests and that `data` lacks."""
    members, figures = members_of(offer), Figures(data)
    return {
        name: title_of(name, members[name])
        for name in sorted(_LOAN)
        if name in members and getattr(figures, name) is None
    }


def field_id(pointer: str) -> str:
    """Return the HTML ID of the form's field for a JSON pointer into an application, or "" without a field."""
    root, *path = pointer.split("/")[1:]
    if root == "application_data" and path:
        return f"id_data-{path[0]}"
    if root == "applicants" and len(path) > 1:
        return f"id_{('first', 'second')[int(path[0])]}-{'.'.join(path[1:])}"
    return ""


def _is_amount(name: str, member: Mapping[str, Any]) -> bool:
    return name.endswith(_CENTS) and member["type"] == "integer"


def _help(name: str, member: Mapping[str, Any], currency: str | None) -> str:
    """Return a field's help text as HTML. It is the lender's description, or the limits of an amount."""
    if "description" in member:
        return conditional_escape(marked(member["description"]))
    sides = [side for side in ("minimum", "maximum") if member.get(side, 0) not in {0, 1}]
    limits = {side: value_in_words(name, member[side], currency) for side in sides}
    if not name.endswith(_CENTS) or not limits:
        return ""
    if len(limits) == 1:
        words = gettext("At least %(minimum)s") if "minimum" in limits else gettext("At most %(maximum)s")
        return words % limits
    return gettext("From %(minimum)s to %(maximum)s") % limits


def _field(name: str, member: Mapping[str, Any], currency: str | None) -> forms.Field:
    """Convert a field of the schema to a form field. Form fields are optional, because drafts can be incomplete."""
    about: dict[str, Any] = {
        "label": marked(title_of(name, member)), "help_text": _help(name, member, currency), "required": False,
    }  # fmt: skip
    if "enum" in member:
        by_text = {str(value): value for value in member["enum"]}
        choices = [
            ("", ""),
            *((text, choice_in_words(name, value, member, currency)) for text, value in by_text.items()),
        ]
        about |= {"choices": choices, "widget": ChoiceSelect}
        return forms.TypedChoiceField(coerce=by_text.__getitem__, empty_value=None, **about)
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
        about |= {"widget": widget, "error_messages": TEXT_ERRORS}
        return forms.CharField(max_length=longest, min_length=shortest, empty_value=None, **about)
    if _is_amount(name, member):
        least, most = member.get("minimum"), member.get("maximum")
        if name == "amount_cents" and least == 1:  # the lender has no minimum
            least = int(to_minor_units(Decimal(1), currency))
        return _amount_field(least, most, currency, **about)
    return _number_field(name, member, currency, **about)


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

        If the form has no field for the amount or the term, an unreadable stored value is omitted, because the
        applicant can't correct the value.
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


class ApplicationForms:
    """The forms of an application: data, two applicants, and shared data.

    If an entered applicant is incomplete, `to_changes` sets `partial` to the entered fields of both applicants.
    """

    partial: Persons | None = None

    def __init__(
        self,
        offer: Offer,
        typed: Any = None,
        *,
        application: Any = None,
        prefill: Prefill | None = None,
        person: Mapping[str, Any] | None = None,
        loan: Mapping[str, Any] | None = None,
        language: str,
        areas: Collection[str] = (),
    ) -> None:
        stored = loan
        persons: list[Any] = [person]
        if application is not None:
            stored = application.application_data
            persons = list(application.applicants or PartialApplicants.of(application))
        if prefill is not None:
            stored = prefill.application_data
            persons = [{"address": {}, **applicant} for applicant in prefill.applicants] or [person]
        first, second = [*persons, None, None][:2]
        offer = offer_to_read(offer)
        self.offer, self.requirements = offer, OfferRequirements.by(offer.terms())
        self.data = DataForm(offer, typed, stored=stored)
        # The form preselects the United States for US offers, because most of their applicants live there.
        country = None if offer.conventions.is_eu else "US"
        about: dict[str, Any] = {
            "language": language,
            "country": country,
            "requires": self.requirements.applicant,
            "min_age": self.requirements.min_age,
        }
        self.first = PersonForm(typed, prefix="first", stored=first, **about)
        self.second = PersonForm(typed, prefix="second", stored=second, **about)
        region = self.first.fields["address.region"]
        region.help_text = f"{region.help_text} {availability_of(offer)}".strip()
        self.share = ShareForm(typed, stored=() if application is None else application.share, areas=areas)
        self.has_second = second is not None or (
            typed is not None and (self.second.is_valid() is False or not self.second.is_empty)
        )

    def errors_by_field(self) -> list[tuple[forms.BoundField, Any, list[str]]]:
        """Return the invalid fields of all forms, with their titles and their error messages."""
        numbers = {self.first: 1, self.second: 2} if self.has_second else {}
        return [
            (field, name_applicant(numbers[form], field.label) if form in numbers else field.label, [*field.errors])
            for form in (self.data, self.first, self.second)
            if form.is_bound
            for field in form
            if field.errors
        ]

    def loan_fields(self) -> list[forms.BoundField]:
        return [self.data[name] for name in self.data.fields if name in _LOAN]

    def other_fields(self) -> list[forms.BoundField]:
        return [self.data[name] for name in self.data.fields if name not in _LOAN]

    def _required_paths(self) -> list[str]:
        """Return the required fields of the first applicant, which depend on the country."""
        country = {"address": {"country": self.first["address.country"].value() or None}}
        return required_paths(country, self.requirements.applicant)

    def required_labels(self) -> list[str]:
        """Return the labels of the fields that an application requires, in the order of the form."""
        required = {*_LOAN, *(self.offer.application_schema or {}).get("required", ())}
        data = [*self.loan_fields(), *self.other_fields()]
        return [
            *(str(field.label) for field in data if field.name in required),
            *(str(self.first[path].label) for path in self._required_paths()),
        ]

    def steps(self) -> list[Step]:
        """Return the sections of the form with their progress.

        If an offer defines no fields, the section `answers` is omitted.
        """
        required = {*_LOAN, *(self.offer.application_schema or {}).get("required", ())}
        loan, others = ([name for name in self.data.fields if (name in _LOAN) is is_loan] for is_loan in (True, False))
        states = {"loan": state_of(self.data, loan, required)}
        if others:
            states["answers"] = state_of(self.data, others, required)
        states["applicant"] = state_of(self.first, [*self.first.fields], self._required_paths())
        if self.second.is_bound and self.second.errors:
            states["applicant"] = WRONG
        if not self.share.is_empty:
            states["sharing"] = OPTIONAL
        return number_steps(states)

    def loan(self) -> Any:
        """Return the data with the amount and the term: the valid entered values, or the stored data."""
        if not self.data.is_bound:
            return self.data.stored
        self.data.is_valid()
        return self.data.to_data()

    def require_loan(self) -> None:
        """Add an error to an empty amount and an empty term."""
        self.data.is_valid()
        for name in self.data.members.keys() & _LOAN:
            self.data.add_missing(name)

    def to_changes(self, *, is_complete: bool) -> dict[str, Any] | None:
        """Return the changed columns of the application, or None if a field has an error.

        Drafts may lack data and applicants. With `is_complete`, the application must meet the offer's requirements.
        """
        forms_of_all = (self.data, self.first, self.second, self.share)
        # Validate all forms, so that the page shows all errors.
        are_valid = [form.is_valid() for form in forms_of_all]
        first, second = (form.to_person(is_complete=is_complete) for form in (self.first, self.second))
        if first is not None and _is_elsewhere(self.offer, first["address"]):
            self.first.add_error("address.region", availability_of(self.offer))
        data = self.data.to_data()
        self._require_data(data, is_complete=is_complete)
        if is_complete:
            self._require_person(self.first, first)
            self._require_person(self.second, second)
        if not all(are_valid) or any(form.errors for form in forms_of_all):
            return None
        entered = [form.entered() for form in (self.first, self.second)]
        is_incomplete = any(entry and not person for entry, person in zip(entered, (first, second), strict=True))
        # An application stores complete applicants only, and the first applicant is not optional.
        is_partial = is_incomplete or (second is not None and first is None)
        self.partial = entered if is_partial else None
        return {
            "application_data": data,
            "applicants": None if is_partial else [person for person in (first, second) if person is not None] or None,
            "share": sorted(self.share.cleaned_data["share"]),
        }

    def _due(self, *, data: Any = None, person: Any = None) -> list[Due]:
        """Return the unmet requirements that the API would report for the same data. Documents are excluded."""
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
                if name not in self.data.errors:
                    self.data.add_error(name, gettext("Check this value."))
            elif is_complete:
                self.data.add_missing(name)
        if is_complete:
            self.require_loan()

    def _require_person(self, form: PersonForm, person: Mapping[str, Any] | None) -> None:
        """Add errors for missing values of an applicant, and for an applicant who is too young."""
        entered = form.entered() if person is None else person
        for item in () if entered is None else self._due(person=entered):
            path = ".".join(item.pointer.split("/")[3:])
            # In an incomplete applicant, other checks report the missing values.
            is_new = item.pointer.startswith("/applicants") and path not in form.errors
            if is_new and (person is not None or item.coming):
                form.add_error(path, form.missing(path) if item.why == REQUIRED else describe_missing(item))
        if person is None and form is self.first:
            form.require({"address": {"country": form.cleaned_data.get("address.country") or None}})
