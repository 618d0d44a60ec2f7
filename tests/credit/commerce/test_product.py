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


def test_product_of_a_lender_without_a_numeric_id_is_available_only_under_the_open_review_policy(api, user, settings):
    offer = OfferFactory(provider=ProviderFactory(id="acme"), term_options_months=[12])
    for settings.REVIEW_POLICY, is_possible in (("open", True), ("reviewed", False), ("four_eyes", False)):
        shown = product(api, str(offer.pk))
        assert shown["variants"][0]["availability"] == {"available": is_possible}
        assert shown["options"][0]["values"][0]["available"] is is_possible
        body = {"consumer_id": str(user.pk), "offer_id": offer.pk, "provider_id": 7}
        assert (api.send("/applications", body).status_code == 201) is is_possible


def test_product_response_selects_the_requested_term_or_the_first_term(api, offer):
    shown = product(api, str(offer.pk))
    assert (variants(shown), shown["selected"]) == ([36], [{"name": "Term", "id": "36", "label": "36 months"}])
    values = [(value["id"], value["available"], value["exists"]) for value in shown["options"][0]["values"]]
    assert values == [("36", True, True), ("24", True, True), ("12", True, True)]
    for chosen in ({"name": "Term", "label": "12 months"}, YEAR, {"name": "Term", "id": "12", "label": "A year"}):
        shown = product(api, str(offer.pk), selected=[chosen], preferences=["Term"])
        assert (variants(shown), shown["selected"]) == ([12], [YEAR])
    for chosen in ({"name": "Term", "label": "99 months"}, {"name": "Colour", "label": "Blue"}):
        shown = product(api, str(offer.pk), selected=[chosen])
        assert (variants(shown), shown["selected"]) == ([36, 24, 12], [])
    shown = product(api, f"{offer.pk}-12", selected=[{"name": "Term", "label": "24 months"}])
    assert (variants(shown), shown["selected"]) == ([12], [YEAR])  # The variant overrides the selection.
    shown = product(api, str(OfferFactory().pk))
    assert (variants(shown), shown["selected"]) == ([None], [])


def test_unknown_product_id_returns_a_not_found_message(api, offer):
    for text in ("0", "x", f"{offer.pk}-99", "", f"{offer.pk}-"):
        answer = call_catalog(api, "product", {"id": text})
        assert judge.of_failure(answer) == []
        assert (answer["ucp"]["status"], "product" in answer) == ("error", False)
        (message,) = answer["messages"]
        assert (message["type"], message["code"], message["severity"]) == ("error", "not_found", "unrecoverable")


def test_product_request_for_an_inactive_or_filtered_out_offer_returns_not_found(api, offer):
    cards = {"id": str(offer.pk), "filters": {"categories": ["credit_card"]}}
    for body in ({"id": str(OfferFactory(is_active=False).pk)}, cards):
        assert "product" not in call_catalog(api, "product", body)


def test_invalid_product_request_returns_400_with_the_path_of_the_field(api):
    for body, path in (
        ({}, "$.id"), ({"id": "1", "selected": [{}]}, "$.selected[0].name"),
        ({"id": "1", "selected": [YEAR, YEAR]}, "$.selected"),
        ({"id": "1", "selected": [{**YEAR, "name": str(number)} for number in range(51)]}, "$.selected"),
    ):  # fmt: skip
        assert assert_refused(api.send(PATH, body), 400, "E1001")[0]["path"] == path
