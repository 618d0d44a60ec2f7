"""GET /payments/calculate-fee."""

from payments.cards.fees import quote_fee
from tests.api import assert_error

VECTORS = [
    (1, 0, 1.5), (33, 0, 1.5), (34, 1, 1.5), (300, 5, 1.5), (10_000, 150, 1.5), (999_999, 15_000, 1.5),
    (1_000_000, 12_500, 1.25), (10_000_001, 100_000, 1.0), (34_567, 519, 1.5), (10_000_000, 125_000, 1.25),
    (2**63 - 1, 92_233_720_368_547_758, 1.0),
]  # fmt: skip


def test_the_fee_is_exact_at_every_boundary():
    for amount, fee, percentage in VECTORS:
        quote = quote_fee(amount)
        assert (quote.fee_amount_cents, quote.net_amount_cents) == (fee, amount - fee), amount
        assert quote.fee_percentage == percentage, amount


def test_a_quote_is_shown_with_a_fraction_in_every_tier(api):
    for amount, fee, percentage in VECTORS[-3:]:
        response = api.read(f"/payments/calculate-fee?amount={amount}")
        assert response.json() == {
            "amount_cents": amount, "fee_amount_cents": fee, "fee_percentage": percentage,
            "net_amount_cents": amount - fee,
        }  # fmt: skip
        assert b"." in response.content


def test_an_amount_that_is_not_one_positive_int64_is_invalid(api):
    for amount in ("%2B5", "%205", "-1", "007", "%EF%BC%95", "%ff", "1_000", "-0"):
        assert_error(api.read(f"/payments/calculate-fee?amount={amount}"), 400, "E1003")
