"""Working together: proposals that another confirms, assignment, and seeing each other."""

import threading
from datetime import timedelta

import pytest
from django.db import IntegrityError, connection, transaction
from django.urls import reverse
from django.utils import timezone

from config.desk.models import Assignment, Proposal, Sighting
from credit.applications import change_application
from credit.models import Application, ApplicationHistory
from tests.desk.conftest import desk_client, staff_of
from tests.desk.pages import confirm, seen_in, text_of
from tests.desk.test_applications import make, move_of, page_of


@pytest.fixture
def four_eyes(settings):
    settings.REVIEW_POLICY = "four_eyes"


@pytest.fixture
def colleague(db):
    return staff_of("Reviewer", username="ruth")


@pytest.fixture
def colleagues_desk(colleague):
    return desk_client(colleague)


def end_of(proposal, verb):
    return reverse("admin:credit_application_proposal", args=[proposal.record_id, proposal.pk, verb])


def propose(client, application, to="approved", **fields):
    confirm(client, move_of(application, to), **fields)
    return Proposal.objects.get(closed_at__isnull=True)


# --- Four eyes -----------------------------------------------------------------------------------------------------


def test_a_decision_is_proposed_by_one_and_confirmed_by_another(four_eyes, reviewers_desk, colleagues_desk, colleague):
    application = make(application_data={"amount": 1})
    proposal = propose(reviewers_desk, application, reason="Enough income")
    application.refresh_from_db()
    assert application.status == "under_review"
    assert not ApplicationHistory.objects.exists()
    assert "Waiting for a second pair of eyes" in text_of(colleagues_desk.get(page_of(application)))
    assert "is now approved" in text_of(confirm(colleagues_desk, end_of(proposal, "confirm")))
    row = ApplicationHistory.objects.get()
    assert (row.status, row.reason, row.principal, row.credential) == ("approved", "Enough income", colleague, "admin")
    four = row.metadata["four_eyes"]
    assert (four["proposed_by"], four["confirmed_by"]) == ("rita", "ruth")
    proposal.refresh_from_db()
    assert (proposal.outcome, proposal.closed_by) == ("confirmed", colleague)


def test_whoever_proposed_does_not_confirm(four_eyes, reviewers_desk):
    application = make()
    proposal = propose(reviewers_desk, application)
    assert "Somebody else has to confirm it." in text_of(reviewers_desk.get(page_of(application)))
    response = reviewers_desk.post(end_of(proposal, "confirm"), {"seen": "x"}, follow=True)
    assert "cannot confirm it" in text_of(response)
    assert not ApplicationHistory.objects.exists()


def test_the_database_refuses_a_confirmation_by_the_proposer(four_eyes, reviewers_desk, reviewer):
    proposal = propose(reviewers_desk, make())
    with pytest.raises(IntegrityError), transaction.atomic():
        proposal.close(Proposal.CONFIRMED, by=reviewer, now=timezone.now())


def test_data_that_changed_since_makes_the_proposal_void_and_it_says_so(four_eyes, reviewers_desk, colleagues_desk):
    application = make(application_data={"amount": 1})
    proposal = propose(reviewers_desk, application)
    from config.lifecycle import Actor

    change_application(
        str(application.pk),
        actor=Actor(user=application.consumer, credential="jwt:x"),
        updated_by="me",
        changes={"application_data": {"amount": 9}},
        now=timezone.now(),
    )
    text = text_of(colleagues_desk.get(page_of(application)))
    assert "A proposal that is void" in text
    assert "Confirm:" not in text
    response = confirm(colleagues_desk, end_of(proposal, "confirm"))
    assert "the proposal is void" in text_of(response)
    proposal.refresh_from_db()
    application.refresh_from_db()
    assert (proposal.outcome, application.status) == ("void", "under_review")


