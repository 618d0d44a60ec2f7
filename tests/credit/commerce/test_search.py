"""Test POST /v1/ucp/catalog/search, which returns offers as UCP products."""

import itertools
import json
from base64 import urlsafe_b64encode
from importlib import import_module
from types import SimpleNamespace

import pytest
from django.apps import apps
from django.db import connection

from credit.models import Offer
from tests.api import client_of
from tests.credit.commerce import judge
from tests.credit.commerce.support import AGENT, assert_agent_refused, assert_refused, call_catalog
from tests.factories import OfferFactory, ProviderFactory, UserFactory

pytestmark = pytest.mark.django_db
PATH = "/ucp/catalog/search"
LOAN = {
    "description": "For any purpose.", "apr_min_percent": 6.9, "apr_max_percent": 17.5,
    "loan_amount_min_cents": 100_000, "loan_amount_max_cents": 4_000_000, "term_options_months": [12, 24, 36],
}  # fmt: skip

# Pairs of an offer's name and a query that finds this offer. tests/backoffice/test_searches.py tests the same queries
# in the back office.
SEARCHED = [
    ("Rénovation", "renovation"), ("Renovation", "RÉNOVATION"), ("Re\u0301novation", "rénovation"),
    ("Home-improvement", "improvement"), ("Home\u2011improvement", "homeimprovement"), ("Refinance", "re-finance"),
    ("Prêt d\u2019études", "etudes"), ("O'Brien's boat", "O\u2019Brien\u2019s"), ("Autokredit", "kredit"),
    ("Żółta łódź", "zolta lodz"), ("Størrelse", "storrelse"), ("Großkunden", "grosskunden"), ("İstanbul", "istanbul"),
    ("Crédito educación", "educacion"), ("\uff27\uff4f\uff4c\uff44 card", "gold"), ("ﬁxed rate", "fixed"),
    ("Δάνειο", "δανειο"), ("Кредит", "КРЕДИТ"), ("个人贷款", "贷款"), ("Debt_consolidation", "consolidation"),
    ("Tín dụng", "tin dung"), ("Soft\u00adware", "software"),
]  # fmt: skip


def search(api, **body):
    """Return the ids of the products found, in order."""
    return [int(product["id"]) for product in call_catalog(api, "search", body)["products"]]


class TestProducts:
    def test_catalog_search_returns_an_offer_as_product_with_term_variants(self, api):
        offer = OfferFactory(**LOAN)
        answer = call_catalog(api, "search", {})
        (product,) = answer["products"]
        assert judge.complaints(judge.SEARCH, answer) == []
        assert answer["ucp"]["capabilities"] == {"dev.ucp.shopping.catalog.search": [{"version": "2026-08-25"}]}
        assert answer["ucp"]["status"] == "success"
        assert (product["id"], product["title"]) == (str(offer.pk), offer.name)
        assert product["categories"] == [{"value": "personal_loan", "taxonomy": "merchant"}]
        assert [variant["id"] for variant in product["variants"]] == [f"{offer.pk}-{term}" for term in (12, 24, 36)]
        assert [value["label"] for value in product["options"][0]["values"]] == ["12 months", "24 months", "36 months"]
        assert product["variants"][0]["options"] == [{"name": "Term", "id": "12", "label": "12 months"}]
        assert product["variants"][1]["metadata"]["term_months"] == 24
        assert product["price_range"]["min"] == {"amount": 100_000, "currency": "USD"}
        assert product["price_range"]["max"] == {"amount": 4_000_000, "currency": "USD"}
        for part in (product, *product["variants"]):
            assert part["metadata"]["price_means"] == "amount_financed"
            assert (part["metadata"]["apr_min_percent"], part["metadata"]["apr_max_percent"]) == (6.9, 17.5)
            words = part["description"]["plain"]
            assert words.startswith("The price is the amount financed, not the cost of the loan")
            assert "from $1,000.00 to $40,000.00" in words
            assert "from 6.9 % up to 17.5 %" in words
        assert "12, 24 or 36 months" in product["description"]["plain"]
        assert product["description"]["plain"].endswith("For any purpose.")
        assert product["metadata"]["term_options_months"] == [12, 24, 36]

    def test_product_of_an_offer_without_amounts_has_a_price_above_zero(self, api):
        offer = OfferFactory()
        answer = call_catalog(api, "search", {})
        (product,) = answer["products"]
        assert judge.complaints(judge.SEARCH, answer) == []
        assert [variant["id"] for variant in product["variants"]] == [f"{offer.pk}-any"]
        assert "options" not in product
        assert product["price_range"]["min"]["amount"] == 1
        assert product["metadata"]["amount_max_cents"] is None
        assert "No annual percentage rate" in product["description"]["plain"]
        assert "to $" not in product["description"]["plain"]

    def test_product_lists_a_repeated_term_once_and_amounts_up_to_2_to_the_53(self, api):
        OfferFactory(
            term_options_months=[12, 12, 1], loan_amount_min_cents=2**62, loan_amount_max_cents=2**63 - 1
        )  # fmt: skip
        answer = call_catalog(api, "search", {})
        (product,) = answer["products"]
        titles = [variant["title"] for variant in product["variants"]]
        assert titles == ["Everyday loan, 12 months", "Everyday loan, 1 month"]
        assert product["price_range"]["max"]["amount"] == 2**53 - 1
        assert judge.complaints(judge.SEARCH, answer) == []


