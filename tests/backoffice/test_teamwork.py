"""Test proposals, case assignment, and presence of reviewers."""

from datetime import timedelta
from functools import partial

import pytest
from django.contrib.admin.models import LogEntry
from django.db import IntegrityError, transaction
from django.urls import reverse
from django.utils import timezone

from config.backoffice.personal import present_beside
from config.core.casework import Assignment
from credit.applications.services import change_application
from credit.models import Application, ApplicationHistory, Proposal
from credit.models.review import SCORE_REASON
from tests.backoffice.conftest import backoffice_client, staff_of
from tests.backoffice.pages import confirm, links_of, messages_of, seen_value, send_form, text_of
from tests.backoffice.test_applications import make, move_of, page_of
from tests.races import run_concurrently


@pytest.fixture
def four_eyes(settings):
    settings.REVIEW_POLICY = "four_eyes"


@pytest.fixture
def colleague(db):
    return staff_of("Reviewer", username="ruth")


@pytest.fixture
def colleagues_client(colleague):
    return backoffice_client(colleague)


def end_of(proposal, verb):
    return reverse("admin:credit_application_proposal", args=[proposal.application_id, proposal.pk, verb])


def propose(client, application, to="approved", **fields):
    send_form(client, move_of(application, to), **fields)
    return Proposal.objects.get(closed_at__isnull=True)


# --- Four eyes -----------------------------------------------------------------------------------------------------


def test_second_reviewer_can_confirm_a_proposed_decision(four_eyes, reviewers_client, colleagues_client, colleague):
    application = make(application_data={"amount": 1})
    proposal = propose(reviewers_client, application, reason="Enough income")
    application.refresh_from_db()
    assert application.status == "under_review"
    assert not ApplicationHistory.objects.exists()
    assert "Waiting for a second reviewer" in text_of(colleagues_client.get(page_of(application)))
    assert "is now approved" in messages_of(send_form(colleagues_client, end_of(proposal, "confirm")))
    row = ApplicationHistory.objects.get()
    assert (row.status, row.reason, row.principal, row.credential) == ("approved", "Enough income", colleague, "admin")
    four = row.metadata["four_eyes"]
    assert (four["proposed_by"], four["confirmed_by"]) == ("rita", "ruth")
    proposal.refresh_from_db()
    assert (proposal.outcome, proposal.closed_by) == ("confirmed", colleague)


def test_confirmed_decision_shows_both_reviewers_after_a_change_of_the_review_policy(
    four_eyes, settings, reviewers_client, colleagues_client, colleague
):
    application = make()
    proposal = propose(reviewers_client, application, reason="Enough income")
    Proposal.objects.update(metadata={SCORE_REASON: "For colleagues only."})
    settings.REVIEW_POLICY = "reviewed"
    assert "is now approved" in messages_of(send_form(colleagues_client, end_of(proposal, "confirm")))
    proposal.refresh_from_db()
    assert (proposal.outcome, proposal.closed_by) == ("confirmed", colleague)
    row = ApplicationHistory.objects.get()
    assert (row.metadata["four_eyes"]["proposed_by"], row.metadata["four_eyes"]["confirmed_by"]) == ("rita", "ruth")
    assert SCORE_REASON not in row.metadata
    assert "Void proposal" not in text_of(colleagues_client.get(page_of(application)))


def own_page_of(proposal):
    return reverse("admin:credit_proposal_change", args=[proposal.pk])


def test_proposal_page_links_to_its_confirmation(four_eyes, reviewers_client, colleagues_client):
    application = make()
    proposal = propose(reviewers_client, application)
    assert end_of(proposal, "confirm") not in links_of(reviewers_client.get(own_page_of(proposal)))
    assert end_of(proposal, "close") in links_of(reviewers_client.get(own_page_of(proposal)))
    page = colleagues_client.get(own_page_of(proposal))
    assert "Confirm the approval" in text_of(page)
    assert end_of(proposal, "confirm") in links_of(page)
    send_form(colleagues_client, end_of(proposal, "confirm"))
    assert ApplicationHistory.objects.get().status == "approved"
    ended = links_of(colleagues_client.get(own_page_of(proposal)))
    assert not {end_of(proposal, "confirm"), end_of(proposal, "close")} & set(ended)


def test_void_proposal_cannot_be_confirmed_and_is_replaced_by_a_new_proposal(
    four_eyes, reviewers_client, colleagues_client
):
    proposal = propose(reviewers_client, make(application_data={"amount": 1}))
    Application.objects.update(application_data={"amount": 2})
    page = colleagues_client.get(own_page_of(proposal))
    assert "so you can't confirm it" in text_of(page)
    assert end_of(proposal, "confirm") not in links_of(page)
    second = propose(colleagues_client, proposal.application, "rejected", code_1="income_insufficient")
    proposal.refresh_from_db()
    assert proposal.outcome == "void"
    assert second.to == "rejected"