def test_data_that_changes_between_looking_and_confirming_is_noticed(four_eyes, reviewers_desk, colleagues_desk):
    application = make(application_data={"amount": 1})
    proposal = propose(reviewers_desk, application)
    seen = seen_in(colleagues_desk.get(end_of(proposal, "confirm")))
    Application.objects.update(application_data={"amount": 2})
    response = colleagues_desk.post(end_of(proposal, "confirm"), {"seen": seen}, follow=True)
    assert "the proposal is void" in text_of(response)
    assert not ApplicationHistory.objects.exists()


def test_a_void_proposal_gives_way_to_a_new_one(four_eyes, reviewers_desk, colleagues_desk):
    application = make(application_data={"amount": 1})
    first = propose(reviewers_desk, application)
    Application.objects.update(application_data={"amount": 2})
    second = propose(colleagues_desk, application, "rejected", code_1="income_insufficient")
    first.refresh_from_db()
    assert first.outcome == "void"
    assert second.to == "rejected"


def test_one_proposal_waits_at_a_time(four_eyes, reviewers_desk, colleagues_desk):
    application = make()
    propose(reviewers_desk, application)
    assert "A proposal waits already" in text_of(colleagues_desk.get(page_of(application)))
    response = confirm(colleagues_desk, move_of(application, "rejected"), code_1="bankruptcy")
    assert "A proposal waits already" in text_of(response)
    assert Proposal.objects.count() == 1


@pytest.mark.parametrize(("who", "outcome"), [("reviewers_desk", "withdrawn"), ("colleagues_desk", "declined")])
def test_a_proposal_is_withdrawn_by_its_author_and_declined_by_others(
    four_eyes, reviewers_desk, colleagues_desk, who, outcome
):
    application = make()
    proposal = propose(reviewers_desk, application)
    client = {"reviewers_desk": reviewers_desk, "colleagues_desk": colleagues_desk}[who]
    confirm(client, end_of(proposal, "close"))
    proposal.refresh_from_db()
    assert proposal.outcome == outcome
    assert not ApplicationHistory.objects.exists()


def test_who_changed_the_data_neither_proposes_nor_confirms(four_eyes, reviewers_desk, colleague, colleagues_desk):
    application = make(data_changed_by=colleague)
    proposal = propose(reviewers_desk, application)
    assert "cannot decide about it" in text_of(colleagues_desk.get(page_of(application)))
    response = confirm(colleagues_desk, end_of(proposal, "confirm"))
    assert "cannot decide about it" in text_of(response)
    assert not ApplicationHistory.objects.exists()
    proposal.refresh_from_db()
    assert proposal.closed_at is None


def test_asking_for_documents_takes_one_person(four_eyes, reviewers_desk):
    application = make()
    confirm(reviewers_desk, move_of(application, "pending_documents"), reason="Please", documents="Payslip")
    application.refresh_from_db()
    assert application.status == "pending_documents"


def test_support_reaches_no_proposal(four_eyes, reviewers_desk, supports_desk):
    proposal = propose(reviewers_desk, make())
    for verb in ("confirm", "close", "explode"):
        assert supports_desk.post(end_of(proposal, verb), {"seen": "x"}).status_code == 403
    proposal.refresh_from_db()
    assert proposal.closed_at is None


