"""Test GET /v1/applications/{id}/score."""

import pytest

from credit.models import Provider, Score
from tests.api import assert_error, client_of
from tests.credit.erasing import erase_facts
from tests.credit.scoring.cards import definition
from tests.credit.scoring.making import join
from tests.credit.scoring.submitting import SAYS_GOOD, SAYS_POOR, draft_for, scored_offer, submit, verify
from tests.credit.support import make_reviewer
from tests.factories import ApplicationFactory, ModelVersionFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def declined(api, user):
    """Return a scored application that the model declines."""
    verify(user)
    offer, _ = scored_offer()
    application = draft_for(offer, user, SAYS_POOR)
    assert submit(api, application).status_code == 200
    return application


def test_score_response_contains_outcome_reasons_and_suggested_changes(api, user, declined):
    path = f"/applications/{declined.pk}/score"
    for reader in (make_reviewer(), join(Provider.objects.get(pk=declined.provider_id))):
        assert client_of(reader).read(path).status_code == 200
    shown = api.read(path)
    assert shown.status_code == 200
    body, score = shown.json(), Score.objects.get()
    submitted_at = api.read(f"/applications/{declined.pk}").json()["submitted_at"]
    assert {
        "score": 550, "range": [0, 900], "scored_at": submitted_at, "model_id": score.version.model_id, "version": 1,
        "outcome": "decline",
    }.items() <= body.items()  # fmt: skip
    assert body["reasons"] == [
        {"code": "income_insufficient", "text": "Income insufficient for amount of credit requested"},
        {"code": "obligations_excessive", "text": "Excessive obligations in relation to income"},
        {"code": "residence_short", "text": "Length of residence"},
    ]
    assert body["changes"][0] == {
        "changes": [
            {"characteristic": "debt to income", "input": "debt_to_income", "from_bin": 3, "to_bin": 2, "points": 35}
        ],
        "outcome": "refer",
    }
    assert erase_facts(user.pk) == 1
    assert api.read(path).json() == {**body, "changes": None}


def test_score_response_contains_the_lenders_reason_text_and_the_attainable_total_range(api, user):
    card = definition()
    card["characteristics"][0]["reason"] = {"code": "other", "text": "Too new a trade"}
    del card["range"]
    offer, _ = scored_offer(definition=card)
    application = draft_for(offer, user, SAYS_POOR)
    submit(api, application)
    body = api.read(f"/applications/{application.pk}/score").json()
    assert body["reasons"][1] == {"code": "other", "text": "Too new a trade"}
    assert body["range"] == [500 + 0 + 10 + 10, 500 + 120 + 80 + 40]


def test_score_of_an_unscored_application_returns_404(api, user):
    offer, _ = scored_offer()
    for application in (draft_for(offer, user), ApplicationFactory(consumer=user, status="submitted")):
        assert_error(api.read(f"/applications/{application.pk}/score"), 404, "E4013")


def test_shadow_score_is_not_returned_as_the_application_score(api, user):
    offer, champion = scored_offer()
    ModelVersionFactory(model=champion.model, number=2, role="challenger", definition=definition(base_points=0))
    application = draft_for(offer, user, SAYS_GOOD)
    submit(api, application)
    assert Score.objects.count() == 2
    assert api.read(f"/applications/{application.pk}/score").json()["version"] == 1


def test_response_with_a_score_based_on_person_facts_hides_the_total_from_applicants(api, user):
    bins = [{"missing": True, "points": 0}, {"below": 1, "points": 77}, {"points": 31}]
    card = {
        "inputs": [{"name": "open", "from": "person.open_applications", "type": "number"}],
        "base_points": 500,
        "characteristics": [
            {"name": "open", "input": "open", "reason": "no_credit_file", "baseline": 0, "bins": bins},
        ],
        "outcomes": [{"outcome": "approve", "from": 900}, {"outcome": "refer"}],
    }  # fmt: skip
    offer, _ = scored_offer(definition=card)
    assert submit(api, draft_for(offer, user)).status_code == 200
    application = draft_for(offer, user)
    assert submit(api, application).status_code == 200
    path, score = f"/applications/{application.pk}/score", Score.deciding(application.pk).get()
    shown = api.read(path).json()
    assert (shown["score"], shown["outcome"], shown["reasons"], shown["changes"], shown["facts"]) == (
        None, None, [], None, [],
    )  # fmt: skip
    shown = client_of(join(offer.provider, role="reader")).read(path).json()
    assert shown["score"] == score.total == 531
    assert [fact["name"] for fact in shown["facts"]] == ["person.open_applications"]
