"""Test POST /v1/ucp/catalog/product, which returns one product with its selected variants."""

import pytest

from tests.credit.commerce import judge
from tests.credit.commerce.support import assert_refused, call_catalog
from tests.factories import OfferFactory, ProviderFactory

pytestmark = pytest.mark.django_db
PATH = "/ucp/catalog/product"
YEAR = {"name": "Term", "id": "12", "label": "12 months"}


@pytest.fixture
def offer():
    """Return a loan over 36, 24 or 12 months."""
    return OfferFactory(term_options_months=[36, 24, 12])


def product(api, text, **body):
    """Return the product of a response that both validators accept."""
    answer = call_catalog(api, "product", {"id": text, **body})
    assert judge.complaints(judge.PRODUCT, answer) == []
    return answer["product"]


def variants(shown):
    return [variant["metadata"]["term_months"] for variant in shown["variants"]]


@pytest.mark.parametrize(("policy", "is_possible"), [("open", True), ("reviewed", False), ("four_eyes", False)])
def test_product_of_a_lender_without_a_numeric_id_allows_no_application(api, user, settings, policy, is_possible):
    settings.REVIEW_POLICY = policy
    offer = OfferFactory(provider=ProviderFactory(id="acme"), term_options_months=[12])
    shown = product(api, str(offer.pk))
    assert shown["variants"][0]["availability"] == {"available": is_possible}
    assert shown["options"][0]["values"][0]["available"] is is_possible
    body = {"consumer_id": str(user.pk), "offer_id": offer.pk, "provider_id": 7}
    assert (api.send("/applications", body).status_code == 201) is is_possible


def test_product_response_selects_the_first_term(api, offer):
    shown = product(api, str(offer.pk))
    assert variants(shown) == [36]
    assert shown["selected"] == [{"name": "Term", "id": "36", "label": "36 months"}]
    values = shown["options"][0]["values"]
    assert [(value["id"], value["available"], value["exists"]) for value in values] == [
        ("36", True, True), ("24", True, True), ("12", True, True),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "chosen", [{"name": "Term", "label": "12 months"}, YEAR, {"name": "Term", "id": "12", "label": "A year"}]
)
def test_product_response_contains_the_requested_term(api, offer, chosen):
    shown = product(api, str(offer.pk), selected=[chosen], preferences=["Term"])
    assert (variants(shown), shown["selected"]) == ([12], [YEAR])


@pytest.mark.parametrize("chosen", [{"name": "Term", "label": "99 months"}, {"name": "Colour", "label": "Blue"}])
def test_product_request_ignores_a_selection_without_a_matching_term(api, offer, chosen):
    shown = product(api, str(offer.pk), selected=[chosen])
    assert (variants(shown), shown["selected"]) == ([36, 24, 12], [])


def test_variant_id_overrides_the_selected_term_of_a_product_request(api, offer):
    shown = product(api, f"{offer.pk}-12", selected=[{"name": "Term", "label": "24 months"}])
    assert (variants(shown), shown["selected"]) == ([12], [YEAR])


def test_product_of_an_offer_without_terms_has_no_selected_term(api):
    shown = product(api, str(OfferFactory().pk))
    assert (variants(shown), shown["selected"]) == ([None], [])


@pytest.mark.parametrize("text", ["0", "x", "{pk}-99", "", "{pk}-"])
def test_unknown_product_id_returns_a_not_found_message(api, offer, text):
    answer = call_catalog(api, "product", {"id": text.format(pk=offer.pk)})
    assert judge.of_failure(answer) == []
    assert answer["ucp"]["status"] == "error"
    (message,) = answer["messages"]
    assert (message["type"], message["code"], message["severity"]) == ("error", "not_found", "unrecoverable")
    assert "product" not in answer


def test_product_request_does_not_find_closed_or_filtered_out_offers(api, offer):
    assert "product" not in call_catalog(api, "product", {"id": str(OfferFactory(is_active=False).pk)})
    assert "product" not in call_catalog(
        api, "product", {"id": str(offer.pk), "filters": {"categories": ["credit_card"]}}
    )


@pytest.mark.parametrize(("body", "path"), [
    ({}, "$.id"), ({"id": "1", "selected": [{}]}, "$.selected[0].name"),
    ({"id": "1", "selected": [YEAR, YEAR]}, "$.selected"),
    ({"id": "1", "selected": [{**YEAR, "name": str(number)} for number in range(51)]}, "$.selected"),
])  # fmt: skip
def test_invalid_product_request_returns_400_with_the_path_of_the_field(api, body, path):
    messages = assert_refused(api.send(PATH, body), 400, "E1001")
    assert messages[0]["path"] == path
