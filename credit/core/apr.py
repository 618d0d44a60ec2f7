"""The annual percentage rate of a loan with a single payout, under US and EU law.

At this rate, the present value of the payments on the first day equals the amount financed. The two laws differ in how
they count time, and in how they discount a part of a period. Amounts are integer cents, and rates are decimals.
"""

from calendar import monthrange
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from itertools import pairwise

APR_MAX_PERCENT = 1_000_000
RATE_MAX_PERCENT, TERM_MAX_MONTHS = 1000, 600  # the maximum note rate per year, and the maximum term
PLACES = 4  # the decimals of disclosed rates
STEP = Decimal(1).scaleb(-PLACES)
EXACT = Context(prec=34)
# The tolerance is the precision of a rate per period. Newton's method takes about 12 steps, and about 50 for the
# highest rates.
_TOLERANCE = Decimal("1e-16")
_STEPS_MAX = 200

Payment = tuple[date, int]


class RateOutOfRange(ValueError):
    """The rate is above APR_MAX_PERCENT, or the payments are less than the amount financed."""


def month_of(day: date) -> int:
    """Return the consecutive number of a day's month, for arithmetic with months."""
    return day.year * 12 + day.month - 1


def in_month(month: int, day: int) -> date:
    """Return this day of a numbered month, or the last day of the month if the month is shorter."""
    year, index = divmod(month, 12)
    return date(year, index + 1, min(day, monthrange(year, index + 1)[1]))


def due_day(start: date, dates: Sequence[date]) -> int | None:
    """Return the day of the month on which all payments of a series fall due, or None if the days differ.

    In a short month, payments fall due on the last day. If possible, `start` counts as a date of the series. For
    example, January 31 to February 28 can be a month.
    """
    for day in (max(start.day, *(due_on.day for due_on in dates)), max(due_on.day for due_on in dates)):
        if all(due_on == in_month(month_of(due_on), day) for due_on in dates):
            return day
    return None


def count_back(start: date, end: date, day: int) -> tuple[int, int]:
    """Count whole months back from `end`, then the remaining days to `start`. `day` is the due day of the series."""
    month, last = month_of(start), month_of(end)
    if in_month(month, day) < start:
        month += 1
    return last - month, (in_month(month, day) - start).days


@dataclass(frozen=True, order=True, slots=True)
class UnitPeriod:
    """A unit-period of Appendix J. Months have 30 days each, but weeks and days follow the calendar."""

    days: int
    per_year: Fraction
    of_months: bool = True

    def count(self, start: date, end: date, day: int) -> tuple[int, Decimal]:
        """Return the whole unit-periods, and the remaining fraction of a unit-period (Appendix J, paragraph (b)(5))."""
        elapsed = (end - start).days
        if self.of_months:
            months, odd_days = count_back(start, end, day)
            elapsed = 30 * months + odd_days
        whole, left = divmod(elapsed, self.days)
        return whole, Decimal(left) / self.days


_SEMIMONTH = UnitPeriod(15, Fraction(24))
_MONTHS = {count: UnitPeriod(30 * count, Fraction(12, count)) for count in range(1, 12)}
_WEEKS = {count: UnitPeriod(7 * count, Fraction(52, count), of_months=False) for count in range(1, 53)}
_STANDARD = (_SEMIMONTH, *_MONTHS.values(), *_WEEKS.values())


def _standard_length(earlier: date, later: date, day: int) -> UnitPeriod | None:
    """Return the standard interval that equals a period, or None. February counts as a month, not as four weeks."""
    months, odd_days = count_back(earlier, later, day)
    if months and not odd_days:
        return _MONTHS.get(months)
    if (month_of(later) - month_of(earlier), later.day - earlier.day) in {(0, 15), (1, -15)}:
        return _SEMIMONTH
    weeks, odd_days = divmod((later - earlier).days, 7)
    return None if odd_days else _WEEKS.get(weeks)