class TestFilters:
    def test_catalog_search_returns_active_offers_newest_first(self, api):
        offers = [OfferFactory() for _ in range(3)]
        OfferFactory(is_active=False)
        assert search(api) == [offer.pk for offer in reversed(offers)]

    def test_category_filter_finds_offers_of_any_listed_category(self, api):
        card, loan = OfferFactory(product_type="credit_card"), OfferFactory(product_type="personal_loan")
        OfferFactory(product_type="mortgage")
        assert search(api, filters={"categories": ["credit_card", "personal_loan"]}) == [loan.pk, card.pk]
        assert search(api, filters={"categories": ["boat_loan"]}) == []
        assert len(search(api, filters={"categories": []})) == 3

    def test_price_filter_finds_offers_that_lend_the_amount(self, api):
        offer, unlimited = OfferFactory(**LOAN), OfferFactory()
        for price, fits in (
            ({"min": 4_000_001}, False), ({"min": 4_000_000}, True), ({"max": 99_999}, False), ({"max": 100_000}, True),
            ({"min": 200_000, "max": 300_000}, True), ({"min": 0, "max": 5_000_000}, True), ({}, True),
        ):  # fmt: skip
            assert search(api, filters={"price": price}) == [unlimited.pk, *([offer.pk] if fits else [])], price

    def test_catalog_search_ignores_a_price_filter_in_another_currency_and_returns_a_message(self, api):
        offer = OfferFactory(**LOAN)
        body = {"filters": {"price": {"max": 1}}, "context": {"currency": "EUR"}}
        answer = call_catalog(api, "search", body)
        assert [product["id"] for product in answer["products"]] == [str(offer.pk)]
        assert [message["code"] for message in answer["messages"]] == ["price_filter_ignored"]
        assert judge.complaints(judge.SEARCH, answer) == []
        assert search(api, **{**body, "context": {"currency": "usd"}}) == []

    def test_catalog_search_ranks_offers_by_the_number_of_matching_words(self, api):
        gold = OfferFactory(name="Gold card", product_type="credit_card", description="No fee for a year.")
        loan = OfferFactory(name="Bridge loan", description="Between two homes.")
        both = OfferFactory(name="Gold loan", product_type="home_improvement")
        assert search(api, query="a GOLD loan") == [both.pk, loan.pk, gold.pk]
        whole, part = OfferFactory(name="Kredit"), OfferFactory(name="Autokredit")
        assert search(api, query="kredit") == [whole.pk, part.pk]  # A complete word precedes a part of a word.
        assert search(api, query="homes") == [loan.pk]
        assert search(api, query="improvement") == [both.pk]
        assert search(api, query="yacht") == []
        assert search(api, query="?!") == []
        assert len(search(api, query="  ")) == 5

    def test_catalog_search_finds_an_offer_by_other_spellings_of_its_name(self, api):
        offer = OfferFactory(product_type="other")
        OfferFactory(name="Ferry pass", product_type="other")
        for name, query in SEARCHED:
            offer.name = name
            offer.save()
            assert search(api, query=query) == [offer.pk], query

    def test_migration_normalizes_stored_search_words(self, api):
        offer = OfferFactory(name="Rénovation")
        Offer.objects.update(search_words=" rénovation personal loan ")
        assert search(api, query="renovation") == []
        import_module("credit.migrations.0009_offer_search_words").fold_words(
            apps, SimpleNamespace(connection=connection)
        )
        assert search(api, query="renovation") == [offer.pk]

    def test_catalog_search_returns_only_products_that_match_all_filters(self, api):
        offer = OfferFactory(**LOAN)
        OfferFactory(**LOAN, product_type="credit_card")
        OfferFactory(name="Boat")
        filters = {"categories": ["personal_loan"], "price": {"max": 200_000}}
        assert search(api, query="everyday", filters=filters) == [offer.pk]

    def test_catalog_search_excludes_offers_that_do_not_lend_in_the_state(self, api):
        OfferFactory(included_states=["IA"])
        OfferFactory(nationwide=True)
        for context, found in (
            ({"address_region": "IA"}, 2), ({"address_region": "US-IA", "address_country": "us"}, 2),
            ({"address_region": "CA"}, 1), ({"address_region": "", "intent": "x"}, 2),
            ({"address_region": "CA", "address_country": ""}, 1),
            ({"address_region": "CA", "address_country": "DE"}, 2), ({"eligibility": ["com.example.gold"]}, 2),
        ):  # fmt: skip
            assert len(search(api, context=context)) == found, context

    @pytest.mark.parametrize("operation", ["search", "lookup", "product"])
    def test_catalog_request_with_an_invalid_state_returns_400(self, api, operation):
        countries = [{}, {"address_country": "US"}, {"address_country": "USA"}]
        for region, country in itertools.product(["ca", "us-ca", "Iowa", "ZZ", "US-ZZ", " CA", "CA-US"], countries):
            context = {"address_region": region, **country}
            response = api.send(f"/ucp/catalog/{operation}", {"context": context, "ids": ["1"], "id": "1"})
            (message,) = assert_refused(response, 400, "E1001")
            assert message["path"] == "$.context.address_region"

    def test_catalog_search_and_catalog_list_return_the_same_ab_test_offers(self):
        for share in range(0, 100, 13):
            OfferFactory(ab_test_variant="b", ab_test_allocation=share)
        for api in (client_of(UserFactory()), client_of(UserFactory())):
            shown = api.read("/ucp/catalog/items?limit=100").json()["items"]
            assert search(api, pagination={"limit": 50}) == [item["offer_id"] for item in shown]

    def test_catalog_search_ignores_unknown_fields_signals_and_attribution(self, api):
        offer = OfferFactory()
        assert search(
            api, signals={"dev.ucp.buyer_ip": "203.0.113.7"}, attribution={"utm_source": "x"}, unheard_of=[1],
            filters={"colour": "red"},
        ) == [offer.pk]  # fmt: skip


