"""Format the terms, costs, and payments of a loan for display, in the active language."""

from collections.abc import Mapping, Sequence
from datetime import date
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from django.utils.translation import gettext, gettext_noop

from config.core.currencies import number_in_words, percent_in_words
from credit.core.apr import RateOutOfRange, in_month, month_of
from credit.core.figures import date_in_words, money
from credit.core.lines import ASSUMPTIONS, assumptions_of_line, costs_of_line, is_overdraft
from credit.core.quotes import HUNDREDTH, TENTH, Instalment, shown_apr

_TITLES = {
    "amount_cents": gettext_noop("Amount"),
    "rate_percent": gettext_noop("Interest rate"),
    "fee_cents": gettext_noop("Fee"),
    "term_months": gettext_noop("Number of months"),
    "apr_percent": gettext_noop("Annual percentage rate"),
    "finance_charge_cents": gettext_noop("Finance charge"),
    "amount_financed_cents": gettext_noop("Amount financed"),
    "total_of_payments_cents": gettext_noop("Total of payments"),
    "payment_cents": gettext_noop("Monthly payment"),
    "final_payment_cents": gettext_noop("Final payment"),
}
# Under EU law, the figures of Directive (EU) 2023/2225, Art. 3 replace the figures of 12 CFR 1026.18.
_EU_NAMES = {
    "finance_charge_cents": "total_cost_cents",
    "amount_financed_cents": "total_credit_cents",
    "total_of_payments_cents": "total_payable_cents",
}
_EU_TITLES = {
    **_TITLES,
    "rate_percent": gettext_noop("Borrowing rate a year"),
    "apr_percent": gettext_noop("Annual percentage rate of charge (APR)"),
    "total_cost_cents": gettext_noop("Total cost of the credit"),
    "total_credit_cents": gettext_noop("Total amount of credit"),
    "total_payable_cents": gettext_noop("Total amount payable"),
}
FIGURES = tuple(_TITLES)
LOAN, COST = FIGURES[:4], FIGURES[4:]


def in_words(terms: Mapping[str, Any]) -> str:
    """Format the terms of a loan as a single line of text."""
    currency, months = terms.get("currency"), terms.get("term_months")
    figures = {
        "amount": money(terms["amount_cents"], currency),
        "rate": display("rate_percent", terms["rate_percent"], currency),
        "months": months,
        "fee": money(terms.get("fee_cents"), currency),
    }
    if not months:
        loan = gettext("%(amount)s at %(rate)s, a line of credit")
    elif months == 1:
        loan = gettext("%(amount)s at %(rate)s for 1 month")
    else:
        loan = gettext("%(amount)s at %(rate)s for %(months)s months")
    return loan % figures + (gettext(", fee %(fee)s") % figures if terms.get("fee_cents") else "")


def with_costs_of_line(
    terms: Mapping[str, Any], offer: Mapping[str, Any] | None, *, start: date | str
) -> dict[str, Any]:
    """Add the assumed costs to the terms of an EU line of credit, for display. Other terms are returned unchanged."""
    if terms["term_months"] is not None or not terms.get("currency"):
        return dict(terms)
    try:
        return {**terms, **costs_of_line(terms, offer, start=start), "assumptions": assumptions_in_words(terms, offer)}
    except RateOutOfRange:
        return dict(terms)


def assumptions_in_words(terms: Mapping[str, Any], offer: Mapping[str, Any] | None) -> str:
    letters = assumptions_of_line(ceiling=terms["amount_cents"], is_overdraft=is_overdraft(offer or {}))
    return " ".join(gettext(ASSUMPTIONS[letter]) for letter in letters)


def rows_of(
    terms: Mapping[str, Any], names: Sequence[str] = COST, *, start: date | str | None
) -> list[tuple[str, str]]:
    """Return (title, value) pairs for display of a loan that starts on `start`.

    For a line of credit, the only computed figures are the figures that `with_costs_of_line` adds.
    """
    is_line, currency = terms["term_months"] is None, terms.get("currency")
    titles = {**(_EU_TITLES if currency else _TITLES)}
    if is_line:
        titles["amount_cents"] = gettext_noop("Credit limit")
        if not currency:
            # The annual percentage rate of open-end credit is its nominal rate a year (12 CFR 1026.14(b)).
            titles["rate_percent"] = _TITLES["apr_percent"]
    shown = [_EU_NAMES.get(name, name) for name in names] if currency else names
    values = {name: terms[name] for name in shown if terms[name] is not None}
    if "apr_percent" in values and start is not None and not is_line:
        values["apr_percent"] = shown_apr(terms, start=start)
    return [(gettext(titles[name]), display(name, value, currency)) for name, value in values.items()]


def display(name: str, value: Any, currency: str | None = None) -> str:
    """Format a figure for display. Pass `currency` only for terms under EU law."""
    if name.endswith("_cents"):
        return money(value, currency)
    if name == "apr_percent":
        value = Decimal(str(value)).quantize(TENTH if currency else HUNDREDTH, ROUND_HALF_UP)
    if name.endswith("_percent"):
        return percent_in_words(number_in_words(value) if currency else two_places(value))
    return str(value)


def two_places(percent: Any) -> Decimal:
    """Return a percentage with at least two decimal places."""
    number = Decimal(str(percent))
    rounded = number.quantize(HUNDREDTH, ROUND_HALF_UP)
    return rounded if rounded == number else number


def months_in_words(months: int) -> str:
    return gettext("1 month") if months == 1 else gettext("%s months") % months


def duration_in_words(months: int | None, schedule: Sequence[Instalment], *, start: date) -> str:
    """Format the duration of a loan that starts on `start`. `months` is None for a line of credit.

    The text has the number of months only if the last payment is due exactly after these months. If the first payment
    is on another day, the loan ends on another day. Small loans can end earlier.
    """
    if months is None:
        return gettext("Open-end")
    ends_on = schedule[-1].due_on
    if ends_on == in_month(month_of(start) + months, start.day):
        return months_in_words(months)
    days = (ends_on - start).days
    until = gettext("1 day, until %(day)s") if days == 1 else gettext("%(days)s days, until %(day)s")
    return until % {"days": days, "day": date_in_words(ends_on)}


def payments_in_words(schedule: Sequence[Instalment], currency: str | None) -> str:
    """Format the number and amount of a loan's payments, and the first due day."""
    first, last = schedule[0], schedule[-1]
    words = (
        gettext("One payment of %(level)s, due on %(first_day)s.")
        if len(schedule) == 1
        else gettext(
            "%(number)s monthly payments of %(level)s, the last one of %(last)s. The first is due on %(first_day)s."
        )
    )
    return words % {
        "number": len(schedule),
        "level": money(first.payment_cents, currency),
        "last": money(last.payment_cents, currency),
        "first_day": date_in_words(first.due_on),
    }
