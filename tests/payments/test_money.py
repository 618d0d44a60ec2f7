"""Test that amounts and fees are exact whole cents in every tier."""

from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction

import hypothesis.strategies as st
import pytest
from hypothesis import example, given

from config.core.ids import INT64_MAX
from payments.cards.fees import fee_bps, fee_cents, quote_fee
from payments.models import Payment
from tests.payments.card_support import process
from tests.properties import examples

# The amounts are spread evenly over magnitudes, and are dense around the bounds of the tiers.
AMOUNTS = st.one_of(
    st.integers(1, INT64_MAX),
    st.integers(0, 62).flatmap(lambda bits: st.integers(2**bits, 2 ** (bits + 1) - 1)),
    st.sampled_from([1_000_000, 10_000_000]).flatmap(lambda bound: st.integers(bound - 300, bound + 300)),
)


def percent_of(amount):
    """Return the rate of section 8 of the specification, written out."""
    if amount < 1_000_000:
        return Decimal("1.5")
    return Decimal("1.25") if amount <= 10_000_000 else Decimal("1.0")


@given(AMOUNTS)
@example(1)
@example(999_999)
@example(1_000_000)
@example(10_000_000)
@example(10_000_001)
@example(INT64_MAX)
@examples(100)
def test_payment_fee_is_the_exact_share_rounded_half_up(amount):
    exact = Decimal(amount) * percent_of(amount) / 100
    assert fee_cents(amount) == int(exact.quantize(Decimal(1), rounding=ROUND_HALF_UP))
    assert abs(Fraction(exact) - fee_cents(amount)) <= Fraction(1, 2)


@given(AMOUNTS)
@examples(100)
def test_fee_and_net_amount_of_a_quote_sum_to_the_amount(amount):
    quote = quote_fee(amount)
    assert quote["fee_amount_cents"] + quote["net_amount_cents"] == quote["amount_cents"] == amount
    assert 0 <= quote["fee_amount_cents"] <= quote["net_amount_cents"]
    assert all(
        type(part) is int for part in (quote["amount_cents"], quote["fee_amount_cents"], quote["net_amount_cents"])
    )
    assert Fraction(quote["fee_percentage"]) * 100 == fee_bps(amount), "the percentage must be the exact rate"


@given(st.integers(1, INT64_MAX - 1))
@examples(170)
def test_larger_payment_amount_within_a_fee_tier_does_not_have_a_lower_fee(amount):
    if fee_bps(amount) == fee_bps(amount + 1):
        assert 0 <= fee_cents(amount + 1) - fee_cents(amount) <= 1


@given(st.lists(st.integers(1, 999_999), min_size=1, max_size=30))
@examples(100)
def test_rounding_changes_a_payment_fee_by_at_most_half_a_cent(parts):
    exact = sum(Fraction(part * 150, 10_000) for part in parts)
    assert abs(sum(map(fee_cents, parts)) - exact) <= Fraction(len(parts), 2)


@pytest.mark.django_db
def test_payment_stores_and_returns_the_quoted_fee(api, user, no_rate_limits):
    @given(AMOUNTS)
    @example(INT64_MAX)
    @examples(20)
    def pays(amount):
        quoted = api.read(f"/payments/calculate-fee?amount={amount}").json()
        paid = process(api, user, amount_cents=amount).json()
        shown = api.read(f"/payments/{paid['payment_id']}").json()
        stored = Payment.objects.get(pk=paid["payment_id"])
        for name in ("amount_cents", "fee_amount_cents", "net_amount_cents"):
            assert quoted[name] == shown[name] == getattr(stored, name)
            assert type(shown[name]) is int
        assert paid["amount_cents"] == amount

    pays()


@pytest.mark.django_db
def test_payment_amount_with_fractional_cents_is_rejected(api, user, no_rate_limits):
    numbers = st.floats(allow_nan=False, allow_infinity=False).map(repr)
    decimals = st.decimals(min_value=-(10**6), max_value=10**6, places=2, allow_nan=False).map(str)
    texts = st.one_of(
        numbers, decimals, st.integers(max_value=0).map(str), st.integers(min_value=INT64_MAX + 1).map(str)
    )

    @given(texts)
    @examples(50)
    def refuses(text):
        raw = f'{{"user_id": {user.pk}, "payment_method_id": "pm_sandbox_ok", "amount_cents": {text}}}'
        assert api.send("/payments/process", raw=raw.encode()).status_code == 400
        assert api.read(f"/payments/calculate-fee?amount={text.replace('+', '%2B')}").status_code == 400

    refuses()
    assert not Payment.objects.exists()


VECTORS = [
    (1, 0, 1.5), (33, 0, 1.5), (34, 1, 1.5), (300, 5, 1.5), (10_000, 150, 1.5), (999_999, 15_000, 1.5),
    (1_000_000, 12_500, 1.25), (10_000_001, 100_000, 1.0), (34_567, 519, 1.5), (10_000_000, 125_000, 1.25),
    (2**63 - 1, 92_233_720_368_547_758, 1.0),
]  # fmt: skip


def test_payment_fee_is_exact_at_every_tier_boundary():
    for amount, fee, percentage in VECTORS:
        quote = quote_fee(amount)
        assert (quote["fee_amount_cents"], quote["net_amount_cents"]) == (fee, amount - fee), amount
        assert quote["fee_percentage"] == percentage, amount


def test_fee_percentage_is_a_decimal_number_in_every_tier(api):
    for amount, fee, percentage in VECTORS[-3:]:
        response = api.read(f"/payments/calculate-fee?amount={amount}")
        assert response.json() == {
            "amount_cents": amount, "fee_amount_cents": fee, "fee_percentage": percentage,
            "net_amount_cents": amount - fee,
        }  # fmt: skip
        assert b"." in response.content
