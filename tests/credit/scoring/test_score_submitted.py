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


@pytest.mark.parametrize(("said", "outcome"), [(SAYS_GOOD, "approve"), (SAYS_POOR, "decline")])
def test_submitted_application_is_scored_by_the_champion(api, user, said, outcome):
    verify(user)
    offer, version = scored_offer()
    application = draft_for(offer, user, said)
    assert submit(api, application).status_code == 200
    score = Score.objects.get()
    assert (score.application, score.version, score.user) == (application, version, user)
    assert (score.purpose, score.outcome) == ("decision", outcome)
    application.refresh_from_db()
    assert score.created_at == application.submitted_at
    kept = ScoreFacts.objects.get()
    assert sha256(b64decode(kept.nonce) + kept.facts.encode()).hexdigest() == score.facts_sha256
    assert kept.values()["identity.verified"] is True
    assert kept.values()["application_data.housing"] == said["housing"]


def test_application_created_as_submitted_is_scored(api, user):
    verify(user)
    offer, _ = scored_offer()
    body = {
        "consumer_id": str(user.pk), "offer_id": offer.pk, "provider_id": int(offer.provider_id),
        "application_data": SAYS_GOOD, "initial_status": "submitted",
    }  # fmt: skip
    response = api.send("/applications", body)
    assert response.status_code == 201
    assert str(Score.objects.get().application_id) == response.json()["id"]


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


def test_submission_is_not_scored_if_decisioning_is_off(api, user, settings):
    settings.DECISIONING = "off"
    offer, _ = scored_offer()
    assert submit(api, draft_for(offer, user)).status_code == 200
    assert not Score.objects.exists()


@pytest.mark.parametrize("options", [{"role": "challenger"}, {"status": "draft"}, {"status": "retired"}])
def test_submission_without_a_champion_is_not_scored(api, user, options):
    offer, _ = scored_offer(**options)
    assert submit(api, draft_for(offer, user)).status_code == 200
    assert not Score.objects.exists()


def test_submission_is_not_scored_by_a_model_of_another_lender(api, user):
    _, version = scored_offer()
    offer = OfferFactory(blockscore_model_id=version.model_id)
    assert submit(api, draft_for(offer, user)).status_code == 200
    assert not Score.objects.exists()


@pytest.mark.parametrize("said", [
    "a text", 7, [], [{"monthly_income_cents": 1}], {"monthly_income_cents": None}, {"other": {"deep": [1]}},
    {"monthly_income_cents": 1e308, "monthly_debt_cents": 5e-324},
    {"monthly_income_cents": 0, "monthly_debt_cents": 2**64 - 1},
    {"housing": "\x00\ud7ff𝄞" * 1000, "monthly_income_cents": -0.0},
])  # fmt: skip
def test_submission_with_unusual_data_is_scored(api, user, said):
    offer, _ = scored_offer()
    application = draft_for(offer, user, said)
    assert submit(api, application).status_code == 200
    assert Score.objects.get().application == application


@pytest.mark.parametrize(("said", "pointers"), [
    ({"monthly_income_cents": "320000"}, ["monthly_income_cents"]),
    ({"monthly_income_cents": {"deep": [1]}}, ["monthly_income_cents"]),
    ({"monthly_income_cents": [320_000]}, ["monthly_income_cents"]),
    ({"monthly_income_cents": ""}, ["monthly_income_cents"]),
    ({"monthly_income_cents": False, "monthly_debt_cents": "1", "housing": 3},
     ["monthly_income_cents", "monthly_debt_cents", "housing"]),
    ({"housing": True}, ["housing"]),
])  # fmt: skip
def test_submission_with_data_of_a_wrong_type_for_the_champion_returns_400(api, user, said, pointers):
    offer, _ = scored_offer()
    application = draft_for(offer, user, {**SAYS_GOOD, **said})
    refusal = submit(api, application)
    assert_error(refusal, 400, "E1020")
    assert [detail["field"] for detail in refusal.json()["details"]] == [
        f"/application_data/{name}" for name in pointers
    ]
    application.refresh_from_db()
    assert (application.status, Score.objects.count()) == ("draft", 0)
    body = {
        "consumer_id": str(user.pk), "offer_id": offer.pk, "provider_id": int(offer.provider_id),
        "application_data": {**SAYS_GOOD, **said}, "initial_status": "submitted",
    }  # fmt: skip
    assert_error(api.send("/applications", body), 400, "E1020")


def reading(name):
    """Return a card that reads the income under another name."""
    card = definition()
    card["inputs"][0]["from"] = card["inputs"][1]["ratio"][1] = name
    return card


@pytest.mark.parametrize(("name", "said", "pointer"), [
    ("#/a b/~1€", {"a b": {"/€": 320_000}}, "/a b/~1€"),
    ("#/Nettó jövedelem (Ft)", {"Nettó jövedelem (Ft)": 320_000}, "/Nettó jövedelem (Ft)"),
    ("#/m~0n", {"m~n": 320_000}, "/m~0n"),
    ("#/incomes/0", {"incomes": [320_000]}, "/incomes/0"),
    (".incomes.1.cents", {"incomes": [0, {"cents": 320_000}]}, "/incomes/1/cents"),
    # The pointers are from RFC 6901, section 5, nested fields, and words for income.
    *((f"#{pointer}", {member: 320_000}, pointer) for member, pointer in (
        ("", "/"), ("a/b", "/a~1b"), ("c%d", "/c%d"), ("e^f", "/e^f"), ("g|h", "/g|h"), ("i\\j", "/i\\j"),
        ('k"l', '/k"l'), (" ", "/ "), ("~1", "/~01"), ("~/~", "/~0~1~0"), ("\u6708\u53ce", "/\u6708\u53ce"),
        ("\u062f\u062e\u0644", "/\u062f\u062e\u0644"), ("foo.bar", "/foo.bar"),
    )),
    ("#/a/1/b~1c/0", {"a": [0, {"b/c": [320_000]}]}, "/a/1/b~1c/0"), ("#/0/00", {"0": {"00": 320_000}}, "/0/00"),
])  # fmt: skip
def test_champion_reads_application_data_by_pointer(api, user, name, said, pointer):
    verify(user)
    offer, _ = scored_offer(definition=reading(f"application_data{name}"))
    others = {name: value for name, value in SAYS_GOOD.items() if name != "monthly_income_cents"}
    assert submit(api, draft_for(offer, user, {**others, **said})).status_code == 200
    assert Score.objects.get().outcome == "approve"
    text = json.loads(json.dumps(said).replace("320000", '"320000"'))
    refusal = submit(api, draft_for(offer, user, {**others, **text}))
    assert_error(refusal, 400, "E1020")
    assert [detail["field"] for detail in refusal.json()["details"]] == [f"/application_data{pointer}"]


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


def test_application_with_a_failing_fact_is_left_to_reviewers(api, user, caplog, monkeypatch):
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


def test_submission_without_a_model_executes_no_additional_statement(api, user, settings):
    settings.RATE_LIMITS = dict.fromkeys(settings.RATE_LIMITS)
    listed = OfferFactory()
    counts = {}
    for decisioning in ("off", "assist"):
        settings.DECISIONING = decisioning
        for name, application in (("listed", draft_for(listed, user)), ("unlisted", ApplicationFactory(consumer=user))):
            counts[decisioning, name] = len(statements_of(api, application))
    assert counts["assist", "listed"] == counts["off", "listed"]
    assert counts["assist", "unlisted"] == counts["off", "unlisted"]


def test_submission_with_a_model_executes_three_statements_and_two_per_version(api, user, settings):
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
