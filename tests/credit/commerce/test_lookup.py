"""Test POST /v1/ucp/catalog/lookup, which returns products and variants by ID."""

import pytest

from tests.api import client_of
from tests.credit.commerce import judge
from tests.credit.commerce.support import assert_refused, call_catalog
from tests.factories import OfferFactory, UserFactory

pytestmark = pytest.mark.django_db
PATH = "/ucp/catalog/lookup"


def lookup(api, *ids, **body):
    """Return the response after both validators accepted the response."""
    answer = call_catalog(api, "lookup", {"ids": list(ids), **body})
    assert judge.complaints(judge.LOOKUP, answer) == []
    return answer


def missing(answer):
    """Return the request paths of the ids that were not found."""
    return [message["path"] for message in answer.get("messages", []) if message["code"] == "not_found"]


@pytest.fixture
def offer():
    """Return a loan over 12 or 36 months."""
    return OfferFactory(term_options_months=[36, 12], loan_amount_min_cents=100, loan_amount_max_cents=500)


def test_catalog_lookup_of_several_variant_ids_returns_one_product_with_matched_inputs(api, offer):
    ids = [f"{offer.pk}-12", str(offer.pk), f"{offer.pk}-36", str(offer.pk)]
    answer = lookup(api, *ids)
    (product,) = answer["products"]
    assert {variant["id"]: variant["inputs"] for variant in product["variants"]} == {
        f"{offer.pk}-12": [{"id": f"{offer.pk}-12", "match": "exact"}],
        f"{offer.pk}-36": [{"id": str(offer.pk), "match": "featured"}, {"id": f"{offer.pk}-36", "match": "exact"}],
    }
    assert (product["id"], len(product["options"][0]["values"]), "messages" in answer) == (str(offer.pk), 2, False)
    assert answer["ucp"]["capabilities"] == {"dev.ucp.shopping.catalog.lookup": [{"version": "2026-08-25"}]}


def test_every_id_in_a_catalog_search_response_can_be_looked_up(api, offer):
    pk = OfferFactory().pk
    (product,) = lookup(api, f"{pk}-any")["products"]
    assert product["variants"][0]["metadata"]["term_months"] is None
    products = call_catalog(api, "search", {})["products"]
    ids = [item["id"] for product in products for item in (product, *product["variants"])]
    answer = lookup(api, *ids)
    assert missing(answer) == []
    assert [len(product["variants"]) for product in answer["products"]] == [1, 2]


def test_catalog_lookup_reports_unknown_ids_and_returns_known_products(api, offer):
    pk = offer.pk
    for text in (
        "", "0", "-1", "01", "x", "9223372036854775808", f"{pk}-", f"{pk}-24", f"{pk}-012", f"{pk}-any", f"{pk}-12-1",
        f" {pk}", f"{pk}\n", f"{pk}-12\u2603x", "prod_1", "\u0661",
    ):  # fmt: skip
        answer = lookup(api, text, f"{pk}-12")
        assert [[variant["id"] for variant in product["variants"]] for product in answer["products"]] == [[f"{pk}-12"]]
        assert missing(answer) == ["$.ids[0]"]
        assert text in answer["messages"][0]["content"]
        assert answer["messages"][0]["type"] == "info"
    answer = lookup(api, f"{pk + 1}", f"{pk + 2}")
    assert (answer["products"], missing(answer)) == ([], ["$.ids[0]", "$.ids[1]"])
    assert answer["ucp"]["status"] == "success"


def test_catalog_lookup_omits_inactive_filtered_out_and_hidden_offers(api, offer):
    closed = OfferFactory(is_active=False)
    hidden = OfferFactory(ab_test_variant="b", ab_test_allocation=0)
    far = OfferFactory(included_states=["IA"])
    ids = [str(item.pk) for item in (closed, hidden, far)]
    context = {"address_region": "CA"}
    answer = lookup(api, *ids, str(offer.pk), context=context)
    assert missing(answer) == ["$.ids[0]", "$.ids[1]", "$.ids[2]"]
    assert missing(lookup(api, str(offer.pk), filters={"price": {"min": 501}})) == ["$.ids[0]"]
    assert missing(lookup(api, str(offer.pk), filters={"categories": ["credit_card"]})) == ["$.ids[0]"]
    assert missing(lookup(api, str(offer.pk), filters={"categories": ["personal_loan"]})) == []


def test_catalog_lookup_executes_one_sql_statement_for_any_number_of_ids(
    api, no_rate_limits, django_assert_num_queries
):
    ids = [str(OfferFactory().pk) for _ in range(30)]
    lookup(api, ids[0])
    with django_assert_num_queries(1):
        assert len(lookup(api, *ids)["products"]) == 30


def test_catalog_lookup_accepts_at_most_100_ids(api):
    assert lookup(api, *map(str, range(1, 101)))["products"] == []
    response = api.send(PATH, {"ids": ["1"] * 101})
    assert_refused(response, 400, "E1001", word="request_too_large")


def test_invalid_catalog_lookup_returns_400_with_the_path_of_the_field(api):
    for body, path in (({}, "$.ids"), ({"ids": [1]}, "$.ids[0]"), ({"ids": ["1", "x" * 256]}, "$.ids[1]")):
        (message,) = assert_refused(api.send(PATH, body), 400, "E1001")
        assert message["path"] == path


def test_catalog_lookup_returns_only_offers_that_the_catalog_lists():
    offer = OfferFactory(ab_test_variant="b", ab_test_allocation=50)
    for _ in range(4):
        api = client_of(UserFactory())
        shown = api.read("/ucp/catalog/items").json()["total"]
        assert len(lookup(api, str(offer.pk))["products"]) == shown