def test_author_of_a_proposal_cannot_confirm_the_proposal(four_eyes, reviewers_client, reviewer):
    application = make()
    proposal = propose(reviewers_client, application)
    assert "Another reviewer must confirm it." in text_of(reviewers_client.get(page_of(application)))
    response = reviewers_client.post(end_of(proposal, "confirm"), {"seen": "x"})
    assert "can't confirm your own proposal" in messages_of(response)
    assert not ApplicationHistory.objects.exists()
    with pytest.raises(IntegrityError), transaction.atomic():
        proposal.close(Proposal.CONFIRMED, by=reviewer, now=timezone.now())


def test_changed_application_data_voids_the_proposal_with_a_message(four_eyes, reviewers_client, colleagues_client):
    application = make(application_data={"amount": 1})
    proposal = propose(reviewers_client, application)
    from config.core.lifecycle import Actor

    change_application(
        str(application.pk), actor=Actor(user=application.consumer, credential="jwt:x"), updated_by="me",
        changes={"application_data": {"amount": 9}}, now=timezone.now(),
    )  # fmt: skip
    text = text_of(colleagues_client.get(page_of(application)))
    assert "Void proposal" in text
    assert "Confirm:" not in text
    response = confirm(colleagues_client, end_of(proposal, "confirm"))
    assert "the proposal is void" in text_of(response)
    proposal.refresh_from_db()
    application.refresh_from_db()
    assert (proposal.outcome, application.status) == ("void", "under_review")


def test_data_change_before_the_confirmation_voids_the_proposal(four_eyes, reviewers_client, colleagues_client):
    application = make(application_data={"amount": 1})
    proposal = propose(reviewers_client, application)
    seen = seen_value(colleagues_client.get(end_of(proposal, "confirm")))
    Application.objects.update(application_data={"amount": 2})
    response = colleagues_client.post(end_of(proposal, "confirm"), {"seen": seen})
    assert "the proposal is void" in messages_of(response)
    assert not ApplicationHistory.objects.exists()


def test_second_open_proposal_for_an_application_is_rejected(four_eyes, reviewers_client, colleagues_client):
    application = make()
    propose(reviewers_client, application)
    assert "The application has a proposed decision" in text_of(colleagues_client.get(page_of(application)))
    address = move_of(application, "rejected")
    opened = colleagues_client.get(address, follow=True)
    sent = colleagues_client.post(address, {"seen": "x", "code_1": "bankruptcy"})
    for response in (opened, sent):
        assert "The application has a proposed decision" in text_of(response)
    assert sent.context["form"]["code_1"].value() == "bankruptcy"
    assert Proposal.objects.count() == 1


@pytest.mark.parametrize(("who", "outcome"), [("reviewers_client", "withdrawn"), ("colleagues_client", "declined")])
def test_proposal_can_be_withdrawn_by_its_author_and_declined_by_other_reviewers(
    four_eyes, reviewers_client, colleagues_client, who, outcome
):
    application = make()
    proposal = propose(reviewers_client, application)
    client = {"reviewers_client": reviewers_client, "colleagues_client": colleagues_client}[who]
    send_form(client, end_of(proposal, "close"), reason="Check the income again.")
    proposal.refresh_from_db()
    assert proposal.outcome == outcome
    assert not ApplicationHistory.objects.exists()


def test_last_editor_of_the_data_cannot_propose_or_confirm_a_decision(
    four_eyes, reviewers_client, colleague, colleagues_client
):
    application = make(data_changed_by=colleague)
    proposal = propose(reviewers_client, application)
    assert "can't decide the application" in text_of(colleagues_client.get(page_of(application)))
    response = confirm(colleagues_client, end_of(proposal, "confirm"))
    assert "can't decide the application" in text_of(response)
    assert not ApplicationHistory.objects.exists()
    proposal.refresh_from_db()
    assert proposal.closed_at is None


def test_document_request_under_four_eyes_requires_only_one_reviewer(four_eyes, reviewers_client):
    application = make()
    send_form(reviewers_client, move_of(application, "pending_documents"), reason="Please", documents="Payslip")
    application.refresh_from_db()
    assert application.status == "pending_documents"


def test_support_cannot_confirm_or_close_a_proposal(four_eyes, reviewers_client, supports_client):
    proposal = propose(reviewers_client, make())
    for verb in ("confirm", "close", "explode"):
        assert supports_client.post(end_of(proposal, verb), {"seen": "x"}).status_code == 403
    proposal.refresh_from_db()
    assert proposal.closed_at is None


