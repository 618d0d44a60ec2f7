"""Test that GET /v1/ucp/catalog/items returns active offers, filtered for the caller."""

import pytest

from tests.factories import OfferFactory

pytestmark = pytest.mark.django_db
PATH = "/ucp/catalog/items"


def test_catalog_shows_active_offers_newest_first(api):
    offers = [OfferFactory(description="d") for _ in range(3)]
    OfferFactory(is_active=False)
    body = api.read(PATH).json()
    assert set(body) == {"items", "total", "has_more"}
    assert (body["total"], body["has_more"]) == (3, False)
    assert [item["offer_id"] for item in body["items"]] == [offer.pk for offer in reversed(offers)]
    item = body["items"][0]
    assert (item["id"], item["variant"], item["description"]) == (str(offers[-1].pk), None, "d")
    assert item["provider_id"] == offers[-1].provider_id


def test_catalog_returns_pages_of_offers(api):
    pks = [OfferFactory().pk for _ in range(5)][::-1]
    for query, expected in (
        ("limit=2", (pks[:2], True, 5)), ("limit=2&offset=3", (pks[3:], False, 5)), ("offset=9", ([], False, 5)),
    ):  # fmt: skip
        body = api.read(f"{PATH}?{query}").json()
        assert ([item["offer_id"] for item in body["items"]], body["has_more"], body["total"]) == expected, query


def test_catalog_explain_lists_the_rule_that_hides_each_offer(api):
    OfferFactory(ab_test_variant="b", ab_test_allocation=100)
    state = OfferFactory(included_states=["CA"]).pk
    amount = OfferFactory(loan_amount_min_cents=10**6).pk
    kind = OfferFactory(product_type="credit_card").pk
    segment = OfferFactory(customer_segment="prime").pk
    variant = OfferFactory(ab_test_variant="b", ab_test_allocation=0).pk
    query = "state=NY&amount_cents=5&product_type=personal_loan&segment=x"
    body = api.read(f"{PATH}?{query}&explain=true").json()
    assert {entry["offer_id"]: entry["rule"] for entry in body["hidden"]} == {
        state: "state", amount: "amount", kind: "product_type", segment: "segment", variant: "inactive_variant",
    }  # fmt: skip
    assert (body["total"], body["items"][0]["variant"]) == (1, "b")
    assert "hidden" not in api.read(f"{PATH}?{query}").json()
