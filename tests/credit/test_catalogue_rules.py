"""Compare the catalog's rules in the database with the same rules in Python."""

import random
from base64 import urlsafe_b64encode
from hashlib import sha256
from itertools import product

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from config.core.credentials import Credential
from credit.models import LastScore, Offer
from credit.offers.catalogue import CatalogueFilter, catalogue_page
from credit.scoring.matching import match_offers
from tests.credit.commerce.support import call_catalog
from tests.factories import ModelVersionFactory, OfferFactory, ProviderFactory
from tests.properties import quick_or_full

pytestmark = pytest.mark.django_db
ANSWER_MAX_BYTES = 8 * 1024 * 1024


def rule_against(offer, asked, scores):
    """Return the first rule that an offer does not meet; None if it is shown."""
    if asked.get("product_type") not in {None, offer.product_type}:
        return "product_type"
    if (state := asked.get("state")) is not None and (
        state in (offer.excluded_states or ())
        or not (offer.nationwide or not offer.included_states or state in offer.included_states)
    ):
        return "state"
    amount, low, high = asked.get("amount_cents"), offer.loan_amount_min_cents, offer.loan_amount_max_cents
    if amount is not None and not (low is None or low <= amount) & (high is None or amount <= high):
        return "amount"
    score = scores.get((offer.blockscore_model_id, offer.provider_id))
    if score is not None and score.outcome == "decline":
        return "score"
    segment = asked.get("segment") if score is None or score.segment is None else score.segment
    if segment is not None and offer.customer_segment not in {None, segment}:
        return "segment"
    if not sees_variant(offer, asked["user_id"]):
        return "inactive_variant"
    return None


def sees_variant(offer, user_id):
    if offer.ab_test_variant is None or offer.ab_test_allocation is None:
        return True
    digest = sha256(f"{user_id}|{offer.pk}|{offer.ab_test_variant}".encode()).hexdigest()
    return int(digest[:8], 16) % 100 < offer.ab_test_allocation


@pytest.fixture
def market(user):
    """Create many different offers, and scores of a person by most of their models."""
    chance = random.Random(25)
    providers = [ProviderFactory() for _ in range(4)]
    versions = [ModelVersionFactory(model__provider=provider) for provider in providers for _ in range(3)]
    scores = {}
    for version in versions[:9]:
        segment, outcome = chance.choice([None, "", "prime", "near"]), chance.choice(["approve", "refer", "decline"])
        LastScore.objects.create(
            user=user, model=version.model, outcome=outcome, segment=segment, reasons=[], scored_at=timezone.now()
        )
        scores[version.model_id, version.model.provider_id] = LastScore(outcome=outcome, segment=segment)
    states = [None, [], ["CA"], ["NY", "CA"], ["IA"]]
    for _ in range(quick_or_full(120, 200)):
        OfferFactory(
            provider=chance.choice(providers),
            blockscore_model_id=chance.choice([None, -1, *(version.model_id for version in versions)]),
            product_type=chance.choice(["personal_loan", "credit_card"]),
            loan_amount_min_cents=chance.choice([None, 0, 100, 1_000]),
            loan_amount_max_cents=chance.choice([None, 1_000, 5_000]), nationwide=chance.choice([None, True, False]),
            included_states=chance.choice(states), excluded_states=chance.choice(states),
            customer_segment=chance.choice([None, "prime", "near"]),
            ab_test_variant=chance.choice([None, None, "b", "größe|%"]),
            ab_test_allocation=chance.choice([None, 0, 40, 70, 100]), is_active=chance.random() < 0.9,
        )  # fmt: skip
    return scores


ASKED = [
    {}, {"product_type": "credit_card"}, {"state": "CA"}, {"state": "NY", "segment": "near"}, {"amount_cents": 0},
    {"amount_cents": 1_000}, {"amount_cents": 4_999, "segment": "prime"}, {"segment": "other"},
    {"product_type": "personal_loan", "state": "IA", "amount_cents": 500, "segment": "prime"},
]  # fmt: skip


def test_catalog_database_rules_equal_the_python_rules(user, market):
    user_id, active = str(user.pk), list(Offer.objects.filter(is_active=True))
    for fields_asked, sees_scores in product(ASKED, (True, False)):
        scores, asked_by = market if sees_scores else {}, {**fields_asked, "user_id": user_id}
        expected = {offer.pk: rule_against(offer, asked_by, scores) for offer in active}
        page = catalogue_page(CatalogueFilter(sees_scores=sees_scores, **asked_by), limit=7, offset=3, explain=True)
        shown = sorted((pk for pk, rule in expected.items() if rule is None), reverse=True)
        assert [offer.pk for offer in page["items"]] == shown[3:10], fields_asked
        assert page["total"] == len(shown) > 0, fields_asked
        hidden = {pk: rule for pk, rule in expected.items() if rule}
        assert {item["offer_id"]: item["rule"] for item in page["hidden"]} == hidden, fields_asked


def test_offer_match_pages_contain_only_offers_of_the_visible_ab_test_variant(user, market):
    fields = {"credential": Credential("token", "1", user.pk), "facts": {}, "now": timezone.now()}
    visible = [item for item in Offer.objects.filter(is_active=True) if sees_variant(item, str(user.pk))]
    page = match_offers(state="NY", amount_cents=4_000, limit=20, offset=5, **fields)
    assert page["total"] == len(visible)
    ids = sorted((item.pk for item in visible), reverse=True)[5:25]
    assert [offer.pk for offer in page["offers"]] == ids
    for offer in page["offers"]:
        rules = {
            rule_against(offer, {"user_id": str(user.pk), **item}, {})
            for item in ({"state": "NY"}, {"amount_cents": 4_000})
        }
        assert ("The offer is not available in this state." in offer.why_not) is ("state" in rules)
        assert ("The offer does not lend this amount." in offer.why_not) is ("amount" in rules)


