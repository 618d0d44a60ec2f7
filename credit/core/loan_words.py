"""A loan as people read it, in the language of the moment."""

from collections.abc import Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from django.utils.translation import gettext, gettext_noop

from credit.core.figures import money

_TITLES = {
    "amount_cents": gettext_noop("Amount"),
    "rate_percent": gettext_noop("Interest rate a year"),
    "fee_cents": gettext_noop("Fee"),
    "term_months": gettext_noop("Number of months"),
    "apr_percent": gettext_noop("Annual percentage rate"),
    "finance_charge_cents": gettext_noop("Finance charge"),
    "amount_financed_cents": gettext_noop("Amount financed"),
    "total_of_payments_cents": gettext_noop("Total of payments"),
    "payment_cents": gettext_noop("Monthly payment"),
    "final_payment_cents": gettext_noop("Final payment"),
}
_HUNDREDTH = Decimal("0.01")  # people read an annual percentage rate with two decimals; the API returns four
FIGURES = tuple(_TITLES)
LOAN, COST = FIGURES[:4], FIGURES[4:]


def in_words(terms: Mapping[str, Any]) -> str:
    """Return a loan as one line."""
    figures = {
        "amount": money(terms["amount_cents"]),
        "rate": terms["rate_percent"],
        "months": terms.get("term_months"),
        "fee": money(terms.get("fee_cents")),
    }
    line = gettext("%(amount)s at %(rate)s %%, a line of credit")
    loan = gettext("%(amount)s at %(rate)s %% for %(months)s months") if figures["months"] else line
    return loan % figures + (gettext(", fee %(fee)s") % figures if terms.get("fee_cents") else "")


def rows_of(terms: Mapping[str, Any], names: Sequence[str] = COST) -> list[tuple[str, str]]:
    """Return what a loan is and costs, named; of a line of credit nothing is computed."""
    is_line = terms["term_months"] is None
    titles = {**_TITLES, **({"amount_cents": gettext_noop("Credit limit")} if is_line else {})}
    return [(gettext(titles[name]), _display(name, terms[name])) for name in names if terms[name] is not None]


def _display(name: str, value: Any) -> str:
    if name.endswith("_cents"):
        return money(value)
    if name == "apr_percent":
        return f"{Decimal(str(value)).quantize(_HUNDREDTH, ROUND_HALF_UP)} %"
    return f"{value} %" if name.endswith("_percent") else str(value)
