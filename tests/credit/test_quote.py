"""Test the cost of a loan at GET /v1/provider-offers/{id}/quote."""

from datetime import date, timedelta
from itertools import product

import pytest
from django.utils import timezone

from credit.core.apr import in_month, month_of
from tests.api import assert_error
from tests.credit.eu.offers import EU_TERMS
from tests.factories import OfferFactory

pytestmark = pytest.mark.django_db
LOAN = {"amount_cents": 1_000_000, "term_months": 36}
MEMBERS = {
    "payment_cents", "final_payment_cents", "total_of_payments_cents", "finance_charge_cents", "amount_financed_cents",
    "apr_percent", "method", "schedule",
}  # fmt: skip
ROW = {"number", "due_on", "payment_cents", "interest_cents", "principal_cents", "balance_cents"}


@pytest.fixture
def offer():
    """Return an offer with a rate and no other limits."""
    return OfferFactory(apr_min_percent=9.99, apr_max_percent=24.5)


def request_quote(api, offer, **query):
    """Return the response to a quote of LOAN with `query`; None omits a parameter."""
    values_by_name = {name: value for name, value in {**LOAN, **query}.items() if value is not None}
    return api.get(f"/v1/provider-offers/{offer.pk}/quote", values_by_name, headers=api.credentials)


def quote(api, offer, **query):
    response = request_quote(api, offer, **query)
    assert response.status_code == 200, response.content
    return response.json()


def refuse(api, offer, field, **query):
    """Check that the query is rejected with 400 E1001 for that field; return the message."""
    (entry,) = assert_error(request_quote(api, offer, **query), 400, "E1001")["details"]
    assert entry["field"] == field
    return entry["message"]


def test_quote_uses_the_rate_of_the_query_or_the_lowest_rate_of_the_offer(api, offer):
    body = quote(api, offer)
    assert set(body) == MEMBERS
    assert len(body["schedule"]) == 36
    assert all(set(row) == ROW for row in body["schedule"])
    # 10,000.00 at 9.99 / 12 percent a month: the payment is 322.6242…
    assert (body["payment_cents"], body["final_payment_cents"]) == (32_262, 32_286)
    assert body["total_of_payments_cents"] == 35 * 32_262 + 32_286
    assert body["amount_financed_cents"] == 1_000_000
    assert body["finance_charge_cents"] == body["total_of_payments_cents"] - 1_000_000
    assert (body["apr_percent"], body["method"]) == (9.9902, "us_appendix_j")
    first, last = body["schedule"][0], body["schedule"][-1]
    assert (first["interest_cents"], first["principal_cents"], first["balance_cents"]) == (8_325, 23_937, 976_063)
    assert (last["number"], last["balance_cents"], last["payment_cents"]) == (36, 0, 32_286)
    today = timezone.now().date()
    days = [row["due_on"] for row in body["schedule"]]
    assert days == [in_month(month_of(today) + number, today.day).isoformat() for number in range(1, 37)]
    body = quote(api, offer, apr_percent="12.000000")
    assert (body["payment_cents"], body["apr_percent"]) == (33_214, 12.0)


def test_quote_with_a_fee_or_the_eu_method_has_the_same_schedule_and_another_apr(api, offer):
    without, body = quote(api, offer), quote(api, offer, fee_cents=30_000)
    assert body["schedule"] == without["schedule"]
    assert body["amount_financed_cents"] == 970_000
    assert body["finance_charge_cents"] == without["finance_charge_cents"] + 30_000
    assert body["apr_percent"] == 12.0964
    body = quote(api, offer, method="eu_annex_iii")
    assert (body["method"], body["apr_percent"], body["schedule"]) == ("eu_annex_iii", 10.4605, without["schedule"])


def test_quote_without_interest_or_with_a_single_payment_repays_the_whole_loan(api, offer):
    body = quote(api, OfferFactory(apr_min_percent=0.0))
    assert (body["payment_cents"], body["final_payment_cents"]) == (27_778, 27_770)
    assert (body["finance_charge_cents"], body["apr_percent"]) == (0, 0)
    assert {row["interest_cents"] for row in body["schedule"]} == {0}
    body = quote(api, offer, term_months=1)
    assert body["payment_cents"] == body["final_payment_cents"] == 1_008_325
    assert (len(body["schedule"]), body["apr_percent"]) == (1, 9.99)


def test_quote_accepts_a_first_payment_date_within_12_months(api, offer):
    today = timezone.now().date()
    latest = in_month(month_of(today) + 12, today.day)
    for first in (today + timedelta(days=1), latest):
        days = [date.fromisoformat(row["due_on"]) for row in quote(api, offer, first_payment_on=first)["schedule"]]
        assert days == [in_month(month_of(first) + number, first.day) for number in range(36)]
    for first in (today, today - timedelta(days=1), latest + timedelta(days=1), "9999-12-31"):
        assert str(latest) in refuse(api, offer, "first_payment_on", first_payment_on=first)