def unit_period(start: date, dates: Sequence[date], day: int | None) -> UnitPeriod:
    """Return the unit-period of a transaction (Appendix J, paragraph (b)(4)).

    The unit-period is the most frequent period that occurs more than once. If several are equally frequent, it is the
    shortest. If no period repeats, it is the standard interval nearest to the average period. For a single payment, it
    is the whole term.
    """
    if len(dates) == 1:
        months, odd_days = count_back(start, dates[0], day or dates[0].day)
        if months and not odd_days:
            return UnitPeriod(30 * months, Fraction(12, months))
        days = (dates[0] - start).days
        return UnitPeriod(days, Fraction(365, days), of_months=False)
    periods = pairwise((start, *dates))
    standard = (_standard_length(earlier, later, day or later.day) for earlier, later in periods)
    lengths = Counter(length for length in standard if length is not None)
    often = max(lengths.values(), default=0)
    if often > 1:
        return min(length for length, times in lengths.items() if times == often)
    average = Fraction((dates[-1] - start).days, len(dates))
    return min(_STANDARD, key=lambda length: (abs(length.days - average), length.days))


def _solve(
    amount_cents: int,
    flows: Sequence[tuple[int, int, Decimal]],
    partial: Callable[[Decimal, Decimal], tuple[Decimal, Decimal]],
    rate_max: Decimal,
) -> Decimal:
    """Return the rate per period at which the present value of `flows` equals the amount.

    `flows` are tuples of (cents, whole periods, fraction of a period), in order of time. `partial(part, rate)` returns
    the discount factor of a fraction, and the negative derivative of its logarithm. The present value is a convex,
    falling function of the rate, so Newton's method from zero converges without overshooting. Raises RateOutOfRange.
    """
    if sum(cents for cents, _, _ in flows) < amount_cents:
        raise RateOutOfRange
    parts = {part for _, _, part in flows}
    rate = Decimal(0)
    for _ in range(_STEPS_MAX):
        discount = 1 / (1 + rate)
        partials = {part: partial(part, rate) for part in parts}
        worth = fall = Decimal(0)
        power, reached = Decimal(1), 0
        for cents, periods, part in flows:
            power *= discount ** (periods - reached)
            reached = periods
            factor, partial_fall = partials[part]
            value = cents * power * factor
            worth += value
            fall += value * (periods * discount + partial_fall)
        step = (worth - amount_cents) / fall
        rate += step
        if step < _TOLERANCE:
            return rate
        if rate > rate_max:
            break
    raise RateOutOfRange


def us_appendix_j(amount_financed_cents: int, payments: Sequence[Payment], *, start: date) -> Decimal:
    """Return the annual percentage rate by 12 CFR part 1026, Appendix J.

    This is the rate per unit-period times the number of unit-periods in a year. `payments` are sorted by date, later
    than `start`, and less than a year apart. Raises RateOutOfRange.
    """
    dates = [day for day, _ in payments]
    day = due_day(start, dates)
    unit = unit_period(start, dates, day)

    def partial(part: Decimal, rate: Decimal) -> tuple[Decimal, Decimal]:
        factor = 1 / (1 + part * rate)
        return factor, part * factor

    with localcontext(EXACT):
        flows = [(cents, *unit.count(start, due_on, day or due_on.day)) for due_on, cents in payments]
        per_year = 100 * Decimal(unit.per_year.numerator) / unit.per_year.denominator
        return per_year * _solve(amount_financed_cents, flows, partial, APR_MAX_PERCENT / per_year)


def eu_annex_iii(amount_financed_cents: int, payments: Sequence[Payment], *, start: date) -> Decimal:
    """Return the effective annual percentage rate by Directive (EU) 2023/2225, Annex III.

    Directive 2008/48/EC, Annex I, has the same method. Intervals are whole months (twelfths of a year) counted back
    from each payment. The remaining days are divided by the number of days (365 or 366) of the year that ends with
    them. The arguments and errors are the same as in `us_appendix_j`.
    """
    day = due_day(start, [due_on for due_on, _ in payments])

    def count(due_on: date) -> tuple[int, Decimal]:
        months, odd_days = count_back(start, due_on, day or due_on.day)
        end = date.fromordinal(start.toordinal() + odd_days)
        return months, Decimal(12 * odd_days) / (end - in_month(month_of(end) - 12, end.day)).days

    def partial(part: Decimal, rate: Decimal) -> tuple[Decimal, Decimal]:
        return (1 + rate) ** -part, part / (1 + rate)

    with localcontext(EXACT):
        flows = [(cents, *count(due_on)) for due_on, cents in payments]
        monthly_max = (1 + Decimal(APR_MAX_PERCENT) / 100) ** (Decimal(1) / 12) - 1
        return 100 * ((1 + _solve(amount_financed_cents, flows, partial, monthly_max)) ** 12 - 1)
