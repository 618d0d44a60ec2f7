"""Test early repayment, and the assumed payments of lines of credit."""

import random
from datetime import date, timedelta
from decimal import ROUND_HALF_UP, Decimal

from config.core.errors import ValidationFailed
from credit.core.apr import eu_annex_iii
from credit.core.early_repayment import compensation_max, early_repayment
from credit.core.lines import assumptions_of_line, payments_of_line
from credit.core.quotes import amortise, cost_of
from tests.properties import quick_or_full

START = date(2026, 12, 1)
SCHEDULE = amortise(10_000_00, Decimal("14.2"), 24, start=START)


def test_early_repayment_refunds_the_fee_by_remaining_days():
    figures = early_repayment(SCHEDULE, start=START, fee=300_00)
    paid = SCHEDULE[11]
    days, total_days = (date(2028, 12, 1) - date(2027, 12, 1)).days, (date(2028, 12, 1) - START).days
    assert (figures.on, figures.capital) == (date(2027, 12, 1), paid.balance_cents)
    assert figures.fee_reduction == round(300_00 * days / total_days) == 150_21
    assert figures.compensation_max == paid.balance_cents // 200  # Exactly one year is left.
    assert figures.total == figures.capital - figures.fee_reduction + figures.compensation_max


def test_early_repayment_compensation_is_limited_by_article_29():
    for capital, interest_left, on, cents in (
        (10_000_00, 9_999_99, date(2026, 12, 1), 100_00), (10_000_00, 9_999_99, date(2027, 12, 2), 50_00),
        (10_000_00, 9_999_99, date(2027, 12, 1), 50_00), (10_000_00, 12_34, date(2026, 12, 1), 12_34),
        (99, 99, date(2026, 12, 1), 0), (10_000_00, 0, date(2026, 12, 1), 0),
    ):  # fmt: skip
        assert compensation_max(capital, interest_left, on=on, ends_on=date(2028, 12, 1)) == cents


def test_early_repayment_fee_refund_decreases_over_the_term():
    each = [early_repayment(SCHEDULE, start=START, fee=300_00, after_payments=number) for number in range(1, 24)]
    reductions = [figures.fee_reduction for figures in each]
    assert reductions == sorted(reductions, reverse=True)
    assert early_repayment(SCHEDULE, start=START, fee=300_00, after_payments=24) is None
    assert early_repayment([], start=START, fee=0) is None


def schedule_with_highest_fee(chance):
    """Return a random loan's start, its highest fee with an annual percentage rate in range, and its schedule."""
    start, amount = START + timedelta(days=chance.randrange(1460)), chance.choice([chance.randint(2, 60), 10_000_00])
    months, rate = chance.choice([2, 3, 5, 6, 12, 13, 24, 60, 303]), Decimal(chance.choice(["0", "0.1", "5"]))
    first = chance.choice([None, start + timedelta(days=1), start + timedelta(days=chance.randint(1, 360))])
    lowest, above, schedule = 0, amount, None
    while above - lowest > max(1, amount // 2_000):
        fee = (lowest + above) // 2
        try:
            _, schedule = cost_of(amount, rate, months, fee, first, method="eu_annex_iii", today=start)
            lowest = fee
        except ValidationFailed:
            above = fee
    return start, lowest, schedule or amortise(amount, rate, months, start=start, first_payment_on=first)


def test_early_repayment_total_is_not_negative_for_the_highest_fee():
    """A fee near the whole amount falls by days, which could exceed the capital. The limit of the rate excludes it."""
    chance = random.Random(29)
    for _ in range(quick_or_full(30, 100)):
        start, fee, schedule = schedule_with_highest_fee(chance)
        figures = early_repayment(schedule, start=start, fee=fee)
        assert figures is None or figures.total >= 0, (start, fee, schedule)


def nominal(effective):
    """Return the nominal yearly rate (12 times the monthly rate) of an effective rate in percent."""
    return 1200 * ((1 + Decimal(effective) / 100) ** (1 / Decimal(12)) - 1)


def apr(financed, payments, places="0.1"):
    return eu_annex_iii(financed, payments, start=date(2015, 1, 15)).quantize(Decimal(places), ROUND_HALF_UP)


def test_open_end_credit_has_the_apr_published_by_the_eu_commission():
    # Example 31a of January 2015: 30,000 euros at an effective 7 %, with a fee of 600 deducted.
    payments = payments_of_line(30_000_00, nominal("7"), start=date(2015, 1, 15))
    assert [cents for _day, cents in payments[:3]] == [2_669_62, 2_655_49, 2_641_35]
    assert apr(29_400_00, payments, "0.000001") == Decimal("11.164789")


def test_overdraft_example_of_the_eu_commission_is_repaid_after_3_months():
    # Example 38: 3,000 euros, costs of 24.12 a month, and a fee of 60.
    rate = Decimal(24_12) * 1200 / 3_000_00
    payments = payments_of_line(3_000_00, rate, start=date(2015, 1, 15), is_overdraft=True)
    assert payments == [(date(2015, 2, 15), 24_12), (date(2015, 3, 15), 24_12), (date(2015, 4, 15), 3_024_12)]
    assert apr(2_940_00, payments) == Decimal("19.4")


def test_cost_of_a_line_of_credit_without_a_ceiling_assumes_1500_euros():
    payments = payments_of_line(None, Decimal(0), start=START)
    assert [cents for _day, cents in payments] == [125_00] * 12
    assert assumptions_of_line(ceiling=None, is_overdraft=False) == ["a", "e", "h"]
    assert assumptions_of_line(ceiling=1, is_overdraft=True) == ["a", "d"]