def test_quote_with_a_malformed_query_value_is_rejected(api, offer):
    numbers = "1000.000001", "NaN", "Infinity", "1e2", "9,99", "9.", ".5", "0.0000001", "09", " 9", "\u0669", "9" * 5000
    days = "tomorrow", "20270101", "2027-02-30", "2027-01-01T00:00:00Z", "\0", ""
    for field, values in (
        ("apr_percent", numbers), ("fee_cents", ("1000000", "1000001")), ("first_payment_on", days),
    ):  # fmt: skip
        for value in values:
            assert refuse(api, offer, field, **{field: value}), value


def test_quote_balance_does_not_grow_after_a_long_first_period(api):
    offer = OfferFactory(apr_min_percent=0.0, apr_max_percent=1000.0)
    for (amount, rate), days in product(((33_813, 27), (45_492, 34), (883_813_720, 1000)), (45, 182, 254)):
        first = timezone.now().date() + timedelta(days=days)
        body = quote(api, offer, amount_cents=amount, term_months=600, apr_percent=rate, first_payment_on=first)
        assert min(row["principal_cents"] for row in body["schedule"][1:]) >= 0, (amount, days)
        assert len({row["payment_cents"] for row in body["schedule"][:-1]}) == 1, (amount, days)


def test_quote_with_the_largest_allowed_values_succeeds(api):
    offer = OfferFactory(apr_min_percent=0.0, apr_max_percent=1000.0)
    extreme = {"amount_cents": 10**12, "term_months": 600, "apr_percent": "1000"}
    latest = in_month(month_of(timezone.now().date()) + 12, timezone.now().date().day)
    for method in ("us_appendix_j", "eu_annex_iii"):
        body = quote(api, offer, **extreme, method=method, first_payment_on=latest)
        assert body["total_of_payments_cents"] < 2**53
        assert body["schedule"][-1]["balance_cents"] == 0
        # Rates above 1,000,000 % are rejected as meaningless.
        assert "1000000" in refuse(api, offer, "fee_cents", **extreme, fee_cents=10**12 - 1, method=method)
    tomorrow = timezone.now().date() + timedelta(days=1)
    refuse(api, offer, "apr_percent", apr_percent=1000, method="eu_annex_iii", first_payment_on=tomorrow, term_months=1)
    assert quote(api, offer, amount_cents=1, term_months=600)["total_of_payments_cents"] == 1


class TestQuotesOutsideOfTheOffer:
    def test_quote_outside_of_the_offers_amounts_terms_and_rates_is_rejected(self, api):
        limits = {"loan_amount_min_cents": 100_000, "loan_amount_max_cents": 500_000, "term_options_months": [24, 12]}
        offer = OfferFactory(apr_min_percent=9.99, apr_max_percent=24.5, **limits)
        loan = {"amount_cents": 100_000, "term_months": 12}
        assert len(quote(api, offer, **loan)["schedule"]) == 12
        assert quote(api, offer, **{**loan, "amount_cents": 500_000})["amount_financed_cents"] == 500_000
        assert quote(api, offer, **loan, apr_percent="24.5")["apr_percent"] == pytest.approx(24.5, abs=0.01)
        for field, value, words in (
            ("amount_cents", 99_999, "$1,000.00"), ("amount_cents", 500_001, "$5,000.00"),
            ("term_months", 36, "12, 24 months"), ("apr_percent", "9.98", "9.99"), ("apr_percent", "24.51", "24.5"),
        ):  # fmt: skip
            assert words in refuse(api, offer, field, **{**loan, field: value})

    @pytest.mark.parametrize("months", [None, []])
    def test_quote_of_an_eu_line_of_credit_is_rejected(self, api, months):
        line = OfferFactory(**{**EU_TERMS, "apr_min_percent": 5.0, "term_options_months": months})
        words = refuse(api, line, "term_months")
        assert "The offer is a line of credit" in words
        assert "`representative_example`" in words

    def test_quote_of_an_offer_without_a_rate_requires_a_rate_in_the_query(self, api):
        offer = OfferFactory()
        assert "apr_percent" in assert_error(request_quote(api, offer), 400, "E1005")["message"]
        assert quote(api, offer, apr_percent=5)["apr_percent"] == pytest.approx(5, abs=0.001)
        assert quote(api, OfferFactory(apr_max_percent=5.0))["apr_percent"] == pytest.approx(5, abs=0.001)

    def test_quote_of_an_inactive_offer_is_rejected(self, api):
        assert_error(request_quote(api, OfferFactory(apr_min_percent=5.0, is_active=False)), 400, "E1011")
