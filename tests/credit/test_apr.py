"""Compare the annual percentage rate with examples printed in the law, and test how time is counted."""

from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction

import pytest

from credit.core.apr import (
    RateOutOfRange,
    count_back,
    due_day,
    eu_annex_iii,
    in_month,
    month_of,
    unit_period,
    us_appendix_j,
)


def monthly(first, count, *, months=1):
    """Return dates that are so many months apart."""
    return [in_month(month_of(first) + months * number, first.day) for number in range(count)]


def weekly(first, count, *, weeks=1):
    """Return dates that are so many weeks apart."""
    return [first + timedelta(weeks=weeks * number) for number in range(count)]


def paying(days, *amounts):
    """Pair the dates with amounts, each given as (number of payments, cents)."""
    cents = [amount for times, amount in amounts for _ in range(times)]
    return list(zip(days, cents, strict=True))


TENTHS = monthly(date(1978, 2, 10), 24)
FIRSTS_AND_SIXTEENTHS = sorted(monthly(date(1978, 3, 1), 12) + monthly(date(1978, 3, 16), 12))
# 12 CFR part 1026, Appendix J (c): example, printed rate, date of the advance, its cents, and payments.
EXAMPLES = {
    "(1)(i)": ("9.69", date(1978, 1, 10), 500_000, paying(TENTHS, (24, 23_000))),
    "(1)(ii)": ("11.82", date(1978, 2, 10), 600_000, paying(monthly(date(1978, 4, 1), 36), (36, 20_000))),
    "(1)(iii)": ("10.34", date(1978, 2, 23), 500_000, paying(FIRSTS_AND_SIXTEENTHS, (24, 21_917))),
    "(1)(iv)": ("8.97", date(1978, 5, 23), 1_000_000, paying(monthly(date(1978, 10, 1), 40, months=3), (40, 38_500))),
    "(1)(v)": ("14.96", date(1978, 3, 20), 50_000, paying(weekly(date(1978, 4, 21), 30), (30, 1_760))),
    "(2)(i)": ("10.08", date(1978, 1, 10), 500_000, paying(TENTHS, (1, 25_000), (23, 23_000))),
    "(2)(ii)": (
        "28.50", date(1978, 3, 18), 40_000, paying(weekly(date(1978, 4, 20), 12, weeks=4), (1, 3_950), (11, 3_831)),
    ),
    "(3)(i)": ("10.50", date(1978, 1, 10), 500_000, paying(TENTHS, (23, 23_000), (1, 28_000))),
    "(3)(ii)": (
        "12.22", date(1978, 4, 3), 20_000, paying(weekly(date(1978, 4, 11), 20, weeks=2), (19, 950), (1, 3_000)),
    ),
    "(4)(i)": ("10.90", date(1978, 1, 10), 500_000, paying(TENTHS, (1, 25_000), (22, 23_000), (1, 28_000))),
    "(4)(ii)": (
        "7.30", date(1978, 1, 10), 800_000,
        paying(monthly(date(1978, 3, 1), 20, months=2), (1, 44_936), (18, 46_500), (1, 20_000)),
    ),
    "(5)(i)": ("11.45", date(1978, 1, 3), 100_000, paying([date(1978, 9, 15)], (1, 108_000))),
}  # fmt: skip


def test_apr_equals_the_printed_rate_of_the_appendix_j_examples():
    for where, (printed, start, amount, payments) in EXAMPLES.items():
        assert str(round(us_appendix_j(amount, payments, start=start), 2)) == printed, where


def test_apr_equals_the_printed_rate_of_the_eu_commission_examples():
    # COM(2005) 483 final/2, Annex II, prints these rates in examples 2 to 5, for loans over 48 months. The printed
    # rates are exact to a few millionths.
    for drawdown, payment, printed in (
        (600_000, 14_931, "9.380593"), (594_000, 14_931, "9.954966"), (600_000, 15_056, "9.856689"),
        (594_000, 15_231, "11.1070115"),
    ):  # fmt: skip
        payments = paying(monthly(date(2026, 2, 15), 48), (48, payment))
        assert abs(eu_annex_iii(drawdown, payments, start=date(2026, 1, 15)) - Decimal(printed)) < Decimal("4e-6")


def test_eu_apr_divides_remaining_days_by_the_length_of_their_own_year():
    # 100 grows to 110 in 14 days and a month. The year before 1 March 2027 has 365 days, before 1 March 2028 366 days.
    for year, days in ((2027, 365), (2028, 366)):
        end, start = date(year, 4, 1), date(year, 3, 1) - timedelta(days=14)
        effective = (Decimal("1.1") ** (1 / (Decimal(1) / 12 + Decimal(14) / days)) - 1) * 100
        assert float(eu_annex_iii(10_000, [(end, 11_000)], start=start)) == pytest.approx(float(effective))


