"""Properties of schedules and rates, and a comparison with the package curo.

`QUOTE_LOANS=100000` compares that many loans. curo is imported within the tests: its pandas and scipy would slow down
the collection of every test.
"""

import os
import random
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from credit.core.apr import RateOutOfRange, eu_annex_iii, in_month, month_of, us_appendix_j
from credit.core.quotes import AMOUNT_MAX_CENTS, amortise, monthly_payment_cents
from tests.properties import examples

LOANS = int(os.environ.get("QUOTE_LOANS", "100"))
TOLERANCE_POINTS = 0.005

amounts = st.integers(1, AMOUNT_MAX_CENTS) | st.integers(1, 100_000)
rates = st.decimals(0, 1000, places=6) | st.decimals(0, 40, places=2)
terms = st.integers(1, 600) | st.integers(1, 24)
starts = st.dates(date(1999, 1, 1), date(2099, 12, 31))


@st.composite
def loans(draw):
    """Draw (amount, rate, term, start, day of the first payment or None)."""
    start = draw(starts)
    first = draw(st.none() | st.integers(1, 365).map(lambda days: start + timedelta(days)))
    return draw(amounts), draw(rates), draw(terms), start, first


# Before a fix, the rounding remainder of these loans grew each month after a long first period. At the end it was up to
# 157,854 dollars, or had more digits than a number can have.
GROWING = (
    (33_813, Decimal(27), 600, date(2026, 12, 21), date(2027, 6, 21)),
    (45_492, Decimal(34), 421, date(2026, 3, 26), date(2026, 7, 25)),
    (883_813_720, Decimal(1000), 600, date(2026, 3, 1), date(2026, 11, 9)),
)


@given(loans())
@example(GROWING[0])
@example(GROWING[1])
@example(GROWING[2])
@examples(150)
def test_quote_schedule_repays_the_loan(loan):
    amount, rate, months, start, first = loan
    rows = amortise(amount, rate, months, start=start, first_payment_on=first)
    assert sum(row.principal_cents for row in rows) == amount
    assert min(row.interest_cents for row in rows) >= 0
    assert min(row.principal_cents for row in rows[1:] or rows[:1]) >= 0 or len(rows) == 1
    assert [row.number for row in rows] == list(range(1, len(rows) + 1))
    assert len(rows) <= months
    assert len({row.payment_cents for row in rows[:-1]}) <= 1
    owed = amount
    for row in rows:
        assert row.payment_cents == row.interest_cents + row.principal_cents > 0
        owed -= row.principal_cents
        assert row.balance_cents == owed
    assert owed == 0


@given(loans())
@examples(50)
def test_quote_payments_are_due_once_a_month(loan):
    amount, _, months, start, first = loan
    rows = amortise(amount, Decimal(5), months, start=start, first_payment_on=first)
    day = (first or start).day
    expected = month_of(first) if first else month_of(start) + 1
    for row in rows:
        assert month_of(row.due_on) == expected
        assert row.due_on.day == day or (row.due_on.day < day and (row.due_on + timedelta(1)).day == 1)
        expected += 1


@given(st.integers(1, 10**9), st.decimals(0, 1000, places=3), st.integers(1, 60))
@example(75_000, Decimal("0.248"), 1)  # The payment is 75,015.5 cents; a twelfth of the rate has too many digits.
@examples(100)
def test_level_payment_equals_the_annuity_rounded_half_up(amount, rate, months):
    monthly = Fraction(rate) / 1200
    exact = Fraction(amount) / sum((1 + monthly) ** -number for number in range(1, months + 1))
    assert monthly_payment_cents(amount, rate, months) == max(1, int(exact + Fraction(1, 2)))
    assert monthly_payment_cents(amount, float(rate), months) == monthly_payment_cents(amount, rate, months)