def test_only_one_of_concurrent_back_office_confirmations_succeeds(committed, needs_postgresql, settings):
    settings.REVIEW_POLICY = "four_eyes"
    application = make()
    proposal = propose(backoffice_client(staff_of("Reviewer")), application)
    clients = [backoffice_client(staff_of("Reviewer")) for _ in range(4)]
    seen = [seen_value(client.get(end_of(proposal, "confirm"))) for client in clients]
    pairs = zip(clients, seen, strict=True)
    run_concurrently(*(partial(client.post, end_of(proposal, "confirm"), {"seen": pair}) for client, pair in pairs))
    assert ApplicationHistory.objects.count() == 1
    proposal.refresh_from_db()
    assert proposal.outcome == "confirmed"


# --- Assignment and presence ----------------------------------------------------------------------------------------


def assign_of(application):
    return reverse("admin:credit_application_assign", args=[application.pk])


def test_reviewer_can_take_assign_and_release_a_case(reviewers_client, reviewer, colleague):
    application = make()
    reviewers_client.post(assign_of(application), {"assignee": "me"})
    assert Assignment.objects.get().assignee == reviewer
    assert "rita, since" in text_of(reviewers_client.get(page_of(application)))
    reviewers_client.post(assign_of(application), {"assignee": str(colleague.pk)})
    assert Assignment.objects.get().assignee == colleague
    reviewers_client.post(assign_of(application), {"assignee": ""})
    assert not Assignment.objects.exists()
    entries = LogEntry.objects.filter(object_id=str(application.pk)).order_by("pk")
    assert [entry.get_change_message() for entry in entries] == [
        f"Assigned to {reviewer}.", f"Assigned to {colleague}.", "Assignment removed.",
    ]  # fmt: skip


def test_case_can_be_assigned_only_to_reviewers(reviewers_client, supports_client, user):
    application = make()
    for stranger in (str(user.pk), "0", "x", "999999"):
        response = reviewers_client.post(assign_of(application), {"assignee": stranger})
        assert "can't review these records" in messages_of(response)
    assert supports_client.post(assign_of(application), {"assignee": "me"}).status_code == 403
    assert "No other reviewer can be assigned" in text_of(reviewers_client.get(assign_of(application)))
    assert not Assignment.objects.exists()


def test_decision_ends_the_assignment_of_a_case(reviewers_client):
    application = make()
    reviewers_client.post(assign_of(application), {"assignee": "me"})
    send_form(reviewers_client, move_of(application, "approved"))
    assert not Assignment.objects.exists()


def test_case_page_shows_other_reviewers_who_opened_the_case_recently(reviewers_client, colleagues_client, reviewer):
    application = make()
    assert "Here too" not in text_of(reviewers_client.get(page_of(application)))
    assert "Other recent viewers: rita." in text_of(colleagues_client.get(page_of(application)))
    assert "Other recent viewers: ruth." in text_of(reviewers_client.get(page_of(application)))
    later = timezone.now() + timedelta(minutes=6)
    named = {"kind": "credit.application", "record_id": str(application.pk)}
    assert present_beside(reviewer, now=later, **named) == []


# --- Moving through a queue ------------------------------------------------------------------------------------------


def test_next_and_previous_case_links_follow_the_filtered_list(reviewers_client):
    now = timezone.now()
    oldest, middle, newest = [make("submitted", submitted_at=now - timedelta(days=days)) for days in (9, 5, 2)]
    make("draft")
    kept = "?_changelist_filters=queue%3Dreview"
    body = reviewers_client.get(page_of(middle) + kept).content.decode()
    assert f'href="{page_of(oldest)}{kept}" rel="prev"' in body
    assert f'href="{page_of(newest)}{kept}" rel="next"' in body
    assert 'rel="next"' not in reviewers_client.get(page_of(newest) + kept).content.decode()
    assert "rel=" not in reviewers_client.get(page_of(middle)).content.decode().partition('class="way"')[2][:1]


def test_case_page_after_a_decision_links_to_the_next_case(reviewers_client):
    now = timezone.now()
    first, second = [make("under_review", submitted_at=now - timedelta(days=days)) for days in (9, 5)]
    kept = "?_changelist_filters=queue%3Dreview"
    response = confirm(reviewers_client, move_of(first, "approved") + kept)
    assert "is now approved" in text_of(response)
    assert f'href="{page_of(second)}{kept}" rel="next"' in response.content.decode()


def test_case_page_ignores_invalid_list_filters(reviewers_client):
    for filters in ["nonsense=1", "age=x", "o=99", "q=%00", "status=%00", "status__bad__lookup=1", "_popup=1", "&&&"]:
        from urllib.parse import quote

        response = reviewers_client.get(f"{page_of(make())}?_changelist_filters={quote(filters)}")
        assert response.status_code == 200, filters