def test_of_two_who_confirm_at_once_one_does(committed, needs_postgresql, settings):
    settings.REVIEW_POLICY = "four_eyes"
    application = make()
    proposal = propose(desk_client(staff_of("Reviewer")), application)
    clients = [desk_client(staff_of("Reviewer")) for _ in range(4)]
    seen = [seen_in(client.get(end_of(proposal, "confirm"))) for client in clients]
    start = threading.Barrier(len(clients))

    def run(client, seen):
        start.wait()
        client.post(end_of(proposal, "confirm"), {"seen": seen})
        connection.close()

    threads = [threading.Thread(target=run, args=pair) for pair in zip(clients, seen, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ApplicationHistory.objects.count() == 1
    proposal.refresh_from_db()
    assert proposal.outcome == "confirmed"


# --- Assignment and presence ----------------------------------------------------------------------------------------


def assign_of(application):
    return reverse("admin:credit_application_assign", args=[application.pk])


def test_a_reviewer_takes_gives_and_releases_work(reviewers_desk, reviewer, colleague):
    application = make()
    reviewers_desk.post(assign_of(application), {"assignee": "me"})
    assert Assignment.objects.get().assignee == reviewer
    assert "rita, since" in text_of(reviewers_desk.get(page_of(application)))
    reviewers_desk.post(assign_of(application), {"assignee": str(colleague.pk)})
    assert Assignment.objects.get().assignee == colleague
    reviewers_desk.post(assign_of(application), {"assignee": ""})
    assert not Assignment.objects.exists()


def test_work_is_given_to_reviewers_only(reviewers_desk, supports_desk, user):
    application = make()
    for stranger in (str(user.pk), "0", "x", "999999"):
        response = reviewers_desk.post(assign_of(application), {"assignee": stranger}, follow=True)
        assert "does not review these" in text_of(response)
    assert supports_desk.post(assign_of(application), {"assignee": "me"}).status_code == 403
    assert reviewers_desk.get(assign_of(application)).status_code == 302
    assert not Assignment.objects.exists()


def test_a_decision_ends_the_assignment(reviewers_desk):
    application = make()
    reviewers_desk.post(assign_of(application), {"assignee": "me"})
    confirm(reviewers_desk, move_of(application, "approved"))
    assert not Assignment.objects.exists()


def test_two_reviewers_of_one_application_see_each_other_for_a_while(reviewers_desk, colleagues_desk, reviewer):
    application = make()
    assert "Here too" not in text_of(reviewers_desk.get(page_of(application)))
    assert "Here too, or a moment ago: rita." in text_of(colleagues_desk.get(page_of(application)))
    assert "Here too, or a moment ago: ruth." in text_of(reviewers_desk.get(page_of(application)))
    later = timezone.now() + timedelta(minutes=6)
    named = {"kind": "credit.application", "record_id": str(application.pk)}
    assert Sighting.present_beside(reviewer, now=later, **named) == []


# --- Going through a queue ------------------------------------------------------------------------------------------


def test_next_and_previous_follow_the_filtered_list(reviewers_desk):
    now = timezone.now()
    oldest, middle, newest = [make("submitted", submitted_at=now - timedelta(days=days)) for days in (9, 5, 2)]
    make("draft")
    kept = "?_changelist_filters=queue%3Dreview"
    body = reviewers_desk.get(page_of(middle) + kept).content.decode()
    assert f'href="{page_of(oldest)}{kept}" rel="prev"' in body
    assert f'href="{page_of(newest)}{kept}" rel="next"' in body
    assert 'rel="next"' not in reviewers_desk.get(page_of(newest) + kept).content.decode()
    assert "rel=" not in reviewers_desk.get(page_of(middle)).content.decode().partition('class="way"')[2][:1]


def test_what_was_just_decided_leads_on_to_the_next(reviewers_desk):
    now = timezone.now()
    first, second = [make("under_review", submitted_at=now - timedelta(days=days)) for days in (9, 5)]
    kept = "?_changelist_filters=queue%3Dreview"
    response = confirm(reviewers_desk, move_of(first, "approved") + kept)
    assert "is now approved" in text_of(response)
    assert f'href="{page_of(second)}{kept}" rel="next"' in response.content.decode()


@pytest.mark.parametrize(
    "filters", ["nonsense=1", "age=x", "o=99", "q=%00", "status__bad__lookup=1", "_popup=1", "&&&"]
)
def test_filters_that_mean_nothing_do_no_harm(reviewers_desk, filters):
    from urllib.parse import quote

    response = reviewers_desk.get(f"{page_of(make())}?_changelist_filters={quote(filters)}")
    assert response.status_code == 200
