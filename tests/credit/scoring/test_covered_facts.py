"""Test that a credential reveals only scores and facts that its scopes cover."""

import json

import pytest

from credit.models import LastScore
from credit.scoring.evaluator import evaluate
from credit.scoring.scores import last_score, store_last_scores
from tests.api import ApiClient, assert_error
from tests.credit.commerce.support import call_catalog
from tests.credit.scoring.making import make_model, make_version
from tests.credit.scoring.submitting import SAYS_POOR, bank_account, draft_for, scored_offer, submit, verify
from tests.credit.support import app_of, key_of
from tests.factories import OfferFactory
from tests.identity.support import issue

pytestmark = pytest.mark.django_db
MATCH, CATALOGUE = "/offers/match", "/ucp/catalog/items"
BALANCE = 123_456
# The card declines a balance below 100,000 cents and an unverified identity, each with a separate reason.
CARD = {
    "inputs": [
        {"name": "balance", "from": "bank.accounts_balance_cents", "type": "number"},
        {"name": "checked", "from": "identity.verified", "type": "boolean"},
    ],
    "knockouts": [],
    "base_points": 0,
    "characteristics": [
        {
            "name": "balance", "input": "balance", "reason": {"code": "other", "text": "balance"}, "baseline": 10,
            "bins": [{"missing": True, "points": 9}, {"below": 100_000, "points": 0}, {"points": 10}],
        },
        {
            "name": "checked", "input": "checked", "reason": {"code": "other", "text": "checked"}, "baseline": 10,
            "bins": [{"missing": True, "points": 9}, {"in": [True], "points": 10}, {"points": 0}],
        },
    ],
    "outcomes": [{"outcome": "approve", "from": 20}, {"outcome": "decline"}],
    "segments": [{"name": "rich", "from": 20}],
    "range": [0, 20],
}  # fmt: skip


@pytest.fixture
def version(stranger):
    return make_version(make_model(stranger), role="champion", **CARD)


@pytest.fixture
def offer(version):
    return OfferFactory(provider=version.model.provider, blockscore_model_id=version.model_id)


@pytest.fixture
def verified_person(user):
    """Return a person with a verified identity and a bank balance."""
    verify(user)
    bank_account(user, BALANCE)
    return user


@pytest.fixture(params=[app_of, key_of])
def limited(request):
    return request.param


def why_not(api):
    (first,) = api.send(MATCH, {}).json()["offers"]
    return set(first["why_not"])


def test_offer_match_uses_only_facts_covered_by_the_scopes_and_stores_no_score(verified_person, offer, limited):
    for scopes, missing in (
        ([], {"balance", "checked"}), (["score:read"], {"balance", "checked"}), (["bankdata:read"], {"checked"}),
        (["identity:read"], {"balance"}), (["identity:read", "bankdata:read", "score:read"], set()),
    ):  # fmt: skip
        client = limited(verified_person, "offers:read", *scopes)
        assert why_not(client) == missing
        assert client.send(MATCH, {"facts": {"application_data.monthly_income_cents": 1}}).status_code == 200
    assert not LastScore.objects.exists()


def test_offer_match_with_an_unrestricted_credential_uses_all_facts(api, verified_person, offer):
    assert why_not(api) == why_not(ApiClient(api_key=issue(verified_person).key)) == set()


class TestScopesOfScores:
    @pytest.fixture
    def declined(self, user, offer, version):
        """Store a score that declines the offer; return the offer."""
        evaluation = evaluate(version.card, {"bank.accounts_balance_cents": 0, "identity.verified": True})
        card = last_score(version.model_id, version.card, evaluation, user_id=user.pk, now=user.date_joined)
        store_last_scores([card])
        return offer

    def test_catalog_hides_offers_by_score_only_with_the_scope_score_read(self, api, user, declined, limited):
        assert api.read(CATALOGUE).json()["total"] == 0
        assert call_catalog(api, "search", {})["products"] == []
        reads, scored = limited(user, "offers:read"), limited(user, "offers:read", "score:read")
        for client, total, rules in ((reads, 1, []), (scored, 0, ["score"])):
            body = client.read(f"{CATALOGUE}?explain=true").json()
            assert (body["total"], [item["rule"] for item in body["hidden"]]) == (total, rules)
            assert len(call_catalog(client, "search", {})["products"]) == total
        assert call_catalog(scored, "lookup", {"ids": [str(declined.pk)]})["products"] == []

    def test_scored_segment_requires_the_scope_score_read(self, api, user, declined, limited):
        for_others = OfferFactory(
            provider=declined.provider, blockscore_model_id=declined.blockscore_model_id, customer_segment="poor"
        )
        declined.delete()
        LastScore.objects.update(outcome="approve", segment="rich")
        assert api.read(f"{CATALOGUE}?segment=poor").json()["total"] == 0
        app = limited(user, "offers:read")
        assert [item["offer_id"] for item in app.read(f"{CATALOGUE}?segment=poor").json()["items"]] == [for_others.pk]
        assert app.read(f"{CATALOGUE}?segment=rich").json()["total"] == 0


class TestScoresOfApplications:
    @pytest.fixture
    def decided(self, api, user):
        """Return an approved application that the score would decline."""
        verify(user)
        application = draft_for(scored_offer()[0], user, SAYS_POOR)
        submit(api, application)
        for status in ("under_review", "approved"):
            body = {"status": status, "updated_by": "me", "reason": "Known."}
            assert api.replace(f"/applications/{application.pk}/status", body).status_code == 200
        return application

    def test_proof_of_a_scored_decision_requires_the_scope_score_read(self, api, user, decided, limited):
        path = f"/applications/{decided.pk}/proof"
        assert "score" in json.loads(api.read(path).json()["record"])["hashes"]
        assert limited(user, "applications:read", "score:read").read(path).status_code == 200
        assert_error(limited(user, "applications:read").read(path), 403, "E2005")
