"""Test that UCP responses about random offers and requests match the schemas of UCP."""

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from credit.core.countries import US_STATES
from tests.credit.commerce import judge
from tests.credit.commerce.support import call_catalog
from tests.factories import OfferFactory, ProviderFactory
from tests.properties import examples

pytestmark = pytest.mark.django_db
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40)
WORDS = st.sampled_from(["loan", "GOLD", "card", "straße", "12", "a", "?"])
RATES = st.none() | st.floats(0, 1000)
CENTS = st.none() | st.integers(0, 2**63 - 1) | st.integers(0, 10_000)
STATES = st.none() | st.lists(st.sampled_from(sorted(US_STATES)), max_size=3)
OFFERS = st.fixed_dictionaries(
    {
        "name": TEXTS.filter(bool), "description": TEXTS | st.lists(WORDS).map(" ".join),
        "product_type": st.sampled_from(["personal_loan", "credit_card"]) | TEXTS.filter(bool),
        "apr_min_percent": RATES, "apr_max_percent": RATES, "loan_amount_min_cents": CENTS,
        "loan_amount_max_cents": CENTS, "term_options_months": st.none() | st.lists(st.integers(1, 600), max_size=4),
        "included_states": STATES, "is_active": st.booleans(), "ab_test_variant": st.none() | st.just("b"),
        "ab_test_allocation": st.none() | st.integers(0, 100),
    }
)  # fmt: skip
AMOUNTS = st.integers(0, 10_000) | st.integers(0, 2**53 - 1)
FILTERS = st.fixed_dictionaries(
    {},
    optional={
        "categories": st.lists(st.sampled_from(["personal_loan", "credit_card"]) | TEXTS, max_size=3),
        "price": st.fixed_dictionaries({}, optional={"min": AMOUNTS}) | st.fixed_dictionaries({"max": AMOUNTS}),
    },
)
CONTEXTS = st.fixed_dictionaries(
    {},
    optional={
        "address_region": st.sampled_from([*sorted(US_STATES), "US-CA"]),
        "address_country": st.sampled_from(["US", "DE"]), "currency": st.sampled_from(["USD", "EUR"]), "intent": TEXTS,
    },
)  # fmt: skip
SEARCHES = st.fixed_dictionaries(
    {},
    optional={
        "query": st.lists(WORDS).map(" ".join) | TEXTS, "filters": FILTERS, "context": CONTEXTS,
        "pagination": st.fixed_dictionaries({"limit": st.integers(1, 5)}),
        "attribution": st.dictionaries(TEXTS, TEXTS, max_size=2),
    },
)  # fmt: skip


@given(terms=st.lists(OFFERS, max_size=5), asked=SEARCHES)
@examples(32, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_catalog_search_response_is_valid_ucp(caller_and_provider, terms, asked):
    api, provider = caller_and_provider
    provider.offers.all().delete()
    offers = [OfferFactory(provider=provider, **term) for term in terms]
    seen, body = [], dict(asked)
    while True:
        if judge.has_schemas():
            assert judge.by_schema(judge.REQUESTS["search"], body) == []
        answer = call_catalog(api, "search", body)
        assert judge.complaints(judge.SEARCH, answer) == []
        seen += answer["products"]
        if not answer["pagination"]["has_next_page"]:
            break
        body["pagination"] = {**body["pagination"], "cursor": answer["pagination"]["cursor"]}
    numbers = [int(product["id"]) for product in seen]
    assert len(numbers) == len(set(numbers)) == answer["pagination"]["total_count"]
    assert set(numbers) <= {offer.pk for offer in offers if offer.is_active}
    ids = [f"{offer.pk}{end}" for offer in offers for end in ("", "-any", "-12")] or ["1"]
    narrowed = {name: asked[name] for name in ("filters", "context") if name in asked}
    assert judge.complaints(judge.LOOKUP, call_catalog(api, "lookup", {"ids": ids, **narrowed})) == []
    for text in ids:
        answer = call_catalog(api, "product", {"id": text, **narrowed})
        assert (judge.complaints(judge.PRODUCT, answer) if "product" in answer else judge.of_failure(answer)) == []


@pytest.fixture
def caller_and_provider(api, no_rate_limits):
    """Return a caller, and a provider whose offers each example replaces."""
    return api, ProviderFactory()
