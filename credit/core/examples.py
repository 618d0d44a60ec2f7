"""The representative example of an EU offer (Directive (EU) 2023/2225, Art. 8): its credit, figures, and sentence."""

from collections.abc import Mapping
from datetime import date
from decimal import ROUND_HALF_UP, Decimal
from functools import lru_cache
from typing import Any

from django.utils.translation import gettext

from config.core.currencies import number_in_words
from config.core.errors import ValidationFailed
from credit.core.apr import APR_MAX_PERCENT, STEP, RateOutOfRange
from credit.core.figures import money
from credit.core.jurisdictions import Conventions
from credit.core.lines import cost_of_line, is_overdraft
from credit.core.loan_words import assumptions_in_words
from credit.core.quotes import TENTH, cost_of, eu_totals, shown_apr


def example_cost(terms: Mapping[str, Any], *, today: date) -> dict[str, Any]:
    """Return the figures of an offer's representative example, for a credit that starts today.

    For a line of credit, the figures follow from the assumptions of Annex III. The rate is not rounded. Raises
    ValidationFailed.
    """
    example = terms["example"]
    amount, rate, fee = example["amount_cents"], Decimal(str(example["rate_percent"])), example["fee_cents"]
    if _is_line(terms):
        return _cost_of_line(amount, rate, fee, is_overdraft(terms), today)
    return _example_cost(amount, rate, example["months"], fee, Conventions.of(terms).apr_method, today)


def _is_line(terms: Mapping[str, Any]) -> bool:
    return not terms.get("term_options_months")


# Lists repeat the same examples, and each rate takes milliseconds to compute.
@lru_cache(maxsize=1024)
def _example_cost(
    amount_cents: int, rate: Decimal, months: int, fee_cents: int, method: str, today: date
) -> dict[str, Any]:
    figures, _ = cost_of(
        amount_cents, rate, months, fee_cents, None,
        method=method, today=today, where="example.", rate_member="rate_percent",
    )  # fmt: skip
    return figures


@lru_cache(maxsize=1024)
def _cost_of_line(amount_cents: int, rate: Decimal, fee_cents: int, overdraft: bool, today: date) -> dict[str, Any]:
    try:
        apr, paid = cost_of_line(amount_cents, rate, start=today, fee=fee_cents, is_overdraft=overdraft)
    except RateOutOfRange as error:
        message = f"The annual percentage rate would exceed {APR_MAX_PERCENT} %. Send a lower fee or rate."
        raise ValidationFailed.of_member("example.fee_cents", message) from error
    return {"payment_cents": None, "finance_charge_cents": paid - (amount_cents - fee_cents), "apr_percent": apr}


def representative_example(terms: Mapping[str, Any], *, today: date) -> dict[str, Any]:
    """Return the example's credit, its figures, and a sentence with them in the active language."""
    conventions, example = Conventions.of(terms), terms["example"]
    costs, is_line = example_cost(terms, today=today), _is_line(terms)
    amount, fee = example["amount_cents"], example["fee_cents"]
    figures = {
        **example,
        **eu_totals(conventions, amount, fee, costs["finance_charge_cents"]),
        "payment_cents": costs["payment_cents"],
        "apr_percent": float(costs["apr_percent"].quantize(STEP, ROUND_HALF_UP)),
    }
    if is_line:
        shown = costs["apr_percent"].quantize(TENTH, ROUND_HALF_UP)
    else:
        loan = {**figures, "term_months": example["months"], "first_payment_on": None, "method": costs["method"]}
        shown = shown_apr(loan, start=today)
    words = {
        "credit": money(figures["total_credit_cents"], conventions.currency),
        "rate": number_in_words(example["rate_percent"]),
        "months": example["months"],
        "payment": money(figures["payment_cents"], conventions.currency),
        "fee": money(fee, conventions.currency),
        "payable": money(figures["total_payable_cents"], conventions.currency),
        "apr": number_in_words(shown),
    }
    sentence = _sentence(is_line=is_line, months=example["months"]) % words
    if is_line:
        sentence = f"{sentence} {assumptions_in_words(figures, terms)}"
    return {**figures, "text": sentence}


def _sentence(*, is_line: bool, months: int) -> str:
    if is_line:
        return gettext(
            "Representative example: line of credit, total amount of credit %(credit)s, borrowing rate %(rate)s %% a "
            "year (fixed), fee %(fee)s, total amount payable %(payable)s, APR %(apr)s %%."
        )
    if months == 1:
        return gettext(
            "Representative example: total amount of credit %(credit)s, borrowing rate %(rate)s %% a year (fixed), "
            "one payment of %(payment)s after 1 month, fee %(fee)s, total amount payable %(payable)s, APR %(apr)s %%."
        )
    return gettext(
        "Representative example: total amount of credit %(credit)s, borrowing rate %(rate)s %% a year (fixed), "
        "%(months)s monthly payments of %(payment)s, fee %(fee)s, total amount payable %(payable)s, APR %(apr)s %%."
    )
