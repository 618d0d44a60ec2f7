"""Test that no text for the applicant depends on whether another account belongs to the same person."""

import json
import os
import re
from io import BytesIO
from random import Random
from zipfile import ZipFile

import pytest
from django.test import Client
from django.utils import timezone

from config.core.export import write_export
from config.core.json_text import canonical_json
from credit.anchoring.fact_hashes import close, facts_in_record, result_of, without_person
from credit.anchoring.verify_decision import FAIL, SKIPPED, verify
from credit.core.facts import Known, source_of, values_of
from credit.export import COPIED_VALUES
from credit.models import Application, LastScore, ModelVersion, Score
from credit.scoring import explanation, scores
from credit.scoring.evaluator import evaluate
from tests.api import client_of
from tests.credit.applicants import PERSON
from tests.credit.scoring.submitting import draft_for, scored_offer, submit
from tests.credit.support import make_reviewer, move
from tests.factories import UserFactory
from tests.properties import quick_or_full

PROBES = int(os.environ.get("PROBES", "100"))
NOW = timezone.now()
NOBODY = {"person.open_applications": 0, "person.days_since_rejection": None, "person.accounts": 1}
OPEN, DAYS, ACCOUNTS = NOBODY
CLAIMS = tuple(f"application_data.{name}" for name in "abc")


def probe_card(chance):
    """Return a random card: inputs of person facts, alone or with claims, next to inputs of claims only."""
    claim, other = chance.sample(CLAIMS, 2)
    inputs = [
        chance.choice((
            {"from": chance.choice((OPEN, DAYS, ACCOUNTS)), "type": "number"},
            {"first_of": [DAYS, claim], "type": "number"},
            {"first_of": [claim, DAYS], "type": "number"},
            {"ratio": [DAYS, claim]},
            {"ratio": [claim, OPEN]},
            {"sum": [ACCOUNTS, claim]},
        )),
        {"from": other, "type": "number"},
        {"first_of": chance.sample(CLAIMS, 2), "type": "number"},
    ]  # fmt: skip
    chance.shuffle(inputs)
    inputs = [{"name": f"i{number}", **read} for number, read in enumerate(inputs)]

    def characteristic(read):
        points = [chance.randrange(-50, 100) for _ in range(4)]
        bins = [
            {"missing": True, "points": points[0]},
            {"below": chance.choice((1, 2)), "points": points[1]},
            {"below": 100, "points": points[2]},
            {"points": points[3]},
        ]
        reason = chance.choice(("no_credit_file", "income_insufficient", "bankruptcy"))
        return {"name": read["name"], "input": read["name"], "reason": reason, "baseline": 60, "bins": bins}

    knocked = chance.choice(inputs)["name"]
    outcome = chance.choice(("refer", "decline"))
    knockout = {"input": knocked, "below": 1, "outcome": outcome, "reason": "foreclosure_or_repossession"}
    return {
        "inputs": inputs,
        "knockouts": [knockout] * chance.randrange(2),
        "base_points": 500,
        "characteristics": [characteristic(read) for read in inputs],
        "outcomes": [{"outcome": "approve", "from": 600}, {"outcome": "refer", "from": 520}, {"outcome": "decline"}],
        "segments": [{"name": "prime", "from": 560}],
        "verified": chance.random() < 0.1,
    }


def scored(card, values, monkeypatch):
    """Return a score, and the last scores for the catalog, as they would be stored, without a database."""
    version = ModelVersion(id=7, model_id=7, number=1, definition=card)
    stored, remembered = [], []
    monkeypatch.setattr(scores, "insert", stored.append)
    monkeypatch.setattr(scores, "store_last_scores", remembered.extend)
    known = {name: Known(values[name], source_of(name), NOW.date()) for name in version.card.facts}
    facts, about = values_of(known, now=NOW), {"purpose": Score.DECISION, "user_id": 1, "now": NOW}
    evaluation = evaluate(version.card, facts)
    score = scores.store_score(version, facts, evaluation, scores.sources_of(version.card, facts, known), **about)
    score.version, score.kept_facts = version, stored[1]
    scores.remember_result(score, 7, version.card, evaluation)
    return score, [(row.outcome, row.segment, row.reasons) for row in remembered]


