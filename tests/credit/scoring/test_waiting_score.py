"""Test reports that an offer requests at submission, and the score that waits for them."""

from copy import deepcopy
from datetime import timedelta

import pytest
from django.utils import timezone

from config.clients.provider import ProviderError
from config.core import audit
from credit.models import Application, LastScore, Report, Score
from credit.reports.sandbox import SandboxVendor
from credit.reports.services import collect
from credit.reports.vendor import PENDING, VendorReport
from credit.review.automatic import decide_scored
from credit.scoring.facts_of import score_waiting
from tests.api import assert_error, client_of
from tests.credit.applicants import PERSON
from tests.credit.requirements.test_requirements import OFFER
from tests.credit.scoring.submitting import draft_for, scored_offer, submit
from tests.factories import UserFactory

pytestmark = pytest.mark.django_db

BINS = [{"missing": True, "points": 0}, {"below": 650, "points": 10}, {"points": 100}]
INCOME_BINS = [{"missing": True, "points": 0}, {"below": 300_000, "points": 20}, {"points": 80}]
CARD = {
    "inputs": [
        {"name": "status", "from": "report.status", "type": "text"},
        {"name": "score", "from": "report.score", "type": "number"},
        {"name": "income", "first_of": ["report.income_monthly_cents", "application_data.monthly_income_cents"],
         "type": "number"},
    ],
    "knockouts": [
        {"input": "status", "equals": "no_file", "outcome": "refer", "reason": "no_credit_file"},
        {"input": "status", "equals": "frozen", "outcome": "refer",
         "reason": {"code": "other", "text": "The credit file is frozen"}},
        {"input": "status", "in": ["failed", "requested"], "outcome": "refer", "reason": "references_unverifiable"},
    ],
    "base_points": 500,
    "characteristics": [
        {"name": "score", "input": "score", "reason": "references_unacceptable", "baseline": 100, "bins": BINS},
        {"name": "income", "input": "income", "reason": "income_insufficient", "baseline": 80, "bins": INCOME_BINS},
    ],
    "outcomes": [{"outcome": "approve", "from": 650}, {"outcome": "decline"}],
}  # fmt: skip
REASONS = {
    "Nofile": "No credit file", "Frozen": "The credit file is frozen", "Slow": "Unable to verify credit references",
    "Broken": "Unable to verify credit references",
}  # fmt: skip


class SlowVendor(SandboxVendor):
    """The sandbox's vendor: applicants named `Slow` have no report for days, `Broken` ones have an unknown outcome."""

    name = "slow"

    def request(self, request):
        last = request.person["legal_name"].split()[-1]
        if last == "Slow":
            return VendorReport(PENDING)
        if last == "Broken":
            raise ProviderError("timeout", outcome_unknown=True)
        return super().request(request)

    result = request


@pytest.fixture(autouse=True)
def vendor(settings):
    settings.REPORTS = f"{__name__}:SlowVendor"


def offer_with(*kinds, definition=None):
    offer, _ = scored_offer(definition=definition or CARD)
    offer.reports = list(kinds) or None
    offer.save()
    return offer


def submitted(consumer, offer, name, data=None, **person):
    api = client_of(consumer)
    application = draft_for(offer, consumer, data or {"amount_cents": 500_000, "monthly_income_cents": 100_000})
    body = {"updated_by": str(consumer.pk), "applicants": [{**PERSON, "legal_name": f"Rosa {name}", **person}]}
    assert api.replace(f"/applications/{application.pk}", body).status_code == 200
    response = submit(api, application)
    assert response.status_code == 200, response.content
    return application


def score_of(client, application):
    return client.read(f"/applications/{application.pk}/score").json()


def work(now=None, **later):
    now = (now or timezone.now()) + timedelta(**later)
    collect(now=now)
    return score_waiting(now=now)