@pytest.mark.parametrize(
    ("start", "dates", "days", "per_year"),
    [
        (date(2026, 1, 10), monthly(date(2026, 2, 10), 3), 30, 12),
        (date(2026, 1, 31), [date(2026, 2, 28), date(2026, 3, 31), date(2026, 4, 30)], 30, 12),
        (date(2026, 1, 10), monthly(date(2026, 4, 10), 4, months=3), 90, 4),
        (date(2026, 1, 10), monthly(date(2026, 12, 10), 3, months=11), 330, Fraction(12, 11)),
        (date(2026, 1, 1), weekly(date(2026, 1, 8), 3), 7, 52),
        (date(2026, 1, 1), weekly(date(2026, 1, 29), 3, weeks=4), 28, 13),
        (date(2026, 2, 1), [date(2026, 2, 16), date(2026, 3, 1), date(2026, 3, 16)], 15, 24),
        # February counts as a month, not as four weeks: a month occurs twice here, and four weeks once.
        (date(2026, 2, 1), [date(2026, 3, 1), date(2026, 4, 1)], 30, 12),
        (date(2029, 1, 27), monthly(date(2029, 2, 24), 3), 30, 12),
        (date(2026, 1, 4), weekly(date(2026, 2, 1), 3, weeks=4), 28, 13),
        # Two weeks and two months are equally frequent. The shorter period counts.
        (date(2026, 1, 1), [date(2026, 1, 8), date(2026, 1, 15), date(2026, 2, 15), date(2026, 3, 15)], 7, 52),
        # No period occurs twice: 45 and 31 days have an average of 38, and 5 weeks are nearest.
        (date(2026, 1, 15), [date(2026, 3, 1), date(2026, 4, 1)], 35, Fraction(52, 5)),
        # 27 and 31 days have an average of 29, as near to four weeks as to a month. The shorter period counts.
        (date(2026, 2, 2), [date(2026, 3, 1), date(2026, 4, 1)], 28, 13),
        # A single payment: the unit is the term, in months if they are whole.
        (date(2026, 1, 31), [date(2026, 2, 28)], 30, 12),
        (date(2026, 1, 10), [date(2027, 1, 10)], 360, 1),
        (date(1978, 1, 3), [date(1978, 9, 15)], 255, Fraction(365, 255)),
        (date(2026, 1, 1), [date(2026, 1, 2)], 1, 365),
    ],
)
def test_apr_unit_period_follows_appendix_j(start, dates, days, per_year):
    unit = unit_period(start, dates, due_day(start, dates))
    assert (unit.days, unit.per_year) == (days, per_year)


def test_count_back_returns_complete_months_and_remaining_days():
    for start, end, due, expected in (
        (date(1978, 2, 10), date(1978, 4, 1), 1, (1, 19)), (date(1978, 5, 23), date(1978, 10, 1), 1, (4, 9)),
        (date(2026, 1, 31), date(2026, 2, 28), 31, (1, 0)), (date(2026, 1, 31), date(2026, 2, 28), 28, (0, 28)),
        (date(2026, 2, 28), date(2026, 3, 31), 31, (1, 0)), (date(2026, 1, 30), date(2026, 2, 28), 31, (1, 1)),
        (date(2024, 2, 28), date(2024, 3, 29), 29, (1, 1)), (date(2025, 12, 31), date(2026, 1, 1), 1, (0, 1)),
        (date(2025, 12, 1), date(2026, 12, 1), 1, (12, 0)), (date(2026, 1, 1), date(2026, 1, 31), 31, (0, 30)),
    ):  # fmt: skip
        assert count_back(start, end, due) == expected, (start, end, due)


def test_due_day_of_month_end_payments_is_the_largest_day_number():
    ends = [date(2026, 2, 28), date(2026, 3, 31), date(2026, 4, 30)]
    assert due_day(date(2026, 1, 31), ends) == 31
    assert due_day(date(2026, 1, 10), ends) == 31
    assert due_day(date(2026, 1, 31), [date(2026, 2, 28), date(2026, 3, 28)]) == 28
    assert due_day(date(2026, 1, 31), [date(2026, 4, 30), date(2026, 5, 30)]) == 30
    assert due_day(date(2026, 1, 1), [date(2026, 2, 1), date(2026, 2, 16)]) is None


def test_due_day_31_is_the_last_day_of_every_month():
    for month in range(month_of(date(1999, 1, 1)), month_of(date(2101, 1, 1))):
        last = in_month(month, 31)
        assert month_of(last) == month
        assert (last + timedelta(days=1)).day == 1
        assert in_month(month, 15).day == 15


@pytest.mark.parametrize("method", [us_appendix_j, eu_annex_iii])
def test_apr_out_of_range_raises_rate_out_of_range(method):
    tomorrow = [(date(2026, 1, 2), 1_000)]
    assert method(1_000, tomorrow, start=date(2026, 1, 1)) == 0
    for financed in (1_001, 1):
        with pytest.raises(RateOutOfRange):
            method(financed, tomorrow, start=date(2026, 1, 1))