def test_offer_list_page_loads_only_its_own_rows(api, no_rate_limits, monkeypatch):
    """A request reads a page's rows and a count, regardless of the number of offers."""
    provider = ProviderFactory()
    for number in range(12):
        OfferFactory(name=f"Loan {number}", provider=provider)
    calls = {
        "items": lambda: api.read("/ucp/catalog/items?limit=5"),
        "match": lambda: api.send("/offers/match?limit=5", {}),
        "search": lambda: api.send("/ucp/catalog/search", {"pagination": {"limit": 5}}),
        "words": lambda: api.send("/ucp/catalog/search", {"query": "loan", "pagination": {"limit": 5}}),
    }
    loaded, from_db = [], Offer.from_db
    monkeypatch.setattr(Offer, "from_db", lambda *given: loaded.append(1) or from_db(*given))
    for operation, call in calls.items():
        call()
        loaded.clear()
        with CaptureQueriesContext(connection) as captured:
            assert call().status_code == 200
        assert len(captured) == (5 if operation == "match" else 2)  # Three of the statements limit heavy operations.
        assert len(loaded) <= 6, operation  # One additional row determines whether a next page exists.


def test_catalog_search_ranks_and_pages_in_the_database(api, no_rate_limits):
    for number in range(9):
        name, text = "Gold loan" if number % 3 == 0 else "Gold card", "yacht" if number == 4 else ""
        OfferFactory(name=name, description=text, product_type="credit")
    seen, body = [], {"query": "yacht GOLD loan", "pagination": {"limit": 2}}
    while True:
        answer = call_catalog(api, "search", body)
        assert answer["pagination"]["total_count"] == 9
        seen += [int(item["id"]) for item in answer["products"]]
        if not answer["pagination"]["has_next_page"]:
            break
        body["pagination"]["cursor"] = answer["pagination"]["cursor"]
    best = list(Offer.objects.filter(name="Gold loan") | Offer.objects.filter(description="yacht"))
    ids = sorted((item.pk for item in best), reverse=True)
    assert (seen[:4], len(seen), len(set(seen))) == (ids, 9, 9)
    assert seen[4:] == sorted(seen[4:], reverse=True)


def test_catalog_search_accepts_every_decodable_cursor(api):
    OfferFactory()
    places = ("999999.9999999999999999999", "0.1", "1.9223372036854775807")
    for query, place in product(("", "loan", "?!"), places):
        cursor = urlsafe_b64encode(place.encode()).decode()
        answer = call_catalog(api, "search", {"query": query, "pagination": {"cursor": cursor}})
        assert answer["pagination"]["total_count"] == (0 if query == "?!" else 1), (query, place)


def test_catalog_search_uses_only_the_first_20_words(api):
    offer = OfferFactory(name="Needle")
    words = [f"word{number}" for number in range(19)]
    for query, expected in (([*words, "needle"], [str(offer.pk)]), ([*words, "last", "needle"], [])):
        assert [item["id"] for item in call_catalog(api, "search", {"query": " ".join(query)})["products"]] == expected


def test_search_words_are_updated_with_the_terms_of_an_offer(api, user):
    body = {"provider_id": "77", "name": "Silver_50% \\ loan", "product_type": "home_loan"}
    offer_id = api.send("/provider-offers", body).json()["id"]

    def found(query):
        return [item["id"] for item in call_catalog(api, "search", {"query": query})["products"]]

    assert found("SILVER_50") == found("home") == [offer_id]
    assert found("silver") == [offer_id]
    assert found("silverx50") == []
    api.replace(f"/provider-offers/{offer_id}", {**body, "name": "Bronze", "description": "straße"})
    assert found("silver_50") == []
    assert found("bronze") == found("STRASSE") == [offer_id]


@pytest.fixture
def largest():
    """More than a page of the largest offers: texts of four bytes per character, and every term."""
    wide = "\U0001d552"
    provider = ProviderFactory(id=wide * 255)
    OfferFactory.create_batch(
        102, provider=provider, name=wide * 255, description=wide * 2_000, product_type=wide * 255,
        term_options_months=list(range(500, 560)), included_states=["CA"] * 60, excluded_states=["NY"] * 60,
        customer_segment=None, ab_test_variant=wide * 255, ab_test_allocation=100,
        apr_min_percent=999.123456789, apr_max_percent=999.987654321,
        loan_amount_min_cents=2**62, loan_amount_max_cents=2**63 - 1,
    )  # fmt: skip


def test_largest_catalog_responses_are_smaller_than_8_mib(api, no_rate_limits, largest):
    ids = [f"{pk}-{term}" for pk in Offer.objects.values_list("pk", flat=True)[:100] for term in (500,)]
    sizes = {
        "catalogue": len(api.read("/ucp/catalog/items?limit=100").content),
        "match": len(api.send("/offers/match?limit=20", {}).content),
        "search": len(api.send("/ucp/catalog/search", {"pagination": {"limit": 50}}).content),
        "lookup": len(api.send("/ucp/catalog/lookup", {"ids": ids}).content),
    }
    assert max(sizes.values()) < ANSWER_MAX_BYTES, sizes
    assert min(sizes.values()) > 100_000, sizes


def test_catalog_explain_lists_a_limited_number_of_hidden_offers(api, monkeypatch):
    monkeypatch.setattr("credit.offers.catalogue.HIDDEN_MAX", 3)
    newest = [OfferFactory(product_type="x").pk for _ in range(5)][:1:-1]
    body = api.read("/ucp/catalog/items?explain=true&product_type=y").json()
    assert [offer["offer_id"] for offer in body["hidden"]] == newest
