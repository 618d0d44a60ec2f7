"""Test that submitting an application scores it in the same transaction if its offer has a model."""

import json
import logging
from base64 import b64decode
from hashlib import sha256

import pytest
from django.db import OperationalError, connection
from django.test.utils import CaptureQueriesContext

from credit.core import facts
from credit.models import Score, ScoreFacts
from tests.api import assert_error
from tests.credit.scoring.cards import definition
from tests.credit.scoring.submitting import SAYS_GOOD, SAYS_POOR, draft_for, scored_offer, submit, verify
from tests.factories import ApplicationFactory, ModelVersionFactory, OfferFactory

pytestmark = pytest.mark.django_db


def body_of(user, offer, data):
    """Return a request that creates a submitted application."""
    return {
        "consumer_id": str(user.pk), "offer_id": offer.pk, "provider_id": int(offer.provider_id),
        "application_data": data, "initial_status": "submitted",
    }  # fmt: skip


def test_submitted_application_is_scored_by_the_champion(api, user):
    verify(user)
    offer, version = scored_offer()
    for said, outcome in ((SAYS_GOOD, "approve"), (SAYS_POOR, "decline")):
        application = draft_for(offer, user, said)
        assert submit(api, application).status_code == 200
        score = Score.objects.get(application=application)
        assert (score.version, score.user, score.purpose, score.outcome) == (version, user, "decision", outcome)
        application.refresh_from_db()
        assert score.created_at == application.submitted_at
        kept = ScoreFacts.objects.get(score=score)
        assert sha256(b64decode(kept.nonce) + kept.facts.encode()).hexdigest() == score.facts_sha256
        assert kept.values()["identity.verified"] is True
        assert kept.values()["application_data.housing"] == said["housing"]
    response = api.send("/applications", body_of(user, offer, SAYS_GOOD))
    assert response.status_code == 201
    assert Score.objects.filter(application_id=response.json()["id"]).exists()


def test_submission_creates_shadow_scores_of_challengers(api, user):
    offer, champion = scored_offer()
    challenger = ModelVersionFactory(
        model=champion.model, number=2, role="challenger", definition=definition(base_points=0)
    )
    ModelVersionFactory(model=champion.model, number=3, status="draft")
    assert submit(api, draft_for(offer, user)).status_code == 200
    assert {score.version_id: score.purpose for score in Score.objects.all()} == {
        champion.pk: "decision", challenger.pk: "shadow",
    }  # fmt: skip
    assert ScoreFacts.objects.count() == 2


def test_submission_is_scored_only_with_decisioning_and_a_champion_of_the_same_lender(api, user, settings):
    offer, version = scored_offer()
    others = ({"role": "challenger"}, {"status": "draft"}, {"status": "retired"})
    offers = [scored_offer(**options)[0] for options in others]
    for unscored in (*offers, OfferFactory(blockscore_model_id=version.model_id)):
        assert submit(api, draft_for(unscored, user)).status_code == 200
    settings.DECISIONING = "off"
    assert submit(api, draft_for(offer, user)).status_code == 200
    assert not Score.objects.exists()


def test_submission_with_unusual_data_is_scored(api, user):
    offer, _ = scored_offer()
    for said in (
        "a text", 7, [], [{"monthly_income_cents": 1}], {"monthly_income_cents": None}, {"other": {"deep": [1]}},
        {"monthly_income_cents": 1e308, "monthly_debt_cents": 5e-324},
        {"monthly_income_cents": 0, "monthly_debt_cents": 2**64 - 1},
        {"housing": "\x00\ud7ff𝄞" * 1000, "monthly_income_cents": -0.0},
    ):  # fmt: skip
        application = draft_for(offer, user, said)
        assert submit(api, application).status_code == 200
        assert Score.objects.filter(application=application).exists(), said


def test_submission_with_data_of_a_wrong_type_for_the_champion_returns_400(api, user):
    offer, _ = scored_offer()
    for said in (
        {"monthly_income_cents": "320000"}, {"monthly_income_cents": {"deep": [1]}},
        {"monthly_income_cents": [320_000]}, {"monthly_income_cents": ""}, {"housing": True},
        {"monthly_income_cents": False, "monthly_debt_cents": "1", "housing": 3},
    ):  # fmt: skip
        application = draft_for(offer, user, {**SAYS_GOOD, **said})
        error = assert_error(submit(api, application), 400, "E1020")
        assert [detail["field"] for detail in error["details"]] == [f"/application_data/{name}" for name in said]
        application.refresh_from_db()
        assert (application.status, Score.objects.count()) == ("draft", 0)
        assert_error(api.send("/applications", body_of(user, offer, {**SAYS_GOOD, **said})), 400, "E1020")


