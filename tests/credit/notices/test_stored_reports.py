"""Test notices of decisions that reference stored reports (`metadata.report_ids`)."""

import pytest
from django.utils import timezone

from credit.models import Application, Notice
from credit.notices.content import gather
from tests.api import assert_error
from tests.credit.applicants import PERSON
from tests.credit.scoring.submitting import draft_for, scored_offer, submit
from tests.credit.scoring.test_reports import ask, under_review
from tests.credit.support import move
from tests.credit.terms.test_counteroffers import counter
from tests.factories import ProviderFactory, UserFactory

pytestmark = pytest.mark.django_db
REASONS = ["obligations_excessive", "inquiries_recent"]
TYPED = {"agency": "Acme", "address": "1 St", "phone": "1"}
CARD = {
    "inputs": [{"name": "score", "from": "report.score", "type": "number"}],
    "base_points": 500,
    "characteristics": [
        {"name": "score", "input": "score", "reason": "no_credit_file", "baseline": 100,
         "bins": [{"missing": True, "points": 0}, {"below": 650, "points": 10}, {"points": 100}]},
    ],
    "outcomes": [{"outcome": "approve", "from": 600}, {"outcome": "refer"}],
}  # fmt: skip


def reject(client, application, **metadata):
    return move(client, application, "rejected", metadata={"reasons": REASONS, **metadata})


@pytest.fixture(autouse=True)
def _vendor(settings):
    settings.REPORTS = "sandbox"


@pytest.fixture
def application(user):
    now = timezone.now()
    ProviderFactory(pk="700", name="Alder Bank", address="1 Bank Street\nAmes, IA 50010", created_at=now)
    return under_review(user, "Thickfile", "Thinfile", created_at=now)


def test_notice_contains_the_agency_score_and_factors_of_the_stored_report(reviewers_api, application):
    report = ask(reviewers_api, application).json()
    response = reject(reviewers_api, application, report_ids=[report["id"]])
    assert response.status_code == 200, response.content
    notice = Notice.objects.get(kind="adverse_action")
    [sent] = gather(notice)["reports"]
    summary = report["summary"]
    assert (sent["agency"], sent["phone"]) == (summary["agency"]["name"], summary["agency"]["phone"])
    assert (sent["score"], sent["range"], sent["factors"]) == (724, [300, 850], summary["score"]["factors"])
    assert sent["date"] == report["as_of"]


def test_each_applicants_notice_contains_their_own_report(reviewers_api, application):
    ids = [ask(reviewers_api, application, applicant=number).json()["id"] for number in (1, 2)]
    assert reject(reviewers_api, application, report_ids=ids).status_code == 200
    scores = {notice.applicant: gather(notice)["reports"][0]["score"] for notice in Notice.objects.all()}
    assert scores in ({1: 724, 2: 611}, {None: 724, 2: 611})


def test_consumer_report_details_in_addition_to_a_report_id_are_rejected(reviewers_api, application, settings):
    both = {"report_ids": [ask(reviewers_api, application).json()["id"]], "consumer_report": TYPED}
    for settings.REVIEW_POLICY in ("open", "reviewed"):
        error = assert_error(reject(reviewers_api, application, **both), 400, "E1001")
        assert error["details"][0]["field"] == "metadata.consumer_report"
        error = assert_error(counter(reviewers_api, application, **both), 400, "E1001")
        assert error["details"][0]["field"] == "consumer_report"


def test_rejection_with_invalid_report_ids_is_rejected(reviewers_api, application):
    foreign = ask(reviewers_api, under_review(UserFactory(), "Frozen")).json()["id"]
    for ids in ([], "x", [1], ["x"], ["01900000-0000-7000-8000-000000000999"], [foreign]):
        error = assert_error(reject(reviewers_api, application, report_ids=ids), 400, "E1001")
        assert "report_ids" in error["message"]
    assert Application.objects.get(pk=application.pk).status == "under_review"


def test_report_details_entered_by_hand_are_rejected_if_the_application_has_a_stored_report(
    reviewers_api, application, settings
):
    ask(reviewers_api, application)
    for settings.REPORTS in ("sandbox", "off"):
        error = assert_error(reject(reviewers_api, application, consumer_report=TYPED), 400, "E1001")
        assert "metadata.consumer_report" in error["message"]


def test_report_details_entered_by_reviewers_are_rejected_if_a_report_vendor_is_configured(reviewers_api, settings):
    settings.BACKOFFICE_SECOND_FACTOR = False
    for settings.REVIEW_POLICY, settings.REPORTS, status in (
        ("open", "sandbox", 200), ("open", "package.module:Class", 200), ("reviewed", "off", 200),
        ("reviewed", "sandbox", 400), ("reviewed", "package.module:Class", 400), ("four_eyes", "sandbox", 400),
    ):  # fmt: skip
        response = reject(reviewers_api, under_review(UserFactory(), "Nofile"), consumer_report=TYPED)
        assert response.status_code == status, response.content
        if status == 400:
            assert assert_error(response, 400, "E1001")["details"][0]["field"] == "metadata.consumer_report"


def test_second_score_uses_the_received_report_and_the_notice_cites_the_report(api, reviewers_api, user):
    offer, _ = scored_offer(definition=CARD)
    application = draft_for(offer, user, {"amount_cents": 500_000, "term_months": 12})
    persons = [{**PERSON, "legal_name": "Rosa Thinfile"}]
    api.replace(f"/applications/{application.pk}", {"updated_by": str(user.pk), "applicants": persons})
    assert submit(api, application).status_code == 200
    before = api.read(f"/applications/{application.pk}/score").json()
    assert (before["outcome"], before["score"], before["facts"]) == ("refer", 500, [])
    for kind in ("income", "credit"):
        assert ask(reviewers_api, application, kind=kind).status_code == 201
    response = reviewers_api.send(f"/applications/{application.pk}/score")
    fact = {"name": "report.score", "source": "report", "as_of": str(timezone.now().date())}
    assert (response.status_code, response.json()["score"], response.json()["facts"]) == (201, 510, [fact])
    assert move(reviewers_api, application, "under_review").status_code == 200
    assert reject(reviewers_api, application).status_code == 200
    [report] = gather(Notice.objects.get(kind="adverse_action"))["reports"]
    assert (report["agency"], report["score"]) == ("Sandbox Bureau", 611)


@pytest.mark.parametrize(("vendor", "members", "field"), [
    ("sandbox", {"consumer_report": TYPED}, "consumer_report"),
    ("off", {"consumer_report": {}}, "consumer_report.agency"),
    ("sandbox", {"report_ids": ["01900000-0000-7000-8000-000000000999"]}, "report_ids[0]"),
    ("off", {"consumer_report": [{}]}, "consumer_report[0].agency"),
])  # fmt: skip
def test_error_for_an_invalid_report_of_a_counteroffer_contains_the_field(
    reviewers_api, application, settings, vendor, members, field
):
    settings.REPORTS = vendor
    error = assert_error(counter(reviewers_api, application, **members), 400, "E1001")
    assert error["details"][0]["field"] == field
