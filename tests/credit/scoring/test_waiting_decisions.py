"""Test decisions about applications whose score waits for reports."""

from datetime import timedelta

import pytest
from django.utils import timezone

from credit.models import Application, Report
from credit.review.automatic import decide_scored
from tests.api import assert_error, client_of
from tests.backoffice.conftest import backoffice_client, staff_of
from tests.backoffice.pages import text_of
from tests.credit.scoring.submitting import verify as verify_identity
from tests.credit.scoring.test_waiting_score import (
    offer_with,
    submitted,
    vendor,  # noqa: F401  a fixture
    work,
)
from tests.credit.support import move

pytestmark = pytest.mark.django_db
BECAUSE = {"reasons": ["no_credit_file"]}


@pytest.fixture
def rita(db):
    return staff_of("Reviewer", username="rita")


@pytest.fixture
def waiting(user, rita):
    """Return an application under review whose report never arrives."""
    application = submitted(user, offer_with("credit"), "Slow")
    assert move(client_of(rita), application, "under_review").status_code == 200
    return application


def decisions(client, application):
    """Request each decision; return the responses."""
    offered = {
        "terms": {"amount_cents": 400_000, "rate_percent": 9.5, "term_months": 12}, "reasons": BECAUSE["reasons"],
        "expires_at": (timezone.now() + timedelta(days=14)).isoformat(),
    }  # fmt: skip
    yield move(client, application, "approved", reason="Seen.")
    yield move(client, application, "rejected", reason="Seen.", metadata=BECAUSE)
    yield client.send(f"/applications/{application.pk}/counteroffers", offered)


def status_of(application):
    return Application.objects.get(pk=application.pk).status


def test_decision_before_a_pending_score_returns_409_with_the_deadline(waiting, rita, settings):
    until = Report.objects.get().requested_at + timedelta(hours=24)
    for settings.REVIEW_POLICY in ("open", "reviewed", "four_eyes"):
        for response in decisions(client_of(rita), waiting):
            details = assert_error(response, 409, "E3022")["details"]
            assert details["until"] == until.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    assert status_of(waiting) == "under_review"
    assert not waiting.proposals.exists()
    page = client_of(rita).read(f"/applications/{waiting.pk}/transitions").json()["transitions"]
    codes = {each["to"]: each["code"] for each in page if each["by"] == "reviewer"}
    assert codes == {"approved": "E3022", "rejected": "E3022", "pending_documents": None}


def test_application_can_be_decided_after_the_score_is_computed(waiting, rita):
    work(hours=25)
    response = move(client_of(rita), waiting, "approved", reason="Known to us.")
    assert (response.status_code, status_of(waiting)) == (200, "approved")
    assert waiting.scores.count() == 1


def test_decision_is_allowed_after_a_score_is_pending_for_24_hours(waiting, rita):
    Report.objects.update(requested_at=timezone.now() - timedelta(hours=24))
    assert move(client_of(rita), waiting, "approved", reason="Known to us.").status_code == 200


def test_applicant_can_withdraw_while_the_score_is_pending(api, waiting):
    assert move(api, waiting, "withdrawn").status_code == 200
    work(hours=25)
    assert (status_of(waiting), waiting.scores.exists()) == ("withdrawn", False)


def test_application_with_missing_documents_can_be_rejected_before_scoring(waiting, rita):
    reviewers = client_of(rita)
    assert move(reviewers, waiting, "pending_documents").status_code == 200
    response = move(reviewers, waiting, "rejected", reason="No documents.", metadata=BECAUSE)
    assert (response.status_code, status_of(waiting)) == (200, "rejected")


def test_automatic_decision_is_made_after_the_score_is_computed(user, settings):
    settings.DECISIONING = "automatic"
    verify_identity(user)
    application = submitted(user, offer_with("credit", "income"), "Thinfile")
    assert sum(decide_scored(now=timezone.now()).values()) == 0
    assert status_of(application) == "submitted"
    assert work() == (1, 0)
    assert decide_scored(now=timezone.now())["rejected"] == 1


def test_console_disables_and_rejects_decisions_while_the_score_is_pending(waiting, rita):
    browser = backoffice_client(rita)
    page = f"/admin/credit/application/{waiting.pk}"
    assert "waits for reports that the offer requests" in text_of(browser.get(f"{page}/change/"))
    for to in ("approved", "rejected"):
        response = browser.post(f"{page}/move/{to}/", {"reason": "Seen."}, follow=True)
        assert "Decide when the reports have arrived, or after" in text_of(response)
    assert status_of(waiting) == "under_review"