@given(loans(), st.integers(0, 99))
@examples(100)
def test_payments_discounted_at_the_apr_equal_the_amount_financed(loan, fee_percent):
    amount, rate, months, start, first = loan
    rows = amortise(amount, rate, months, start=start, first_payment_on=first)
    assume(len(rows) > (1 if first is None else 2))  # Otherwise, Appendix J may use another unit period than a month.
    paid = [(row.due_on, row.payment_cents) for row in rows]
    financed = amount - amount * fee_percent // 100
    # The length of the first period: whole months back from the first payment, and days.
    whole, begun = 0, rows[0].due_on
    due = (first or start).day
    while in_month(month_of(begun) - 1, due) >= start:
        begun = in_month(month_of(begun) - 1, due)
        whole += 1
    odd = (begun - start).days
    assume(first is not None or odd == 0)
    try:
        monthly = us_appendix_j(financed, paid, start=start) / 1200
        worth = sum(cents * (1 + monthly) ** -(whole + number) for number, (_, cents) in enumerate(paid))
        assert worth / (1 + monthly * odd / 30) == pytest.approx(Decimal(financed), rel=Decimal("1e-9"))
        yearly = 1 + eu_annex_iii(financed, paid, start=start) / 100
        year = (begun - in_month(month_of(begun) - 12, begun.day)).days
        worth = sum(
            cents * yearly ** -(Decimal(whole + number) / 12 + Decimal(odd) / year)
            for number, (_, cents) in enumerate(paid)
        )
        assert worth == pytest.approx(Decimal(financed), rel=Decimal("1e-9"))
    except RateOutOfRange:
        assert fee_percent > 0 or rate > 200


@given(st.integers(10**5, 10**9), st.decimals(0, 100, places=2), st.integers(1, 120), starts)
@examples(50)
def test_apr_of_regular_payments_without_a_fee_equals_the_note_rate(amount, rate, months, start):
    rows = amortise(amount, rate, months, start=start)
    apr = us_appendix_j(amount, [(row.due_on, row.payment_cents) for row in rows], start=start)
    assert apr == pytest.approx(rate, abs=Decimal("0.05"))


def random_loan(number):
    """Return (amount financed, payments, start) of a random loan with monthly payments. `number` is the seed."""
    chance = random.Random(number)
    start = date(2020, 1, 1) + timedelta(chance.randrange(3650))
    # If a date is the last day of its month, curo calculates with month ends. So no payment is due after day 27.
    first = start + timedelta(chance.randrange(1, 90))
    first = first.replace(day=min(first.day, 27))
    first = first if first > start else in_month(month_of(start) + 1, first.day)
    amount = chance.randrange(100_000, 10_000_000)
    rate = Decimal(chance.randrange(0, 3600)) / 100
    rows = amortise(amount, rate, chance.randrange(3, 61), start=start, first_payment_on=first)
    financed = amount - amount * chance.randrange(0, 800) // 10_000
    return financed, [(row.due_on, row.payment_cents) for row in rows], start


def test_apr_equals_the_result_of_the_curo_library():
    """Compute both rates as in curo's guide; slow, because curo uses data frames."""
    from curo import EU200848EC, Calculator, SeriesAdvance, SeriesPayment, USAppendixJ
    from pandas import Timestamp

    for number in range(3):
        financed, payments, start = random_loan(number)
        for method, convention in ((us_appendix_j, USAppendixJ()), (eu_annex_iii, EU200848EC())):
            judge = Calculator()
            judge.add(SeriesAdvance(amount=financed / 100, post_date_from=Timestamp(start)))
            (begin, level), (end, last) = payments[0], payments[-1]
            regular = {"number_of": len(payments) - 1, "amount": level / 100, "post_date_from": Timestamp(begin)}
            judge.add(SeriesPayment(**regular))
            judge.add(SeriesPayment(number_of=1, amount=last / 100, post_date_from=Timestamp(end)))
            theirs = judge.solve_rate(convention) * 100
            assert abs(float(method(financed, payments, start=start)) - theirs) < TOLERANCE_POINTS


def check_with_curo(numbers):
    """Count the time of these loans with curo, and check that its equation changes sign around our rate."""
    from curo import USAppendixJ
    from pandas import Timestamp

    convention = USAppendixJ()
    for number in numbers:
        financed, payments, start = random_loan(number)
        begin = Timestamp(start)
        flows = [(cents, convention.compute_factor(begin, Timestamp(due_on))) for due_on, cents in payments]
        flows = [(cents, part.primary_period_fraction, part.partial_period_fraction or 0) for cents, part in flows]
        apr = float(us_appendix_j(financed, payments, start=start))
        low, high = (
            sum(cents / ((1 + part * rate) * (1 + rate) ** whole) for cents, whole, part in flows)
            for rate in ((apr - TOLERANCE_POINTS) / 1200, (apr + TOLERANCE_POINTS) / 1200)
        )
        assert low > financed > high, number


def test_apr_of_many_loans_equals_the_result_of_the_curo_library(monkeypatch):
    from curo.utils import roll_month

    # For each payment, curo steps back month by month. Cache the previous month's date.
    monkeypatch.setattr("curo.daycount.us_appendix_j.roll_month", lru_cache(None)(roll_month))
    check_with_curo(range(LOANS))
