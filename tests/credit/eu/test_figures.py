"""Test the figures of Directive (EU) 2023/2225, Art. 3 and 8, in the API and on pages."""

from datetime import date
from decimal import Decimal
from urllib.parse import urlencode

import pytest
from django.utils import translation

from credit.core.examples import representative_example
from credit.core.loan_words import FIGURES, in_words, rows_of
from credit.core.quotes import WARNING, cost_of
from credit.models import LoanTerms, Offer
from credit.scoring.matching import _WORDS as WHY_NOT
from tests.api import assert_error, client_of
from tests.credit.commerce.support import call_catalog
from tests.credit.eu.offers import EXAMPLE, eu_offer
from tests.credit.terms.lending import LINE, acceptance_of, applied, approve
from tests.factories import OfferFactory, UserFactory

pytestmark = pytest.mark.django_db
TODAY = date(2026, 11, 29)
LOAN = {"amount_cents": 1_000_000, "rate_percent": 14.2, "term_months": 24, "fee_cents": 30_000}
KEPT_BACK = (970_000, 184_580, 1_154_580)
APART = (1_000_000, 184_580, 1_184_580)
TOTALS = ("total_credit_cents", "total_cost_cents", "total_payable_cents")


def approved(terms=LOAN, *, offer=None, **offer_terms):
    application = applied(offer or eu_offer(**offer_terms))
    response = approve(client_of(application.consumer), application, terms)
    return application, response


def totals_of(figures):
    return tuple(figures[name] for name in TOTALS)


@pytest.mark.parametrize(("is_kept_back", "totals"), [(True, KEPT_BACK), (False, APART)])
def test_eu_quote_and_acceptance_contain_totals_for_deducted_and_separate_fees(api, is_kept_back, totals):
    application, response = approved(fee_financed=is_kept_back)
    assert response.status_code == 200, response.content
    terms = acceptance_of(client_of(application.consumer), application)["terms"]
    assert totals_of(terms) == totals
    assert (terms["currency"], terms["method"]) == ("EUR", "eu_annex_iii")
    assert rows_of(terms, ("apr_percent",), start=TODAY) == [("Annual percentage rate of charge (APR)", "18.8%")]
    path = f"/v1/provider-offers/{application.offer_id}/quote"
    query = {"amount_cents": 1_000_000, "term_months": 24, "apr_percent": "14.2", "fee_cents": 30_000}
    quote = api.get(path, query, headers=api.credentials).json()
    assert totals_of(quote) == totals_of(quote["representative_example"]) == totals
    assert (quote["method"], quote["warning"]) == ("eu_annex_iii", WARNING)
    assert_error(api.get(path, {**query, "method": "us_appendix_j"}, headers=api.credentials), 400, "E1001")


def test_loans_are_shown_in_their_currency_and_the_readers_language():
    application, _ = approved()
    terms = acceptance_of(client_of(application.consumer), application)["terms"]
    shown = dict(rows_of(terms, FIGURES, start=TODAY))
    assert shown["Total amount of credit"] == "9,700.00\u00a0EUR"
    assert shown["Total cost of the credit"] == "1,845.80\u00a0EUR"
    assert shown["Total amount payable"] == "11,545.80\u00a0EUR"
    assert in_words(terms) == "10,000.00\u00a0EUR at 14.2% for 24 months, fee 300.00\u00a0EUR"
    with translation.override("es"):
        assert [value for _, value in rows_of(terms, ("total_of_payments_cents", "apr_percent"), start=TODAY)] == [
            "11.545,80\u00a0EUR", "18,8\u00a0%",
        ]  # fmt: skip


@pytest.mark.parametrize(("currency", "shown"), [("EUR", "11.4"), (None, "11.45")])
def test_displayed_apr_is_rounded_once_from_the_unrounded_rate(currency, shown):
    figures, _ = cost_of(191_516, Decimal("9.9"), 12, 1_000, None, method="eu_annex_iii", today=TODAY)
    assert figures["apr_percent"] == Decimal("11.4500")  # The unrounded rate is 11.449966 %.
    loan = {"amount_cents": 191_516, "rate_percent": 9.9, "term_months": 12, "fee_cents": 1_000}
    terms = {**loan, **figures, "first_payment_on": None, "currency": currency}
    assert rows_of(terms, ("apr_percent",), start=TODAY)[0][1] == f"{shown}%"
    if currency:
        example = {"amount_cents": 191_516, "rate_percent": 9.9, "months": 12, "fee_cents": 1_000}
        offer = {"jurisdiction": "eu", "currency": currency, "example": example, "term_options_months": [12]}
        assert "APR 11.4 %" in representative_example(offer, today=TODAY)["text"]


def test_approval_above_the_apr_cap_or_the_highest_rate_returns_400():
    offer = eu_offer(apr_cap=18.7)
    _, response = approved(offer=offer)
    assert "18.7611" in assert_error(response, 400, "E1023")["message"]
    assert not LoanTerms.objects.exists()
    Offer.objects.filter(pk=offer.pk).update(apr_cap=None)
    offer.refresh_from_db()
    for rate_percent, status in ((17.5, 200), (17.6, 400)):
        assert approved({**LOAN, "rate_percent": rate_percent}, offer=offer)[1].status_code == status


