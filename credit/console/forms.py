"""Form fields for decisions: the loan in the offer's currency, the principal reasons, and the language of a text."""

from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Decimal
from hashlib import sha256
from typing import Any

from django import forms
from django.utils.translation import get_language_info

from config.core.currencies import separators, to_minor_units, to_units
from config.core.figure_fields import AmountField, FigureField
from credit.core.applicants import LANGUAGES, language_of
from credit.core.apr import PLACES, RATE_MAX_PERCENT, TERM_MAX_MONTHS
from credit.core.quotes import AMOUNT_MAX_CENTS
from credit.core.reasons import OTHER, REASONS, Reason, text_of
from credit.core.translations import language_of_terms
from credit.models import Application
from credit.models.terms import number

LOAN_FIELDS = ("amount", "rate_percent", "term_months", "fee", "first_payment_on")
# A counteroffer must change one of these figures. An applicant can't request a first payment date.
COUNTERED = ("amount_cents", "rate_percent", "term_months", "fee_cents")
UNCHANGED = (
    "Enter at least one figure that differs from the requested loan. To agree to the requested loan, approve the "
    "application instead."
)
_AMOUNTS = {"amount": "amount_cents", "fee": "fee_cents"}
# This maps names in the API to different names in the form.
API_NAMES = {**{name: field for field, name in _AMOUNTS.items()}, "expires_at": "expires_on"}
DAY = forms.DateInput({"type": "date"}, format="%Y-%m-%d")


class GroupedAmountField(AmountField):
    """An amount whose initial value has thousands separators."""

    def prepare_value(self, value: Any) -> Any:
        if type(value) not in {Decimal, int, float}:
            return value
        group, point = separators(self.currency)
        return f"{Decimal(str(value)):,f}".translate({ord(","): group, ord("."): point})


def loan_fields(currency: str | None) -> dict[str, forms.Field]:
    """Return the form fields of a loan. Values of empty fields come from the application and the offer.

    `currency` is `Conventions.shown_currency`, which is None for dollars.
    """
    empty = "If empty: the amount of the application, and the interest rate of the offer."
    unit, most = currency or "dollars", to_units(AMOUNT_MAX_CENTS, currency)
    return {
        "amount": GroupedAmountField(
            currency, label=f"Amount in {unit}", min_value=to_units(1, currency), max_value=most, required=False,
            help_text=empty,
        ),
        "rate_percent": FigureField(
            label="Interest rate", sign="%", currency=currency, min_value=0, max_value=RATE_MAX_PERCENT,
            decimal_places=PLACES, required=False,
        ),
        "term_months": FigureField(
            label="Number of months", min_value=1, max_value=TERM_MAX_MONTHS, decimal_places=0, required=False,
            help_text="Leave this empty for a line of credit.",
        ),
        "fee": GroupedAmountField(
            currency, label=f"Prepaid fee in {unit}", min_value=0, max_value=most, required=False
        ),
        "first_payment_on": forms.DateField(
            label="First payment on", required=False, widget=DAY, help_text="Default: one month after the acceptance."
        ),
    }  # fmt: skip


def initial_terms(terms: Mapping[str, Any], currency: str | None) -> dict[str, Any]:
    """Return the initial values of the loan's fields."""
    amounts = {field: to_units(terms.get(name), currency) for field, name in _AMOUNTS.items()}
    return {**amounts, "rate_percent": terms.get("rate_percent"), "term_months": terms.get("term_months")}


def terms_of(cleaned: Mapping[str, Any], currency: str | None) -> dict[str, Any]:
    """Return the submitted terms in the format of the API."""
    terms: dict[str, Any] = {}
    for field in LOAN_FIELDS:
        value = cleaned.get(field)
        if value is None:
            continue
        if field in _AMOUNTS:
            terms[_AMOUNTS[field]] = int(to_minor_units(value, currency))
        elif field == "term_months":
            terms[field] = int(value)
        elif isinstance(value, date):
            terms[field] = value.isoformat()
        else:
            terms[field] = number(value) if isinstance(value, Decimal) else value
    return terms


def preview(form: forms.Form, figures: list[tuple[str, str]], fields: Sequence[str], button: str) -> dict[str, Any]:
    """Return the context of a form with computed figures. `unseen` is true until the form has displayed the figures."""
    digest = sha256(repr(figures).encode()).hexdigest()[:16] if figures else ""
    unseen = bool(form.is_bound and figures and form.data.get("terms_seen") != digest)
    return {"figures": figures, "figure_fields": fields, "preview": button, "terms_seen": digest, "unseen": unseen}


CODES = {"code_1": "First", "code_2": "Second", "code_3": "Third", "code_4": "Fourth"}


_REASON_GROUPS = {
    "Income and employment": ("income", "employment", "obligations_excessive"),
    "Credit history": (
        "no_credit_file", "credit", "performance", "obligations_delinquent", "collection", "garnishment", "foreclosure",
        "bankruptcy", "inquiries", "references",
    ),
    "Residence and identity": ("residence", "identity"),
    "The application": ("application", "collateral"),
}  # fmt: skip
OTHER_LABEL = "Another reason, in your words"
REASON_CHOICES: list[Any] = [
    ("", "—"),
    (OTHER, OTHER_LABEL),
    *(
        (group, [(code, text) for code, text in REASONS.items() if code.startswith(prefixes)])
        for group, prefixes in _REASON_GROUPS.items()
    ),
]


def chosen_reasons(reasons: Sequence[Reason]) -> dict[str, str]:
    """Return the initial values of the reason fields. The form has only one field for a reason without a code."""
    chosen: dict[str, str] = {}
    for reason in reasons:
        code = reason if isinstance(reason, str) else OTHER
        if len(chosen) < len(CODES) and code not in chosen.values() and code in {*REASONS, OTHER}:
            chosen[[*CODES][len(chosen)]] = code
    own = next((reason for reason in reasons if not isinstance(reason, str)), None)
    return {**chosen, "other": text_of(own)} if own is not None and OTHER in chosen.values() else chosen


HINT = "The applicant reads {}. Write in this language if you can."


def languages_between(application: Application) -> dict[str, str]:
    """Return the language that the applicant reads, and the language of the offer, in which the lender writes."""
    return {
        "reads": application.consumer.language or language_of(application.readable_applicants),
        "writes": language_of_terms(application.offer_snapshot or {}),
    }


def language_name(language: str) -> str:
    return str(get_language_info(language)["name"])


def language_choices() -> list[tuple[str, str]]:
    return [(code, language_name(code)) for code in LANGUAGES]


def hint_of(initial: Any) -> str:
    """Return a hint about the applicant's language, or "" if the offer has the same language."""
    reads = initial.get("reads")
    is_other = reads is not None and reads != initial.get("writes")
    return HINT.format(language_name(reads)) if is_other else ""


def add_language(form: forms.Form) -> None:
    """Add the field `language` to a form if the applicant's language differs from the offer's language."""
    if hint := hint_of(form.initial):
        form.fields["language"] = forms.ChoiceField(
            choices=language_choices(),
            initial=form.initial["writes"],
            required=False,
            label="Language of your text",
            help_text=hint,
        )


def chosen_in(form: forms.Form) -> str | None:
    """Return the language of the text, or None for the language of the offer."""
    language: str = form.cleaned_data.get("language") or ""
    return language if language and language != form.initial.get("writes") else None
