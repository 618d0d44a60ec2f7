"""GET /payments/calculate-fee."""

import pytest

from payments.cards.fees import fee_bps, fee_cents
from tests.api import assert_error

VECTORS = [
    (1, 0, 1.5),
    (33, 0, 1.5),
    (34, 1, 1.5),
    (300, 5, 1.5),
    (10_000, 150, 1.5),
    (999_999, 15_000, 1.5),
    (1_000_000, 12_500, 1.25),
    (10_000_000, 125_000, 1.25),
    (10_000_001, 100_000, 1.0),
    (2**63 - 1, 92_233_720_368_547_758, 1.0),
]


@pytest.mark.parametrize(("amount", "fee", "percentage"), VECTORS)
def test_the_fee_is_exact_at_every_boundary(api, amount, fee, percentage):
    response = api.read(f"/payments/calculate-fee?amount={amount}")
    assert response.status_code == 200
    assert response.json() == {
        "amount_cents": amount,
        "fee_amount_cents": fee,
        "fee_percentage": percentage,
        "net_amount_cents": amount - fee,
    }
    assert b"." in response.content, "the percentage is a number with a fraction in every tier"


def test_fee_and_net_add_up_around_each_boundary():
    for boundary in (1, 1_000_000, 10_000_000):
        for amount in range(max(1, boundary - 200), boundary + 200):
            exact = amount * fee_bps(amount)
            assert abs(fee_cents(amount) * 10_000 - exact) <= 5_000


@pytest.mark.parametrize(
    "query",
    [
        "amount=", "amount=abc", "amount=1.5", "amount=1e3", "amount=%2B5", "amount=%205", "amount=0", "amount=-1",
        "amount=007", "amount=9223372036854775808", "amount=" + "9" * 400, "amount=%D9%A1", "amount=%EF%BC%95",
        "amount=5&amount=5", "amount=%00", "amount=%ff", "amount=1_000", "amount=0x10", "amount=-0",
    ],
)  # fmt: skip
def test_an_amount_that_is_not_one_positive_int64_is_invalid(api, query):
    assert_error(api.read(f"/payments/calculate-fee?{query}"), 400, "E1003")


def test_a_missing_amount_is_named(api):
    body = assert_error(api.read("/payments/calculate-fee"), 400, "E1005")
    assert "amount" in body["message"]


def test_a_quote_needs_a_credential(db, anonymous):
    assert_error(anonymous.read("/payments/calculate-fee?amount=1"), 401, "E2001")


def test_a_credential_limited_to_scopes_may_not_ask(scoped_api):
    body = assert_error(scoped_api.read("/payments/calculate-fee?amount=1"), 403, "E2005")
    assert "No scope covers this" in body["message"]
    assert "details" not in body


def test_it_asks_the_database_nothing(api, django_assert_num_queries):
    api.read("/payments/calculate-fee?amount=1")
    api.read("/payments/calculate-fee?amount=1")  # the second lot of rate-limit permits covers the third call
    with django_assert_num_queries(0):
        assert api.read("/payments/calculate-fee?amount=10000").status_code == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_it_can_only_be_read(api, method):
    response = api.call(method, "/payments/calculate-fee?amount=1", {})
    assert_error(response, 405, "E4050")
    assert response.headers["Allow"].startswith("GET")
