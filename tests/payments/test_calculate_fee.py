"""GET /payments/calculate-fee."""

import pytest

from payments.cards.fees import fee_bps, fee_cents
from tests.api import assert_error

VECTORS = [
    (1, 0, 1.5), (33, 0, 1.5), (34, 1, 1.5), (300, 5, 1.5), (10_000, 150, 1.5), (999_999, 15_000, 1.5),
    (1_000_000, 12_500, 1.25), (10_000_000, 125_000, 1.25), (10_000_001, 100_000, 1.0),
    (2**63 - 1, 92_233_720_368_547_758, 1.0),
]  # fmt: skip


@pytest.mark.parametrize(("amount", "fee", "percentage"), VECTORS)
def test_the_fee_is_exact_at_every_boundary(api, amount, fee, percentage):
    response = api.read(f"/payments/calculate-fee?amount={amount}")
    assert response.status_code == 200
    assert response.json() == {
        "amount_cents": amount, "fee_amount_cents": fee, "fee_percentage": percentage, "net_amount_cents": amount - fee,
    }  # fmt: skip
    assert b"." in response.content, "the percentage is a number with a fraction in every tier"


def test_fee_and_net_add_up_around_each_boundary():
    for boundary in (1, 1_000_000, 10_000_000):
        for amount in range(max(1, boundary - 200), boundary + 200):
            exact = amount * fee_bps(amount)
            assert abs(fee_cents(amount) * 10_000 - exact) <= 5_000


@pytest.mark.parametrize("amount", ["%2B5", "%205", "-1", "007", "%EF%BC%95", "%ff", "1_000", "-0"])
def test_an_amount_that_is_not_one_positive_int64_is_invalid(api, amount):
    assert_error(api.read(f"/payments/calculate-fee?amount={amount}"), 400, "E1003")