class TestPages:
    def test_catalog_search_pages_contain_each_product_once(self, api):
        answer = call_catalog(api, "search", {})
        assert (answer["products"], answer["pagination"]) == ([], {"has_next_page": False, "total_count": 0})
        for number in range(7):
            OfferFactory(name="Gold loan" if number % 2 else "Gold card", description="gold" if number % 3 else "")
        for query in ("", "gold"):
            seen, body = set(), {"pagination": {"limit": 3}, "query": query}
            for size in (3, 3, 1):
                answer = call_catalog(api, "search", body)
                assert judge.complaints(judge.SEARCH, answer) == []
                assert (len(answer["products"]), answer["pagination"]["total_count"]) == (size, 7)
                seen |= {product["id"] for product in answer["products"]}
                body["pagination"]["cursor"] = answer["pagination"].get("cursor")
            assert answer["pagination"] == {"has_next_page": False, "total_count": 7}
            assert len(seen) == 7

    def test_new_offer_does_not_move_search_results_to_another_page(self, api):
        first, second = OfferFactory(), OfferFactory()
        answer = call_catalog(api, "search", {"pagination": {"limit": 1}})
        OfferFactory()
        assert answer["products"][0]["id"] == str(second.pk)
        assert search(api, pagination={"limit": 1, "cursor": answer["pagination"]["cursor"]}) == [first.pk]

    def test_catalog_search_page_has_10_products_by_default_and_at_most_50(self, api):
        provider = ProviderFactory()
        for _ in range(52):
            OfferFactory(provider=provider)
        assert len(search(api)) == 10
        assert len(search(api, pagination={"limit": 2**53})) == 50

    def test_catalog_search_with_an_invalid_cursor_is_rejected(self, api):
        encoded = [urlsafe_b64encode(text).decode() for text in (b"0.0", b"-1.5")]
        for cursor in ("", "x", "ü", "AAAA", "====", *encoded):
            (message,) = assert_refused(api.send(PATH, {"pagination": {"cursor": cursor}}), 400, "E1001")
            assert message["path"] == "$.pagination.cursor"


