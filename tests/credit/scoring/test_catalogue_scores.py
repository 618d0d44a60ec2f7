"""Test which offers with a scoring model GET /v1/ucp/catalog/items hides from people with scores."""

import pytest
from django.utils import timezone

from credit.models import LastScore, ModelVersion
from credit.scoring.evaluator import evaluate
from credit.scoring.scores import last_score, store_last_scores
from tests.credit.scoring.cards import GOOD, POOR, definition
from tests.credit.scoring.making import make_model, make_version
from tests.credit.scoring.submitting import SAYS_POOR, draft_for, submit, verify
from tests.factories import ModelVersionFactory, OfferFactory

pytestmark = pytest.mark.django_db
PATH = "/ucp/catalog/items"


@pytest.fixture
def version(stranger):
    """Return a published champion of another account's provider."""
    return make_version(make_model(stranger), role="champion")


@pytest.fixture
def offer(version):
    return OfferFactory(provider=version.model.provider, blockscore_model_id=version.model_id)


def score(version, user, facts=POOR):
    evaluation = evaluate(version.card, facts)
    store_last_scores([last_score(version.model_id, version.card, evaluation, user_id=user.pk, now=timezone.now())])


def list_offers(api, query=""):
    return [item["offer_id"] for item in api.read(f"{PATH}?{query}").json()["items"]]


def hidden(api, query=""):
    listed = api.read(f"{PATH}?explain=true&{query}").json()["hidden"]
    return {entry["offer_id"]: entry["rule"] for entry in listed}


def test_catalog_hides_an_offer_from_a_user_only_if_their_last_score_declined(api, user, stranger, version, offer):
    score(version, stranger)
    assert list_offers(api) == [offer.pk]
    score(version, user)
    assert (list_offers(api), hidden(api)) == ([], {offer.pk: "score"})
    make_version(version.model, role="champion")
    assert hidden(api) == {offer.pk: "score"}
    for facts, outcome in (({**GOOD, "identity.verified": False}, "refer"), (GOOD, "approve")):
        score(version, user, facts)
        assert LastScore.objects.get(user=user).outcome == outcome
        assert list_offers(api) == [offer.pk]


def test_catalog_hides_an_offer_after_a_declined_application(api, user, version, offer):
    verify(user)
    ModelVersionFactory(model=version.model, number=2, role="challenger", definition=definition(base_points=900))
    assert submit(api, draft_for(offer, user, SAYS_POOR)).status_code == 200
    assert LastScore.objects.get().outcome == "decline"  # The challenger's score has no effect.
    assert hidden(api) == {offer.pk: "score"}


def test_catalog_ignores_scores_of_unpublished_unknown_and_other_lenders_models(api, user, version, offer):
    score(version, user)
    foreign = OfferFactory(blockscore_model_id=version.model_id)
    unknown = OfferFactory(provider=version.model.provider, blockscore_model_id=2**62)
    assert list_offers(api) == [unknown.pk, foreign.pk]
    ModelVersion.objects.filter(pk=version.pk).update(status="retired", role="")
    assert list_offers(api) == [unknown.pk, foreign.pk, offer.pk]


def test_scored_segment_overrides_the_segment_of_the_catalog_request(api, user, version, offer):
    prime = OfferFactory(provider=offer.provider, blockscore_model_id=version.model_id, customer_segment="prime")
    other = OfferFactory(provider=offer.provider, blockscore_model_id=version.model_id, customer_segment="near prime")
    assert list_offers(api, "segment=near+prime") == [other.pk, offer.pk]
    score(version, user, GOOD)
    assert list_offers(api) == [prime.pk, offer.pk]
    assert list_offers(api, "segment=near+prime") == [prime.pk, offer.pk]
    assert hidden(api) == {other.pk: "segment"}


def test_catalog_ignores_the_requested_segment_if_the_score_assigned_no_segment(api, user, version, offer):
    prime = OfferFactory(provider=offer.provider, blockscore_model_id=version.model_id, customer_segment="prime")
    score(version, user, {**GOOD, "application_data.housing": "hotel", "application_data.monthly_debt_cents": 170_000})
    assert (LastScore.objects.get().outcome, LastScore.objects.get().segment) == ("approve", "")
    for query in ("", "segment=prime", "segment=other"):
        assert list_offers(api, query) == [offer.pk]
        assert hidden(api, query) == {prime.pk: "segment"}


def test_catalog_uses_the_requested_segment_if_the_scorecard_defines_no_segments(api, user, stranger):
    version = make_version(make_model(stranger), role="champion", segments=[])
    prime = OfferFactory(
        provider=version.model.provider, blockscore_model_id=version.model_id, customer_segment="prime"
    )
    score(version, user, GOOD)
    assert LastScore.objects.get().segment is None
    assert list_offers(api) == list_offers(api, "segment=prime") == [prime.pk]
    assert hidden(api, "segment=other") == {prime.pk: "segment"}


def test_catalog_page_executes_two_sql_statements_for_any_number_of_offers_and_scores(
    api, user, version, no_rate_limits, django_assert_num_queries
):
    OfferFactory()
    api.read(PATH)
    with django_assert_num_queries(2):
        assert len(list_offers(api)) == 1
    for _ in range(3):
        OfferFactory(provider=version.model.provider, blockscore_model_id=version.model_id)
    score(version, user, GOOD)
    other = make_version(make_model(), role="champion")
    OfferFactory(provider=other.model.provider, blockscore_model_id=other.model_id)
    score(other, user)
    api.read(PATH)
    with django_assert_num_queries(2):
        assert len(list_offers(api)) == 4
    with django_assert_num_queries(3):
        assert len(hidden(api)) == 1
