"""GET /v1/ucp/catalog/items: active offers as one caller sees them."""

from hashlib import sha256

import pytest

from tests.api import client_of
from tests.factories import OfferFactory, UserFactory

pytestmark = pytest.mark.django_db
PATH = "/ucp/catalog/items"


def shown(api, query=""):
    """Return the ids of the items, in order."""
    response = api.read(f"{PATH}?{query}")
    assert response.status_code == 200, response.content
    return [item["offer_id"] for item in response.json()["items"]]


def test_it_shows_active_offers_newest_first(api):
    offers = [OfferFactory(description="d") for _ in range(3)]
    OfferFactory(is_active=False)
    body = api.read(PATH).json()
    assert set(body) == {"items", "total", "has_more"}
    assert (body["total"], body["has_more"]) == (3, False)
    assert [item["offer_id"] for item in body["items"]] == [offer.pk for offer in reversed(offers)]
    item = body["items"][0]
    assert (item["id"], item["variant"], item["description"]) == (str(offers[-1].pk), None, "d")
    assert item["provider_id"] == offers[-1].provider_id


def test_a_deactivated_offer_is_gone(user, api):
    offer = OfferFactory(provider__owner=user)
    assert shown(api) == [offer.pk]
    client_of(offer.owner).remove(f"/provider-offers/{offer.pk}")
    assert shown(api) == []


def test_it_is_paged(api):
    pks = [OfferFactory().pk for _ in range(5)][::-1]
    assert shown(api, "limit=2") == pks[:2]
    assert shown(api, "limit=2&offset=3") == pks[3:]
    assert shown(api, "offset=9") == []
    assert api.read(f"{PATH}?limit=2").json()["has_more"] is True
    assert api.read(f"{PATH}?limit=2&offset=3").json()["has_more"] is False
    assert api.read(f"{PATH}?limit=2&offset=9").json()["total"] == 5


class TestFilters:
    def test_by_product_type(self, api):
        card = OfferFactory(product_type="credit_card")
        OfferFactory()
        assert shown(api, "product_type=credit_card") == [card.pk]
        assert shown(api, "product_type=mortgage") == []

    def test_by_state(self, api):
        everywhere = OfferFactory().pk
        nationwide = OfferFactory(nationwide=True, included_states=["NY"]).pk
        only_ca = OfferFactory(included_states=["CA"]).pk
        not_ca = OfferFactory(excluded_states=["CA"]).pk
        assert shown(api, "state=CA") == [only_ca, nationwide, everywhere]
        assert shown(api, "state=NY") == [not_ca, nationwide, everywhere]

    def test_by_amount(self, api):
        any_amount = OfferFactory().pk
        small = OfferFactory(loan_amount_max_cents=100).pk
        large = OfferFactory(loan_amount_min_cents=101).pk
        assert shown(api, "amount_cents=100") == [small, any_amount]
        assert shown(api, "amount_cents=101") == [large, any_amount]

    def test_by_segment(self, api):
        anybody = OfferFactory().pk
        prime = OfferFactory(customer_segment="prime").pk
        assert shown(api, "segment=prime") == [prime, anybody]
        assert shown(api, "segment=other") == [anybody]

    def test_what_is_left_out_is_explained_when_asked(self, api):
        OfferFactory()
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
        assert body["total"] == 1
        assert "hidden" not in api.read(f"{PATH}?{query}").json()


class TestVariants:
    def test_the_bucket_is_the_documented_hash(self, user, api):
        for share in (0, 25, 50, 100):
            offer = OfferFactory(ab_test_variant="b", ab_test_allocation=share)
            bucket = int(sha256(f"{user.pk}|{offer.pk}|b".encode()).hexdigest()[:8], 16) % 100
            assert (offer.pk in shown(api)) == (bucket < share)

    def test_a_person_always_sees_the_same(self, api):
        for _ in range(20):
            OfferFactory(ab_test_variant="b", ab_test_allocation=50)
        first = shown(api)
        assert 0 < len(first) < 20
        assert shown(api) == first

    def test_people_are_spread_over_the_buckets(self):
        offer = OfferFactory(ab_test_variant="b", ab_test_allocation=50)
        seen = sum(offer.pk in shown(client_of(UserFactory())) for _ in range(40))
        assert 5 < seen < 35

    def test_a_variant_is_named(self, api):
        OfferFactory(ab_test_variant="b", ab_test_allocation=100)
        assert api.read(PATH).json()["items"][0]["variant"] == "b"