def test_pending_score_is_computed_once_after_the_report(api, user, reviewers_api):
    application = submitted(user, offer_with("credit", "income"), "Thickfile")
    waiting = score_of(api, application)
    assert (waiting["status"], waiting["outcome"], waiting["scored_at"], waiting["facts"]) == (
        "waiting", None, None, None,
    )  # fmt: skip
    assert not Score.objects.exists()
    assert not LastScore.objects.exists()
    rows = Report.objects.order_by("kind").values_list("kind", "status", "requested_by", "purpose", "score_waits")
    assert list(rows) == [(kind, "requested", None, "credit_transaction", True) for kind in ("credit", "income")]
    state = Application.objects.get().reviewed_state
    Report.objects.filter(kind="income").update(look_at=timezone.now() + timedelta(hours=1))
    assert (work(), score_of(api, application)["status"]) == ((0, 0), "waiting")  # Both reports are required.
    assert work(hours=2) == (1, 0)
    assert Application.objects.get().reviewed_state != state  # The score voids an earlier proposal.
    score = score_of(reviewers_api, application)
    assert (score["status"], score["outcome"], score["score"]) == ("computed", "approve", 680)
    assert {fact["name"] for fact in score["facts"]} == {
        "report.status", "report.score", "report.income_monthly_cents"
    }  # fmt: skip
    assert work(hours=30) == (0, 0)
    assert Score.objects.count() == LastScore.objects.count() == 1
    reports = reviewers_api.read(f"/applications/{application.pk}/reports").json()
    assert {report["requested_by"] for report in reports} == {None}


def test_reports_requested_at_submission_are_in_the_audit_log_stream(user, monkeypatch):
    emitted = []
    monkeypatch.setattr(audit, "emit", lambda kind, **members: emitted.append((kind, members.get("actor"))))
    submitted(user, offer_with("credit", "income"), "Thickfile")
    assert emitted.count(("report.requested", {"app_name": "score_submission"})) == 2


@pytest.mark.parametrize("name", REASONS)
def test_missing_frozen_slow_or_unknown_report_refers_the_application_with_a_reason(name):
    """Use claims that a card without the report would decline or approve."""
    offer = offer_with("credit")
    for income in (None, 900_000):
        consumer = UserFactory()
        client = client_of(consumer)
        application = submitted(consumer, offer, name, {"amount_cents": 500_000, "monthly_income_cents": income})
        is_late = name in {"Slow", "Broken"}
        if is_late:
            assert (work(hours=23), score_of(client, application)["status"]) == ((0, 0), "waiting")
        assert work(hours=25 if is_late else 0) == (1, 0)
        score = score_of(client, application)
        assert (score["outcome"], score["reasons"][0]["text"]) == ("refer", REASONS[name])


def test_report_rejected_by_the_vendor_ends_the_pending_score(api, user, settings):
    settings.REPORTS = "sandbox"
    application = submitted(user, offer_with("credit"), "Broken")
    assert work() == (1, 0)
    assert (Report.objects.get().status, score_of(api, application)["outcome"]) == ("failed", "refer")


def test_explanation_states_that_the_score_is_pending(api, user):
    application = submitted(user, offer_with("credit"), "Slow")
    page = f"/applications/{application.pk}/explanation"
    assert api.read(f"{page}?language=en").json()["role"] == (
        "Your score is not computed yet, because the lender has requested reports about you."
    )
    assert api.read(f"{page}?language=es").json()["role"].startswith("Su puntaje espera")
    work(hours=25)
    assert api.read(f"{page}?language=en").json()["role"].startswith("A score was computed")


def test_scoring_and_corrections_return_409_while_the_score_is_pending(api, user, reviewers_api):
    application = submitted(user, offer_with("credit"), "Slow")
    place = f"/applications/{application.pk}"
    assert_error(reviewers_api.send(f"{place}/score"), 409, "E3022")
    claim = {"fact": "application_data.monthly_income_cents", "claimed": 9, "statement": "Wrong", "file": None}
    correction = api.send(f"{place}/corrections", claim).json()
    answer = {"status": "corrected", "reason": "Right"}
    assert_error(reviewers_api.replace(f"{place}/corrections/{correction['id']}", answer), 409, "E3022")
    report = {"kind": "credit", "purpose": "credit_transaction"}
    assert_error(reviewers_api.send(f"{place}/reports", report), 409, "E3022")
    work(hours=25)
    assert reviewers_api.send(f"{place}/score").status_code == 201