def readable_values(score, remembered):
    """Return every value of a score that the applicant can read. Each hash has a nonce, so equal values differ."""
    hashes, opened = close(result_of(score))
    record = {"hashes": hashes, "facts": facts_in_record(score)}
    copied = {name: getattr(score, name) for name in (*Score.RESULT, "sources", "number")}
    values = {
        "score": scores.describe(score, for_applicant=True),
        "explanation": explanation._score_parts(score, "USD"),
        "record": record,
        "openings": without_person(opened),
        "copy": copied | COPIED_VALUES["credit.Score"](score, is_for_partner=False),
        "facts": COPIED_VALUES["credit.ScoreFacts"](score.kept_facts, is_for_partner=False) or score.kept_facts.facts,
        "catalog": remembered,
    }
    return re.sub(r"[0-9a-f]{64}", "hash", json.dumps(values, default=str))


def test_applicant_visible_results_do_not_depend_on_other_applications(monkeypatch):
    """Each probe scores the same claims twice: without and with other applications of the person."""
    chance, differing = Random(44), 0
    for _ in range(PROBES):
        card = probe_card(chance)
        claims = {name: chance.choice((None, 0, 1, 50, 400)) for name in CLAIMS}
        others = {OPEN: chance.randrange(4), DAYS: chance.choice((None, 0, 1, 400)), ACCOUNTS: chance.randrange(1, 4)}
        (alone, before), (same, after) = (scored(card, claims | world, monkeypatch) for world in (NOBODY, others))
        assert alone.is_withheld
        assert readable_values(alone, before) == readable_values(same, after), card
        for score in (alone, same):
            assert scores.describe(score)["score"] == score.total
        differing += alone.total != same.total
    assert differing > PROBES / 4  # The lender's results depend on other applications.


CARDS = [
    {"from": ACCOUNTS, "type": "number"},
    {"first_of": [DAYS, "application_data.monthly_debt_cents"], "type": "number"},
    {"sum": [OPEN, ACCOUNTS]},
]


def card_of(read):
    bins = [{"missing": True, "points": 80}, {"below": 2, "points": 70}, {"points": 0}]
    income = [{"missing": True, "points": 0}, {"points": 60}]
    return {
        "inputs": [
            {"name": "person", **read},
            {"name": "income", "from": "application_data.monthly_income_cents", "type": "number"},
        ],
        "base_points": 500,
        "characteristics": [
            {"name": "person", "input": "person", "reason": "performance_poor", "baseline": 70, "bins": bins},
            {"name": "income", "input": "income", "reason": "income_insufficient", "baseline": 60, "bins": income},
        ],
        "outcomes": [{"outcome": "approve", "from": 600}, {"outcome": "decline"}],
        "segments": [{"name": "prime", "from": 620}],
    }


def apply(offer, user, person):
    api = client_of(user)
    application = draft_for(offer, user, {"amount_cents": 500_000, "term_months": 12, "monthly_income_cents": 1,
                                          "monthly_debt_cents": 9})  # fmt: skip
    body = {"updated_by": str(user.pk), "applicants": [person]}
    assert api.replace(f"/applications/{application.pk}", body).status_code == 200
    assert submit(api, application).status_code == 200
    assert not LastScore.objects.filter(user=user).exists()
    return application


