"""Compute the annual percentage rate of a line of credit from assumed payments.

Drawdowns and repayments are unknown in advance. Directive (EU) 2023/2225, Annex III, part II defines the assumptions.
"""

from collections.abc import Mapping
from datetime import date
from decimal import ROUND_HALF_UP, Decimal, localcontext
from typing import Any

from django.utils.translation import gettext_noop

from credit.core.apr import EXACT, Payment, eu_annex_iii, in_month, month_of
from credit.core.quotes import half_up

# These texts describe the assumptions of part II in documents.
ASSUMPTIONS = {
    "a": gettext_noop("The credit is drawn down at once and in full."),
    "d": gettext_noop("If an overdraft has no fixed term, the APR is calculated for three months."),
    "e": gettext_noop(
        "The APR is calculated for a credit of one year, with twelve equal monthly repayments of capital."
    ),
    "h": gettext_noop("If no credit limit is agreed yet, the APR is calculated for a limit of 1,500 euros."),
}
OVERDRAFT_MONTHS, OPEN_END_MONTHS = 3, 12
# Assumption (h) sets this ceiling. CEILING_ASSUMED is in minor units.
CEILING_ASSUMED_EUR = 1_500
CEILING_ASSUMED = CEILING_ASSUMED_EUR * 100


def payments_of_line(
    ceiling: int | None, rate_percent: Decimal, *, start: date, is_overdraft: bool = False
) -> list[Payment]:
    """Return the assumed payments of a line of credit that is drawn down in full on `start`, in minor units.

    Monthly interest is a twelfth of the yearly rate on the balance. Assumption (d): an overdraft is repaid in full
    after three months. Assumption (e): other lines of credit are repaid within a year in equal parts of
    the capital. Assumption (h): the default ceiling is CEILING_ASSUMED.
    """
    amount = CEILING_ASSUMED if ceiling is None else ceiling
    count = OVERDRAFT_MONTHS if is_overdraft else OPEN_END_MONTHS
    payments: list[Payment] = []
    with localcontext(EXACT):
        balance = Decimal(amount)
        part = Decimal(0) if is_overdraft else balance / count
        for number in range(1, count + 1):
            capital = balance if number == count else part
            interest = balance * rate_percent / 1200
            paid = half_up((capital + interest).quantize(Decimal("1e-9"), ROUND_HALF_UP))
            payments.append((in_month(month_of(start) + number, start.day), paid))
            balance -= capital
    return payments


def is_overdraft(offer: Mapping[str, Any]) -> bool:
    """Return whether an offer's line of credit is an overdraft (assumption (d)), according to `product_type`."""
    return "overdraft" in str(offer.get("product_type", "")).casefold()


def cost_of_line(
    ceiling: int | None, rate_percent: Decimal, *, start: date, fee: int = 0, is_overdraft: bool = False
) -> tuple[Decimal, int]:
    """Return the assumed annual percentage rate of a line of credit, and the sum of its payments."""
    payments = payments_of_line(ceiling, rate_percent, start=start, is_overdraft=is_overdraft)
    credit = (CEILING_ASSUMED if ceiling is None else ceiling) - fee
    return eu_annex_iii(credit, payments, start=start), sum(cents for _day, cents in payments)


def costs_of_line(terms: Mapping[str, Any], offer: Mapping[str, Any] | None, *, start: date | str) -> dict[str, Any]:
    """Return the assumed costs of an EU line of credit, with the keys of `LoanTerms.to_dict`. Raises RateOutOfRange.

    `terms` is a result of `LoanTerms.to_dict`. If `terms` has no ceiling, the ceiling is the total amount of credit
    plus a deducted fee.
    """
    credit, fee = terms["total_credit_cents"], terms["fee_cents"]
    amount = terms["amount_cents"] or credit + (fee if terms["fee_financed"] else 0)
    day, rate = date.fromisoformat(str(start)), Decimal(str(terms["rate_percent"]))
    apr, paid = cost_of_line(amount, rate, start=day, fee=fee, is_overdraft=is_overdraft(offer or {}))
    cost = paid - (amount - fee)
    return {"apr_percent": apr, "total_cost_cents": cost, "total_payable_cents": credit + cost}


def assumptions_of_line(*, ceiling: int | None, is_overdraft: bool) -> list[str]:
    """Return the letters of the assumptions that apply to a line of credit."""
    return ["a", "d" if is_overdraft else "e", *(["h"] if ceiling is None else [])]
