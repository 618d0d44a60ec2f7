"""Compute the amounts of an early repayment in full (Directive (EU) 2023/2225, Art. 29)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from credit.core.quotes import Instalment, half_up

# The compensation is lower in the last year of the term.
_LATE, _EARLY = Decimal("0.005"), Decimal("0.01")


@dataclass(frozen=True, slots=True)
class EarlyRepayment:
    """The amounts of an early repayment on the date `on`, in minor units.

    `fee_reduction` is the part of the creditor's up-front costs for the remaining days (C-383/18). `compensation_max`
    is the creditor's maximum compensation. `total` is the maximum that the borrower pays on that date, in addition to
    the installment due on that date.
    """

    on: date
    capital: int
    fee_reduction: int
    compensation_max: int

    @property
    def total(self) -> int:
        return self.capital - self.fee_reduction + self.compensation_max


def compensation_max(capital: int, interest_left: int, *, on: date, ends_on: date) -> int:
    """Return the creditor's maximum compensation for the early repayment of `capital`, rounded down (Art. 29(3), (5)).

    The maximum is 1 % of `capital` if more than a year remains, otherwise 0.5 %, but never more than the remaining
    interest.
    """
    share = _EARLY if ends_on > _year_after(on) else _LATE
    return min(int(capital * share), interest_left)


def early_repayment(
    schedule: Sequence[Instalment], *, start: date, fee: int, after_payments: int | None = None
) -> EarlyRepayment | None:
    """Return the amounts of an early repayment on a payment's due day, by default in the middle of the schedule.

    `fee` is the creditor's up-front costs. Returns None for a loan with a single payment, and for a line of credit.
    """
    number = len(schedule) // 2 if after_payments is None else after_payments
    if not 0 < number < len(schedule):
        return None
    paid, left = schedule[number - 1], schedule[number:]
    ends_on = schedule[-1].due_on
    interest = sum(row.interest_cents for row in left)
    share = Decimal((ends_on - paid.due_on).days) / (ends_on - start).days
    compensation = compensation_max(paid.balance_cents, interest, on=paid.due_on, ends_on=ends_on)
    return EarlyRepayment(paid.due_on, paid.balance_cents, half_up(fee * share), compensation)


def _year_after(day: date) -> date:
    return day.replace(year=day.year + 1, day=28 if (day.month, day.day) == (2, 29) else day.day)