@pytest.mark.django_db
@pytest.mark.parametrize("source", quick_or_full(CARDS[1:2], CARDS))
def test_explanation_texts_do_not_depend_on_another_account(source, settings):
    settings.ANCHOR_DECISIONS = True
    offer, _ = scored_offer(definition=card_of(source))
    rita = make_reviewer(username="rita")
    answers, totals = [], []
    for number in (1, 2):
        person = {**PERSON, "email": f"p{number}@example.com", "phone": f"+1202555014{number}",
                  "date_of_birth": f"198{number}-01-01"}  # fmt: skip
        if number == 2:
            twin = apply(offer, UserFactory(username="twin"), person)
            Application.objects.filter(pk=twin.pk).update(status="rejected", reviewed_at=NOW)
            apply(offer, UserFactory(username="twin2"), person)
        user = UserFactory(username=f"user-{number}")
        answers.append(readings_of(offer, apply(offer, user, person), user, rita, person))
        totals.append(Score.objects.filter(user=user).get().total)
    assert totals[0] != totals[1]
    for name, text in answers[0].items():
        assert text == answers[1][name], name


def readings_of(offer, application, user, rita, person):
    """Return the applicant's texts before and after a reviewer's decision, without ids, times, and hashes."""
    api, place, texts = client_of(user), f"/applications/{application.pk}", {}
    paths = ["score", "explanation", "facts", "corrections", "transitions", "history", "notices", "reports"]
    for status in (None, "under_review", "approved"):
        if status is not None:
            response = move(client_of(rita), application, status, reason="Seen.")
            assert response.status_code == 200, response.content
        if status == "under_review":
            continue
        for path in paths:
            texts[status, path] = read(api.read(f"{place}/{path}"))
        texts[status, "catalog"] = read(api.read("/ucp/catalog/items?explain=true"))
        texts[status, "match"] = read(api.send("/offers/match", {}))
        texts[status, "page"] = page_of(user, application)
    texts["proof"] = read(api.read(f"{place}/proof"))
    bundle = api.read(f"{place}/decision-bundle")
    check_bundles(bundle, client_of(rita).read(f"{place}/decision-bundle"))
    texts["bundle"] = json.dumps({**bundle.json(), "applicants": None})
    archive = BytesIO()
    write_export(user.pk, archive, now=NOW)
    with ZipFile(archive) as copies:
        for name in ("Score", "ScoreFacts", "DecisionAnchor"):
            texts[name] = copies.read(f"records/credit.{name}.json").decode()
        texts["files"] = str(sorted(name for name in copies.namelist() if name.startswith("records/credit")))
    return {name: without_ids(text, user, person) for name, text in texts.items()}


def read(response):
    assert response.status_code == 200, response.content
    return response.content.decode()


def check_bundles(own, lenders):
    """Check that the applicant's bundle verifies without the result, and the lender's with it."""
    steps = {step.name: step.state for step in verify(own.content)}
    assert FAIL not in steps.values()
    assert {steps[name] for name in ("facts", "total", "outcome", "reasons")} == {SKIPPED}
    theirs = {step.name: step.state for step in verify(lenders.content)}
    assert {theirs[name] for name in ("facts", "sources", "total", "outcome", "reasons")} == {"ok"}
    forged = json.loads(lenders.json()["openings"])
    assert set(forged) - set(json.loads(own.json()["openings"])) == {"person.score"}
    forged["person.score"]["value"]["total"] += 1
    wrong = {**lenders.json(), "openings": canonical_json(forged).decode()}
    assert {step.name: step.state for step in verify(json.dumps(wrong).encode())}["openings"] == FAIL


def page_of(user, application):
    browser = Client()
    browser.force_login(user)
    return browser.get(f"/my/applications/{application.pk}/explanation").content.decode()


def without_ids(text, user, person):
    for value in (user.username, person["email"], person["phone"], person["date_of_birth"]):
        text = text.replace(value, "·")
    text = re.sub(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\b[0-9a-f]{64}\b", "·", text)
    text = re.sub(r"\d{4}-\d\d-\d\dT[0-9:.]+Z|[A-Za-z0-9+/]{40,}={0,2}", "·", text)
    text = re.sub(rf'(consumer_id\\*":{{\\*"nonce\\*":\\*"·\\*",\\*"value\\*":\\*"){user.pk}\b', r"\1·", text)
    return re.sub(rf'("(?:consumer_id|user_id|user|id|subject)\\*": ?\\*"?){user.pk}\b', r"\1·", text)
