"""The loan in the console's forms: in dollars, where the API has cents."""

from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from typing import Any

from django import forms

from config.backoffice.forms import FigureField
from config.core.errors import ApiError
from credit.core.apr import PLACES, RATE_MAX_PERCENT, TERM_MAX_MONTHS
from credit.core.quotes import AMOUNT_MAX_CENTS
from credit.models.terms import number

LOAN_FIELDS = ("amount", "rate_percent", "term_months", "fee", "first_payment_on")
_DOLLARS = {"amount": "amount_cents", "fee": "fee_cents"}
DAY = forms.DateInput({"type": "date"}, format="%Y-%m-%d")
_MOST = Decimal(AMOUNT_MAX_CENTS) / 100


def loan_fields(*, is_needed: bool) -> dict[str, forms.Field]:
    """Return the fields of a loan; what an approval leaves empty comes from the application and from the offer."""
    empty = "" if is_needed else "Left empty, it comes from the application, the rate from the offer."
    return {
        "amount": FigureField(
            label="Amount in dollars", min_value=Decimal("0.01"), max_value=_MOST, decimal_places=2,
            required=is_needed, help_text=empty,
        ),
        "rate_percent": FigureField(
            label="Note rate, per cent a year", min_value=0, max_value=RATE_MAX_PERCENT, decimal_places=PLACES,
            required=is_needed,
        ),
        "term_months": FigureField(
            label="Term in months", min_value=1, max_value=TERM_MAX_MONTHS, decimal_places=0, required=False,
            help_text="None for a line of credit.",
        ),
        "fee": FigureField(
            label="Prepaid fee in dollars", min_value=0, max_value=_MOST, decimal_places=2, required=False
        ),
        "first_payment_on": forms.DateField(
            label="First payment on", required=False, widget=DAY, help_text="Default: one month after the acceptance."
        ),
    }  # fmt: skip


def filled_in(terms: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the fields begin with."""
    cents = {field: terms.get(name) for field, name in _DOLLARS.items()}
    dollars = {field: None if value is None else Decimal(value) / 100 for field, value in cents.items()}
    return {**dollars, "rate_percent": terms.get("rate_percent"), "term_months": terms.get("term_months")}


def tell(form: forms.Form, refusal: ApiError) -> list[tuple[str, str]]:
    """Set the errors of a loan on its fields; return the same as rows if the form was not submitted yet."""
    fields = {name: field for field, name in _DOLLARS.items()}
    details: Any = refusal.details or ()
    members = [(one["field"].rpartition(".")[2], one["message"]) for one in details]
    told = [(fields.get(member, member), message) for member, message in members]
    if not form.is_bound:
        return [(str(form.fields[field].label), message) for field, message in told]
    for field, message in told:
        form.add_error(field, message)
    return []


def terms_of(cleaned: Mapping[str, Any]) -> dict[str, Any]:
    """Return the submitted values, as the API has them."""
    terms: dict[str, Any] = {}
    for field in LOAN_FIELDS:
        value = cleaned.get(field)
        if value is None:
            continue
        if field in _DOLLARS:
            terms[_DOLLARS[field]] = int(value * 100)
        elif field == "term_months":
            terms[field] = int(value)
        elif isinstance(value, date):
            terms[field] = value.isoformat()
        else:
            terms[field] = number(value) if isinstance(value, Decimal) else value
    return terms
