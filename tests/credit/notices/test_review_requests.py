"""POST and GET /applications/{id}/review-requests: a person looks again, and another one than before."""

import os
from datetime import timedelta

import pytest
from django.db import transaction
from django.utils import timezone

from config.core.errors import ApiError
from config.webhooks.models import Event
from credit.models import Application, ApplicationHistory, Clock, ReviewRequest
from credit.notices import services
from credit.review.services import change_status
from tests.api import assert_error, client_of
from tests.credit.notices.world import BECAUSE, World, provider_offer
from tests.factories import ApplicationFactory
from tests.races import at_once

pytestmark = pytest.mark.django_db
SAID = {"statement": "My payslip was read wrong."}


@pytest.fixture
def world(db):
    """An application that its lender rejected yesterday."""
    return rejected()


def rejected(offer=None):
    made = World(offer, start=timezone.now() - timedelta(days=3))
    made.offer.provider.created_at = made.start - timedelta(days=1)
    made.offer.provider.save()
    made.submit(0)
    made.reject(2)
    return made


def path(world):
    return f"/applications/{world.pk}/review-requests"


def ask(world, **body):
    return client_of(world.consumer.user).send(path(world), body or SAID)


def decide(world, to, by, reason="Looked again."):
    with transaction.atomic():
        return change_status(
            str(world.pk), to, actor=by, changed_by="x", reason=reason, metadata={"reasons": BECAUSE},
            now=timezone.now(),
        )  # fmt: skip


class TestAsked:
    def test_it_is_open_for_thirty_days(self, world):
        made = ask(world).json()
        assert (made["status"], made["outcome"], made["statement"]) == ("open", "", SAID["statement"])
        row = ReviewRequest.objects.get()
        assert row.due_at - row.requested_at == timedelta(days=30)
        assert world.application.clocks.filter(kind=Clock.REVIEW, stopped_at=None).count() == 1
        told = Event.objects.filter(type="application.review_requested")
        assert {event.account_id for event in told} == {world.consumer.user.pk, world.lender.user.pk}
        assert SAID["statement"] not in str([event.object for event in told])

    def test_the_list_has_it(self, world):
        ask(world)
        for who in (world.consumer.user, world.lender.user):
            page = client_of(who).read(path(world)).json()
            assert [row["status"] for row in page["review_requests"]] == ["open"]

    def test_a_second_one_waits_for_the_first(self, world):
        ask(world)
        assert_error(ask(world), 400, "E3004")

    def test_of_what_began_as_rejected_it_ends_with_the_application_too(self, user, settings):
        settings.REVIEW_POLICY = "open"
        began, me = ApplicationFactory(consumer=user, status="rejected", initial_status="rejected"), client_of(user)
        assert me.send(f"/applications/{began.pk}/review-requests", SAID).status_code == 201
        for to in ("under_review", "withdrawn"):
            body = {"status": to, "updated_by": "me"}
            assert me.replace(f"/applications/{began.pk}/status", body).status_code == 200
        assert ReviewRequest.objects.get().outcome == "withdrawn"
        assert not Clock.running(began.pk, Clock.KINDS).exists()

    def test_only_of_a_rejection(self, world):
        world.reopen(2.5)
        assert_error(ask(world), 400, "E3004")

    def test_only_by_the_consumer(self, world):
        assert_error(client_of(world.lender.user).send(path(world), SAID), 404, "E4002")
        assert_error(client_of(World(world.offer).consumer.user).send(path(world), SAID), 404, "E4002")

    @pytest.mark.parametrize("statement", ["", 1, None, "x" * 4_001])
    def test_of_another_shape_it_is_refused(self, world, statement):
        assert_error(ask(world, statement=statement), 400, "E1001")

    def test_the_statement_is_encrypted(self, world):
        ask(world)
        field = ReviewRequest._meta.get_field("statement")
        assert field.get_db_prep_save(SAID["statement"], None) != SAID["statement"]


class TestAnswered:
    def test_by_the_next_decision_of_somebody_else(self, world):
        ask(world)
        decide(world, "under_review", world.lender)
        decide(world, "approved", world.other)
        row = ReviewRequest.objects.get()
        assert (row.status, row.outcome) == ("answered", "approved")
        assert not world.application.clocks.filter(kind=Clock.REVIEW, stopped_at=None).exists()
        assert Event.objects.filter(type="application.review_answered").count() == 2

    @pytest.mark.parametrize("policy", ["open", "reviewed", "four_eyes"])
    def test_never_by_who_decided_before_nor_by_who_asked(self, world, settings, policy):
        ask(world)
        decide(world, "under_review", world.lender)
        settings.REVIEW_POLICY = policy
        for who in (world.lender, world.consumer):
            for to in ("approved", "rejected"):
                with pytest.raises(ApiError) as refused:
                    decide(world, to, who)
                assert refused.value.code == "E2010"

    def test_a_reviewer_sees_why_they_may_not(self, world):
        ask(world)
        decide(world, "under_review", world.lender)
        moves = client_of(world.lender.user).read(f"/applications/{world.pk}/transitions").json()["transitions"]
        assert {move["to"] for move in moves if move["code"] == "E2010"} >= {"approved", "rejected"}

    def test_without_a_request_the_same_reviewer_may_decide_again(self, world):
        decide(world, "under_review", world.lender)
        decide(world, "approved", world.lender)
        assert world.application.status == "approved"

    def test_it_ends_with_the_application(self, world):
        ask(world)
        decide(world, "under_review", world.lender)
        decide(world, "withdrawn", world.consumer)
        assert ReviewRequest.objects.get().outcome == "withdrawn"


@pytest.mark.parametrize("tries", [int(os.environ.get("REVIEW_RACES", "10"))])
def test_of_all_who_decide_at_once_it_is_always_somebody_else(committed, needs_postgresql, tries):
    offer = provider_offer()
    for _ in range(tries):
        race(offer)


def race(offer):
    world = rejected(offer)
    with transaction.atomic():
        services.request_review(str(world.pk), statement="Again.", actor=world.consumer, now=timezone.now())
    decide(world, "under_review", world.lender)

    def attempt(by, to):
        try:
            decide(world, to, by)
        except ApiError as refused:
            return refused.code
        return None

    ends = at_once(
        *(lambda by=by, to=to: attempt(by, to) for by in (world.lender, world.other) for to in ("approved", "rejected"))
    )
    assert ends.count(None) == 1
    last = ApplicationHistory.objects.filter(application=world.pk).latest("position")
    assert last.principal_id == world.other.user.pk
    assert ReviewRequest.objects.get(application=world.pk).outcome == last.status
    assert Application.objects.get(pk=world.pk).status == last.status
