"""Test that POST /v1/offers/match returns the offers for a person, and the reasons against other offers."""

import pytest

from credit.models import Application, LastScore, ModelVersion, Score, ScoreFacts
from tests.api import assert_error
from tests.credit.erasing import erase_facts
from tests.credit.scoring.cards import GOOD, POOR
from tests.credit.scoring.making import make_model, make_version
from tests.factories import OfferFactory

pytestmark = pytest.mark.django_db
NOT_EU = dict.fromkeys(("warning", "representative_example", "personalized"))
PATH = "/offers/match"
SAID_GOOD, SAID_POOR = (
    {name: value for name, value in facts.items() if name.startswith("application_data.")} for facts in (GOOD, POOR)
)


@pytest.fixture
def version(stranger):
    return make_version(make_model(stranger), role="champion")


@pytest.fixture
def offer(version):
    return OfferFactory(provider=version.model.provider, blockscore_model_id=version.model_id)


def match(api, **body):
    """Return (id, matched, why_not) of each offer, in order."""
    response = api.send(PATH, body)
    assert response.status_code == 200, response.content
    return [(int(item["id"]), item["matched"], item["why_not"]) for item in response.json()["offers"]]


def test_offer_without_a_scoring_model_always_matches(api):
    offer = OfferFactory(description="d")
    body = api.send(PATH, {}).json()
    assert (body["total"], body["has_more"]) == (1, False)
    (shown,) = body["offers"]
    assert shown == {**api.read(f"/provider-offers/{offer.pk}").json(), "matched": True, "why_not": [], **NOT_EU}
    assert not Score.objects.exists()


def test_offer_match_checks_the_state_and_the_amount(api):
    offer = OfferFactory(included_states=["CA"], loan_amount_max_cents=100)
    assert match(api, state="CA", amount_cents=100) == [(offer.pk, True, [])]
    assert match(api, state=None, amount_cents=None) == [(offer.pk, True, [])]
    assert match(api, state="NY", amount_cents=101) == [
        (offer.pk, False, ["The offer is not available in this state.", "The offer does not lend this amount."])
    ]


def test_offer_match_omits_inactive_offers_and_other_ab_test_variants(api, version):
    OfferFactory(is_active=False)
    OfferFactory(ab_test_variant="b", ab_test_allocation=0)
    assert match(api) == []
    OfferFactory(provider=version.model.provider, blockscore_model_id=version.model_id, customer_segment="x")
    assert match(api, facts=SAID_GOOD)[0][1:] == (False, ["The offer is for other customers."])


def test_offer_match_stores_the_last_score_without_facts(api, user, version, offer):
    assert match(api, facts=SAID_GOOD) == [(offer.pk, True, [])]
    kept = LastScore.objects.get()
    assert (kept.model, kept.user, kept.segment) == (version.model, user, "prime")
    assert kept.outcome == "refer"  # The identity is not verified.
    assert not Application.objects.exists()
    assert not Score.objects.exists()
    assert not ScoreFacts.objects.exists()


def test_offer_match_with_a_declining_score_contains_the_score_reasons(api, stranger):
    version = make_version(make_model(stranger), role="champion", knockouts=[])
    offer = OfferFactory(provider=version.model.provider, blockscore_model_id=version.model_id)
    why_not = [
        "Income insufficient for amount of credit requested", "Excessive obligations in relation to income",
        "Length of residence",
    ]  # fmt: skip
    assert match(api, facts=SAID_POOR) == [(offer.pk, False, why_not)]
    catalogue = api.read("/ucp/catalog/items?explain=true").json()
    assert (catalogue["items"], catalogue["hidden"]) == ([], [{"offer_id": offer.pk, "rule": "score"}])
    assert match(api, facts=SAID_GOOD)[0][1] is True
    assert api.read("/ucp/catalog/items").json()["total"] == 1


def test_offer_match_declined_without_a_score_reason_contains_a_general_reason(api, stranger):
    version = make_version(make_model(stranger), knockouts=[], base_points=0)
    # The card was published before certificates existed. The certificate now rejects such a card.
    ModelVersion.objects.filter(pk=version.pk).update(status="published", role="champion")
    OfferFactory(provider=version.model.provider, blockscore_model_id=version.model_id)
    assert match(api, facts=SAID_GOOD)[0][1:] == (False, ["The known facts are not enough for this offer."])


def test_new_offer_match_replaces_the_stored_last_score(api, user, version, offer):
    seen = []
    for facts in (SAID_GOOD, SAID_POOR, SAID_GOOD, SAID_GOOD):
        match(api, facts=facts)
        seen.append(LastScore.objects.get())
    assert [score.outcome for score in seen] == ["refer"] * 4
    assert seen[0].reasons == seen[2].reasons != seen[1].reasons
    assert seen[2].scored_at == seen[3].scored_at  # The unchanged score is not written again.
    make_version(version.model, role="champion", knockouts=[])
    match(api, facts=SAID_GOOD)
    assert LastScore.objects.get().outcome == "approve"
    erase_facts(user.pk)
    assert not LastScore.objects.exists()


def test_offer_match_ignores_unknown_models_other_lenders_models_and_models_without_a_champion(api, stranger, version):
    drafts = [make_version(make_model(provider=version.model.provider), role=role) for role in (None, "challenger")]
    offers = [
        *(OfferFactory(provider=draft.model.provider, blockscore_model_id=draft.model_id) for draft in drafts),
        OfferFactory(blockscore_model_id=version.model_id), OfferFactory(blockscore_model_id=-5),
    ]  # fmt: skip
    assert match(api, facts=SAID_POOR) == [(offer.pk, True, []) for offer in reversed(offers)]
    assert not LastScore.objects.exists()


def test_offer_match_scores_only_the_offers_of_the_page(api, version, offer):
    newer = [OfferFactory().pk for _ in range(2)][::-1]
    body = api.send(f"{PATH}?limit=2", {"facts": SAID_GOOD}).json()
    assert ([int(item["id"]) for item in body["offers"]], body["total"], body["has_more"]) == (newer, 3, True)
    assert not LastScore.objects.exists()
    body = api.send(f"{PATH}?limit=2&offset=2", {"facts": SAID_GOOD}).json()
    assert ([int(item["id"]) for item in body["offers"]], body["has_more"]) == ([offer.pk], False)
    assert LastScore.objects.count() == 1


def test_malformed_offer_match_request_is_rejected(api):
    for name, value in (
        ("state", ""), ("state", "ca"), ("state", "ZZ"), ("state", "US-CA"), ("facts", {"identity.verified": True}),
        ("facts", {"scored_on": "2026-01-01"}), ("facts", {"x": 1}), ("facts", {"application_data.a": []}),
    ):  # fmt: skip
        error = assert_error(api.send(PATH, {name: value}), 400, "E1001")
        assert error["details"][0]["field"] == name


def test_offer_match_executes_the_same_sql_statements_for_more_offers(
    api, version, no_rate_limits, django_assert_num_queries
):
    OfferFactory()
    api.send(PATH, {})
    # Three statements are for the heavy-operation limit, one is for the count, and one is for the page.
    with django_assert_num_queries(3 + 2):
        api.send(PATH, {})
    for _ in range(3):
        OfferFactory(provider=version.model.provider, blockscore_model_id=version.model_id)
    api.send(PATH, {"facts": SAID_GOOD})
    # Five statements read the count, the page, champions, one fact, and the last scores. A sixth stores a new score.
    with django_assert_num_queries(3 + 5):
        api.send(PATH, {"facts": SAID_GOOD})
    with django_assert_num_queries(3 + 6):
        api.send(PATH, {"facts": SAID_POOR})
