"""The representative example of an EU offer (Directive (EU) 2023/2225, Art. 8): its loan, figures, and sentence."""

from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from functools import lru_cache
from typing import Any

from django.utils.translation import gettext

from config.core.currencies import number_in_words
from credit.core.figures import money
from credit.core.jurisdictions import Conventions
from credit.core.quotes import cost_of, eu_totals, shown_apr


def example_cost(terms: Mapping[str, Any], *, today: date) -> dict[str, Any]:
    """Return the figures of the representative example of an offer's terms, for a loan that starts today."""
    example = terms["example"]
    loan = (example["amount_cents"], Decimal(str(example["rate_percent"])), example["months"], example["fee_cents"])
    return _example_cost(*loan, Conventions.of(terms).apr_method, today)


@lru_cache(maxsize=1024)  # lists repeat the same examples, and a rate takes milliseconds
def _example_cost(
    amount_cents: int, rate: Decimal, months: int, fee_cents: int, method: str, today: date
) -> dict[str, Any]:
    figures, _ = cost_of(
        amount_cents, rate, months, fee_cents, None,
        method=method, today=today, where="example.", rate_member="rate_percent",
    )  # fmt: skip
    return figures


def representative_example(terms: Mapping[str, Any], *, today: date) -> dict[str, Any]:
    """Return the example's loan and figures, and a sentence with both in the active language."""
    conventions, example = Conventions.of(terms), terms["example"]
    costs = example_cost(terms, today=today)
    amount, fee = example["amount_cents"], example["fee_cents"]
    figures = {
        **example,
        **eu_totals(conventions, amount, fee, costs["finance_charge_cents"]),
        "payment_cents": costs["payment_cents"],
        "apr_percent": float(costs["apr_percent"]),
    }
    loan = {**figures, "term_months": example["months"], "first_payment_on": None, "method": costs["method"]}
    shown = {
        "credit": money(figures["total_credit_cents"], conventions.currency),
        "rate": number_in_words(example["rate_percent"]),
        "months": example["months"],
        "payment": money(figures["payment_cents"], conventions.currency),
        "fee": money(fee, conventions.currency),
        "payable": money(figures["total_payable_cents"], conventions.currency),
        "apr": number_in_words(shown_apr(loan, start=today)),
    }
    sentence = gettext(
        "Representative example: total amount of credit %(credit)s, borrowing rate %(rate)s %% a year (fixed), "
        "%(months)s monthly payments of %(payment)s, fee %(fee)s, total amount payable %(payable)s, APR %(apr)s %%."
    )
    return {**figures, "text": sentence % shown}
