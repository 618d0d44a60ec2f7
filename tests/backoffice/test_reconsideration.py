"""Test that a case and its request for reconsideration show the statement, the deadline, and the actions."""

from datetime import UTC, datetime, timedelta

import pytest
from django.urls import reverse

from config.backoffice.html import moment
from config.core.casework import Assignment
from config.core.lifecycle import Actor
from credit.models import Application, ReviewRequest
from credit.notices import services
from tests.backoffice.conftest import backoffice_client, staff_of
from tests.backoffice.pages import confirm, links_of, text_of
from tests.backoffice.test_applications import move_of, page_of
from tests.credit.notices.world import World

pytestmark = pytest.mark.django_db
STATEMENT = "My rent was read wrong."


@pytest.fixture
def first(db):
    return staff_of("Reviewer", username="ruth")


@pytest.fixture
def application(settings, first):
    """Return an application whose applicant requests reconsideration of ruth's rejection."""
    settings.REVIEW_POLICY = "reviewed"
    world = World(start=datetime.now(UTC) - timedelta(days=21))
    world.offer.provider.created_at = world.start - timedelta(days=1)
    world.offer.provider.save()
    world.submit(0)
    world.reject(5, by=Actor(user=first, credential="admin", second_factor=True))
    services.request_review(str(world.pk), statement=STATEMENT, actor=world.consumer, now=world.at(16))
    return Application.objects.get(pk=world.pk)


def request_page():
    return reverse("admin:credit_reviewrequest_change", args=[ReviewRequest.objects.get().pk])


def test_another_reviewer_can_reopen_a_case_for_reconsideration_on_case_and_request_pages(
    reviewers_client, application, supports_client
):
    for address in (page_of(application), request_page()):
        page = reviewers_client.get(address)
        for text in (STATEMENT, "24 days left", "ruth took part in the earlier decision", "Reopen to answer"):
            assert text in text_of(page), address
        assert links_of(page).count(move_of(application, "under_review")) == 1
    page = reviewers_client.get(request_page())
    assert {"name": "Account", "value": application.consumer.username} in page.context["case"]
    assert page_of(application) in links_of(page)
    assert "Requests for reconsideration" in text_of(reviewers_client.get("/admin/credit/reviewrequest/"))
    masked = {row["name"] for row in supports_client.get(request_page()).context["case"]}
    assert "Amount" not in masked


def rows_of(response):
    return {row["name"]: row["value"] for row in response.context["case"]}


def test_pages_of_a_reconsideration_request_show_the_earlier_decision(reviewers_client, application):
    move = application.history.get(status="rejected")
    pages = [request_page(), move_of(application, "under_review")]
    for address in pages:
        rows = rows_of(reviewers_client.get(address))
        assert "rejected" in rows["Earlier decision"]
        assert moment(move.changed_at) in rows["Earlier decision"]
        assert rows["Earlier decision"].endswith("by ruth")
        assert rows["Reasons of the decision"] == "Income insufficient for amount of credit requested."
    assert "Reasons of the decision Income insufficient" in text_of(reviewers_client.get(page_of(application)))
    confirm(reviewers_client, move_of(application, "under_review"))
    assert "by ruth" in rows_of(reviewers_client.get(move_of(application, "approved")))["Earlier decision"]
    confirm(reviewers_client, move_of(application, "rejected"), code_1="bankruptcy", reason="As before.")
    rows = rows_of(reviewers_client.get(request_page()))
    assert rows["Earlier decision"].endswith("by ruth")
    assert rows["Reasons of the decision"] == "Income insufficient for amount of credit requested."


def test_support_sees_a_reconsideration_request_without_statement_and_reasons(supports_client, application):
    rows = rows_of(supports_client.get(request_page()))
    assert rows["Earlier decision"].endswith("by ruth")
    assert "Income" not in str(rows)
    page = text_of(supports_client.get(page_of(application)))
    assert "Reconsideration requested" in page
    assert STATEMENT not in page
    assert "Reopen to answer" not in page


def test_case_reopened_for_reconsideration_offers_to_uphold_or_change_the_decision(
    reviewers_client, reviewer, application
):
    confirm(reviewers_client, move_of(application, "under_review"))
    assert Assignment.objects.get(record_id=str(application.pk)).assignee == reviewer
    page = text_of(reviewers_client.get(move_of(application, "rejected")))
    assert page.count("Uphold the rejection") >= 1
    assert STATEMENT in page
    assert "The decision answers the applicant's request for reconsideration." in page
    changed = text_of(reviewers_client.get(move_of(application, "approved")))
    assert "Uphold" not in changed
    assert STATEMENT in changed
    assert text_of(reviewers_client.get(request_page())).count(STATEMENT) == 1
    page = reviewers_client.get(request_page(), {"_changelist_filters": "state=open"})
    assert move_of(application, "rejected") in links_of(page)
    assert not any("/move/" in link and "state" in link for link in links_of(page))
    for address in (page_of(application), request_page()):
        page = reviewers_client.get(address)
        assert "Uphold the rejection" in text_of(page)
        for to in ("rejected", "approved", "counteroffer"):
            assert links_of(page).count(move_of(application, to)) == 1, (address, to)
    confirm(reviewers_client, move_of(application, "rejected"), code_1="income_insufficient")
    assert ReviewRequest.objects.get().outcome == "rejected"
    page = text_of(reviewers_client.get(page_of(application)))
    assert "Reconsideration answered by rita: rejected" in page
    assert "Uphold" not in page


def test_reviewer_of_the_earlier_decision_cannot_reopen_or_answer_a_reconsideration(first, application):
    client = backoffice_client(first)
    for address in (page_of(application), request_page()):
        page = text_of(client.get(address))
        assert "You took part in the earlier decision, so another reviewer must answer." in page
        assert "Reopen to answer" not in page
    page = client.get(page_of(application))
    assert page.context["actions"] == []
    refusal = "The applicant has requested reconsideration. A reviewer who did not decide before must decide."
    assert ("under_review", refusal) in [(button.name, button.refusal) for button in page.context["rare"]]
    move = move_of(application, "under_review")
    for response in (client.get(move, follow=True), client.post(move, {"seen": "x"})):
        assert refusal in text_of(response)
    assert Application.objects.get(pk=application.pk).status == "rejected"
