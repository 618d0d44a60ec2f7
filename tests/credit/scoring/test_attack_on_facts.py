"""Test that an app with only `offers:read` can't infer a user's bank balance or change the user's catalog.

The attacker has an account, a lender, and the app.
"""

from itertools import pairwise

import pytest

from credit.models import Score
from credit.models.scoring import LastScore
from tests.api import ApiClient, client_of
from tests.credit.scoring.submitting import bank_account
from tests.factories import UserFactory
from tests.identity.support import issue

pytestmark = pytest.mark.usefixtures("no_rate_limits")  # Rate limits are a separate defense.
BALANCE_CENTS, HIGHEST_CENTS, BINS = 123_456_78, 50**5, 50  # five calls of 50 bins each find the balance
INCOME, BALANCE = "application_data.monthly_income_cents", "bank.accounts_balance_cents"


def ok(answer):
    assert answer.status_code in {200, 201}, answer.content
    return answer.json()


@pytest.fixture
def person(db):
    """Return an account with a balance."""
    person = UserFactory()
    bank_account(person, BALANCE_CENTS)
    return person


@pytest.fixture
def own(person):
    return client_of(person)


@pytest.fixture
def lender(db):
    return client_of(UserFactory())


@pytest.fixture
def app(person):
    return ApiClient(api_key=issue(person, scopes=["offers:read"]).key)


def lend(lender, definition, *, model=None):
    """Publish a card and create an offer with it; return the model, and the offer if it is new."""
    offer = None
    if model is None:
        model = ok(lender.send("/scoring/models", {"provider_id": "901", "name": "m"}))["id"]
        terms = {"provider_id": "901", "name": f"o{model}", "product_type": "x", "blockscore_model_id": model}
        offer = int(ok(lender.send("/provider-offers", terms))["id"])
    number = ok(lender.send(f"/scoring/models/{model}/versions", {"definition": definition}))["number"]
    ok(lender.send(f"/scoring/models/{model}/versions/{number}/publish", {"role": "champion"}))
    return model, offer


def card(fact, characteristics, outcomes):
    """Return a card whose characteristics have bins of the same fact, each with its own reason."""
    return {
        "inputs": [{"name": str(place), "from": fact, "type": "number"} for place in range(len(characteristics))],
        "base_points": 0,
        "characteristics": [
            {
                "name": str(place), "input": str(place), "baseline": 1,
                "reason": {"code": "other", "text": f"Place {place}"},
                "bins": [{"missing": True, "points": missing}, *bins, {"points": 1}],
            }
            for place, (missing, *bins) in enumerate(characteristics)
        ],
        "outcomes": outcomes,
    }  # fmt: skip


def below(bound, points):
    return {"below": bound, "points": points}


def bins_of(fact, bounds):
    """Return a card that declines a fact within the bounds; its only reason names the interval of the fact."""
    places = [(1, below(low, 1), below(high, 0)) for low, high in pairwise(bounds)]
    return card(fact, places, [{"outcome": "approve", "from": len(places)}, {"outcome": "decline"}])


def declines_below(fact, bound):
    """Return a card that declines if the fact is below a bound."""
    return card(fact, [(0, below(bound, 0))], [{"outcome": "approve", "from": 1}, {"outcome": "decline"}])


def test_app_with_scope_offers_read_cannot_infer_a_balance_by_matching(lender, app):
    """The attack divides the range into 50 intervals, requests the interval that contains the balance, and repeats."""
    low, high, model, offer = 0, HIGHEST_CENTS, None, None
    while high - low > 1:
        bounds = [low + (high - low) * place // BINS for place in range(BINS + 1)]
        model, decisions = lend(lender, bins_of(BALANCE, bounds), model=model)
        offer = decisions or offer
        offers = ok(app.send("/offers/match", {}))["offers"]
        why_not = next(item["why_not"] for item in offers if int(item["id"]) == offer)
        if not why_not or not why_not[0].isdecimal():
            return
        low, high = bounds[int(why_not[0])], bounds[int(why_not[0]) + 1]
    pytest.fail(f"it read {low} of {BALANCE_CENTS}")


def test_catalog_hides_no_offers_from_an_app_with_scope_offers_read(lender, app, own):
    bounds = [10_000_000 + 1_250_000 * place for place in range(4)]
    offers = {lend(lender, declines_below(BALANCE, bound))[1]: bound for bound in bounds}
    ok(own.send("/offers/match", {}))  # The match is by the person, not by the app.
    assert ok(app.read("/ucp/catalog/items?explain=true&limit=100"))["hidden"] == []
    assert len(ok(app.send("/ucp/catalog/search", {"pagination": {"limit": 50}}))["products"]) == len(offers)
    hidden = ok(own.read("/ucp/catalog/items?explain=true&limit=100"))["hidden"]
    assert len(hidden) == sum(bound > BALANCE_CENTS for bound in bounds)


def test_only_matches_of_a_person_store_one_score(lender, app, own):
    _model, offer = lend(lender, declines_below(INCOME, 100_000))
    for client, scores in ((app, 0), (own, 1)):
        for number in range(6):
            ok(client.send("/offers/match", {"facts": {INCOME: 20_000 * number}}))
        assert Score.objects.count() + LastScore.objects.count() == scores
        assert [item["offer_id"] for item in ok(own.read("/ucp/catalog/items"))["items"]] == [offer]