@pytest.mark.parametrize("number", [1, 25])
def test_catalog_search_executes_two_sql_statements(api, number, no_rate_limits, django_assert_num_queries):
    for _ in range(number):
        OfferFactory(**LOAN)
    search(api)  # The credential is cached after this call.
    with django_assert_num_queries(2):
        assert len(search(api, query="loan", pagination={"limit": 50})) == number


class TestRefusals:
    def test_anonymous_catalog_search_returns_401(self, anonymous):
        response = anonymous.send(PATH, {}, UCP_Agent=AGENT)
        assert_agent_refused(response, 401, "authentication_required")
        assert response.headers["WWW-Authenticate"]
        assert_refused(anonymous.send(PATH, {}), 401, "E2001")

    def test_catalog_search_error_contains_the_path_of_the_invalid_field(self, api):
        for body, path in (
            ([], None), ({"query": 1}, "query"), ({"filters": {"categories": "x"}}, "filters.categories"),
            ({"filters": {"categories": ["a", 1]}}, "filters.categories[1]"),
            ({"filters": {"categories": ["x"] * 51}}, "filters.categories"),
            ({"filters": {"price": 5}}, "filters.price"), ({"filters": {"price": {"min": -1}}}, "filters.price.min"),
            ({"filters": {"price": {"max": 2**53}}}, "filters.price.max"),
            ({"filters": {"price": {"max": 1.5}}}, "filters.price.max"),
            ({"filters": {"price": {"min": 2, "max": 1}}}, "filters.price.min"),
            ({"pagination": {"limit": 0}}, "pagination.limit"), ({"pagination": {"limit": "1"}}, "pagination.limit"),
            ({"pagination": {"limit": True}}, "pagination.limit"), ({"pagination": {"cursor": 1}}, "pagination.cursor"),
            ({"signals": {"ip": "x"}}, "signals"), ({"context": {"eligibility": ["x"]}}, "context.eligibility[0]"),
            ({"context": {"eligibility": ["a.b", "a.b"]}}, "context.eligibility"),
            ({"context": {"payment": [{"handler": "a.b"}, {}]}}, "context.payment[1].handler"),
            ({"context": {"address_region": 5}}, "context.address_region"),
            ({"attribution": {"a": 1}}, "attribution.a"), ({"attribution": {"a b": 1}}, None),
        ):  # fmt: skip
            (message,) = assert_refused(api.send(PATH, body), 400, "E1001")
            assert message.get("path") == (path and f"$.{path}"), body

    def test_catalog_search_rejects_requests_that_violate_the_ucp_schema(self, api):
        if not judge.has_schemas():
            pytest.skip(judge.ABSENT)
        for body in (
            {"query": 1}, {"filters": []}, {"filters": {"price": {"min": -1}}}, {"pagination": {"limit": 0}},
            {"context": {"currency": 1}}, {"attribution": {"a": 1}}, {"signals": {"ip": "x"}},
            {"context": {"eligibility": ["x"]}}, {"context": {"payment": [{}]}},
        ):  # fmt: skip
            assert judge.by_schema(judge.REQUESTS["search"], body), body
            assert_refused(api.send(PATH, body), 400, "E1001")

    def test_catalog_search_with_a_long_query_or_description_takes_linear_time(self, api):
        OfferFactory(description="a " * 5_000)
        assert search(api, query="a" * 1_000) == []
        assert api.send(PATH, raw=json.dumps({"query": "\u0130" * 900}).encode()).status_code == 200


def test_catalog_searches_use_the_read_rate_limit(api, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "read": 2}
    assert [api.send(PATH, {}).status_code for _ in range(3)] == [200, 200, 429]
    response = api.send(PATH, {})
    assert_refused(response, 429, "E6001")
    assert response.headers["Retry-After"]