def test_eu_line_of_credit_terms_have_a_limit_and_a_currency():
    terms = {"amount_cents": 1_000_000, "rate_percent": 14.2}
    application, response = approved(terms, **{**LINE, "example": None})
    assert response.status_code == 200, response.content
    shown = dict(rows_of(acceptance_of(client_of(application.consumer), application)["terms"], FIGURES, start=TODAY))
    assert shown == {"Credit limit": "10,000.00\u00a0EUR", "Borrowing rate a year": "14.2%", "Fee": "0.00\u00a0EUR",
                     "Total amount of credit": "10,000.00\u00a0EUR"}  # fmt: skip


def test_line_of_credit_whose_fee_raises_the_apr_out_of_range_returns_400():
    terms = {"amount_cents": 1_000_000, "rate_percent": 14.2, "fee_cents": 999_999}
    _, response = approved(terms, **{**LINE, "example": None})
    (detail,) = assert_error(response, 400, "E1001")["details"]
    assert detail["field"] == "metadata.terms.fee_cents"


@pytest.mark.parametrize(("cap", "status"), [(15.1, 400), (15.2, 200)])
def test_apr_cap_limits_the_assumed_apr_of_an_approved_line_of_credit(cap, status):
    terms = {"amount_cents": 1_000_000, "rate_percent": 14.2}
    _, response = approved(terms, **{**LINE, "example": None, "apr_cap": cap})
    assert response.status_code == status
    if status == 400:
        assert "15.16" in assert_error(response, 400, "E1023")["message"]


LISTS = pytest.mark.parametrize("path", ["/ucp/catalog/items", "/offers/match"])


def first_of(path):
    """Return the first offer of a list."""
    client = client_of(UserFactory())
    response = client.send(path, {}) if path.endswith("match") else client.read(path)
    assert response.status_code == 200, response.content
    body = response.json()
    return body.get("items", body.get("offers"))[0]


@LISTS
def test_eu_offer_is_listed_without_an_example_if_the_example_rate_is_out_of_range(path):
    eu_offer(example={**EXAMPLE, "fee_cents": 999_999})
    assert first_of(path)["representative_example"] is None


@LISTS
def test_lists_of_eu_offers_contain_the_warning_and_the_representative_example(path):
    eu_offer(blockscore_model_id=7)
    offer = first_of(path)
    assert offer["warning"] == WARNING
    assert totals_of(offer["representative_example"]) == KEPT_BACK
    assert "APR 18.8 %" in offer["representative_example"]["text"]
    assert "automated processing" in offer["personalized"]


def test_catalog_and_offer_match_compare_amounts_only_in_the_requested_currency():
    offer, client = eu_offer(), client_of(UserFactory())
    for filters, rule in (
        ({}, None), ({"state": "CA"}, "state"), ({"amount_cents": 1_000_000}, "currency"), ({"currency": "EUR"}, None),
        ({"amount_cents": 1_000_000, "currency": "EUR"}, None), ({"amount_cents": 1, "currency": "EUR"}, "amount"),
    ):  # fmt: skip
        page = client.read(f"/ucp/catalog/items?{urlencode({**filters, 'explain': 'true'})}").json()
        assert page["hidden"] == ([{"offer_id": offer.pk, "rule": rule}] if rule else [])
        (matched,) = client.send("/offers/match", filters).json()["offers"]
        assert matched["why_not"] == ([WHY_NOT[rule]] if rule else [])
    dollars = OfferFactory(provider=offer.provider)
    items = client.read("/ucp/catalog/items?amount_cents=1000000&state=CA").json()["items"]
    assert [item["offer_id"] for item in items] == [dollars.pk]


def test_ucp_product_of_an_eu_offer_contains_warning_and_example(api):
    offer = eu_offer(currency="SEK", blockscore_model_id=7)
    product = call_catalog(api, "product", {"id": str(offer.pk)})["product"]
    text = product["description"]["plain"]
    assert f"{WARNING}." in text
    assert "The borrowing rate is from 6.9 % up to 17.5 %." in text
    assert "total amount payable 11,545.80\u00a0SEK, APR 18.8 %" in text
    assert "automated processing" in text
    assert product["price_range"]["min"] == {"amount": 100_000, "currency": "SEK"}
    assert product["metadata"]["apr_min_percent"] is None
    assert "$" not in str(product)


def test_price_filter_in_dollars_finds_no_offer_in_euros(api):
    offer = eu_offer()
    products = call_catalog(api, "search", {"filters": {"price": {"min": 1}}})["products"]
    assert products == []
    assert [product["id"] for product in call_catalog(api, "search", {})["products"]] == [str(offer.pk)]


def test_pages_of_an_eu_loan_have_no_dollar_sign(client):
    application, _ = approved(blockscore_model_id=None)
    client.force_login(application.consumer)
    for path in ("/my", f"/my/applications/{application.pk}", f"/my/applications/{application.pk}/accept",
                 f"/my/applications/{application.pk}/agreement", "/my/apply"):  # fmt: skip
        page = client.get(path)
        assert page.status_code == 200, path
        text = page.content.decode()
        assert "$" not in text.partition("<main")[2], path
        assert "EUR" in text, path