@pytest.mark.parametrize(("name", "said", "pointer"), [
    ("#/a b/~1€", {"a b": {"/€": 320_000}}, "/a b/~1€"), ("#/incomes/0", {"incomes": [320_000]}, "/incomes/0"),
    (".incomes.1.cents", {"incomes": [0, {"cents": 320_000}]}, "/incomes/1/cents"),
    ("#/a/1/b~1c/0", {"a": [0, {"b/c": [320_000]}]}, "/a/1/b~1c/0"),
])  # fmt: skip
def test_champion_reads_application_data_by_pointer(api, user, name, said, pointer):
    verify(user)
    card = definition()
    card["inputs"][0]["from"] = card["inputs"][1]["ratio"][1] = f"application_data{name}"
    offer, _ = scored_offer(definition=card)
    others = {name: value for name, value in SAYS_GOOD.items() if name != "monthly_income_cents"}
    assert submit(api, draft_for(offer, user, {**others, **said})).status_code == 200
    assert Score.objects.get().outcome == "approve"
    text = json.loads(json.dumps(said).replace("320000", '"320000"'))
    error = assert_error(submit(api, draft_for(offer, user, {**others, **text})), 400, "E1020")
    assert [detail["field"] for detail in error["details"]] == [f"/application_data{pointer}"]


def test_submission_with_data_unreadable_only_for_a_challenger_is_accepted(api, user):
    offer, champion = scored_offer()
    inputs = [{"name": "amount", "from": "application_data.amount_cents", "type": "text"}, *definition()["inputs"]]
    odd = {**definition()["characteristics"][2], "name": "amount", "input": "amount"}
    ModelVersionFactory(
        model=champion.model, number=2, role="challenger",
        definition=definition(inputs=inputs, characteristics=[odd], base_points=0),
    )  # fmt: skip
    assert submit(api, draft_for(offer, user)).status_code == 200
    assert Score.objects.get(purpose="shadow").outcome == "refer"


def test_application_with_a_fact_that_raises_an_error_is_not_scored(api, user, caplog, monkeypatch):
    def fails(_user_id, _now):
        raise ZeroDivisionError("a fact is broken")

    broken = facts.Fact("identity.verified", "boolean", fails, "identity:read")
    monkeypatch.setitem(facts.catalogue(), "identity.verified", broken)
    offer, version = scored_offer()
    application = draft_for(offer, user)
    with caplog.at_level(logging.ERROR, logger="platform.scoring"):
        assert submit(api, application).status_code == 200
    application.refresh_from_db()
    assert application.status == "submitted"
    assert not Score.objects.exists()
    assert f"{application.pk} has no score by model {version.model_id}" in caplog.text


def test_submission_is_rolled_back_if_the_database_fails(api, user, monkeypatch):
    def fails(_user_id, _now):
        raise OperationalError("the database went away")

    broken = facts.Fact("identity.verified", "boolean", fails, "identity:read")
    monkeypatch.setitem(facts.catalogue(), "identity.verified", broken)
    application = draft_for(scored_offer()[0], user)
    assert_error(submit(api, application), 503, "E5030")
    application.refresh_from_db()
    assert application.status == "draft"


def statements_of(api, application):
    """Submit; return the statements."""
    api.read("/auth/me")
    with CaptureQueriesContext(connection) as captured:
        assert submit(api, application).status_code == 200
    return [query["sql"] for query in captured.captured_queries]


def test_submission_without_a_scoring_model_executes_no_additional_sql_statement(api, user, settings):
    settings.RATE_LIMITS = dict.fromkeys(settings.RATE_LIMITS)
    listed = OfferFactory()
    counts = {}
    for decisioning in ("off", "assist"):
        settings.DECISIONING = decisioning
        for name, application in (("listed", draft_for(listed, user)), ("unlisted", ApplicationFactory(consumer=user))):
            counts[decisioning, name] = len(statements_of(api, application))
    assert counts["assist", "listed"] == counts["off", "listed"]
    assert counts["assist", "unlisted"] == counts["off", "unlisted"]


def test_submission_with_a_scoring_model_executes_three_sql_statements_plus_two_per_model_version(api, user, settings):
    settings.RATE_LIMITS = dict.fromkeys(settings.RATE_LIMITS)
    plain = len(statements_of(api, draft_for(OfferFactory(), user)))
    offer, version = scored_offer()
    for challengers in range(2):
        if challengers:
            ModelVersionFactory(model=version.model, number=2, role="challenger")
        submit(api, draft_for(offer, user))  # A process loads each version's card once.
        # The versions, the only registered fact, and the last score; for each version its score and facts.
        assert len(statements_of(api, draft_for(offer, user))) == plain + 3 + 2 * (1 + challengers)


def test_facts_stored_with_a_score_are_encrypted(api, user):
    offer, _ = scored_offer()
    submit(api, draft_for(offer, user))
    with connection.cursor() as cursor:
        cursor.execute("SELECT facts, nonce FROM credit_scorefacts")
        stored = cursor.fetchone()
    assert "housing" not in json.dumps(stored)