def test_submission_reuses_a_current_report(api, user):
    offer = offer_with("credit")
    submitted(user, offer, "Thickfile")
    work()
    second = submitted(user, offer, "Thickfile")
    assert score_of(api, second)["status"] == "computed"
    assert Report.objects.filter(score_waits=True).count() == 0
    assert Report.objects.count() == 2


@pytest.mark.parametrize("case", ["card", "offer", "vendor", "birth date"])
def test_score_is_computed_immediately_if_no_report_can_be_requested(api, user, settings, case):
    kinds = () if case == "offer" else ("credit",)
    definition = None
    if case == "card":
        income = {"name": "income", "from": "application_data.monthly_income_cents", "type": "number"}
        definition = {**CARD, "inputs": [income], "knockouts": [], "characteristics": CARD["characteristics"][1:]}
    if case == "vendor":
        settings.REPORTS = "off"
    person = {"date_of_birth": None} if case == "birth date" else {}
    application = submitted(user, offer_with(*kinds, definition=definition), "Thickfile", **person)
    assert score_of(api, application)["status"] == "computed"
    assert not Report.objects.exists()


def test_submission_with_unreadable_data_is_rejected_before_a_report_request(api, user):
    application = draft_for(offer_with("credit"), user, {"monthly_income_cents": "much"})
    body = {"updated_by": str(user.pk), "applicants": [{**PERSON, "legal_name": "Rosa Thickfile"}]}
    api.replace(f"/applications/{application.pk}", body)
    assert_error(submit(api, application), 400, "E1020")
    assert not Report.objects.exists()


def test_application_closed_while_its_score_is_pending_is_not_scored(user):
    offer = offer_with("credit")
    for name, status in (("Thickfile", "approved"), ("Thinfile", "withdrawn")):
        application = submitted(user, offer, name)
        Application.objects.filter(pk=application.pk).update(status=status)
        assert work() == (0, 0)
        assert not Score.objects.exists()
        assert not Report.objects.filter(score_waits=True).exists()


def test_scorecard_that_raises_an_error_ends_the_pending_score(user, monkeypatch):
    submitted(user, offer_with("credit"), "Thickfile")
    monkeypatch.setattr("credit.scoring.scores.evaluate", lambda *_: 1 / 0)
    assert work() == (0, 0)
    assert not Report.objects.filter(score_waits=True).exists()


def test_offer_accepts_only_known_kinds_of_requested_reports(api, user):
    offer = api.send("/provider-offers", {**OFFER, "reports": ["credit", "income"]}).json()
    assert offer["reports"] == ["credit", "income"]
    for wrong in (["gossip"], ["credit", "credit"], "credit", ["credit", "income", "credit"]):
        assert_error(api.send("/provider-offers", {**OFFER, "reports": wrong}), 400, "E1001")


def test_automatic_rejection_for_a_report_reason_contains_the_report(user, settings):
    settings.DECISIONING, settings.REVIEW_POLICY = "automatic", "reviewed"
    card = deepcopy(CARD)
    card["inputs"][1]["from"] = "report.inquiries_6_months"
    card["inputs"][2] = {"name": "income", "from": "application_data.monthly_income_cents", "type": "number"}
    card["characteristics"][0] |= {
        "reason": "inquiries_recent",
        "bins": [{"missing": True, "points": 0}, {"below": 3, "points": 100}, {"points": 10}],
    }
    claims = {"amount_cents": 500_000, "monthly_income_cents": 350_000}
    application = submitted(user, offer_with("credit", definition=card), "Thinfile", claims)
    assert work() == (1, 0)
    assert decide_scored(now=timezone.now())["rejected"] == 1
    decision = application.history.get(status="rejected").metadata
    assert decision["reasons"] == ["inquiries_recent"]
    assert [report["score"] for report in decision["consumer_report"]] == [611]
