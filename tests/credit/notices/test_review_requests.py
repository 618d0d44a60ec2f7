"""Test that another reviewer reconsiders a decision after POST /applications/{id}/review-requests."""

import os
from datetime import timedelta
from itertools import product

import pytest
from django.db import transaction
from django.utils import timezone

from config.core.errors import ApiError
from config.webhooks.models import Event
from credit.models import Application, ApplicationHistory, Clock, ReviewRequest
from credit.notices import services
from credit.notices.content import gather
from credit.review.services import change_status
from credit.terms import counteroffers
from tests.api import assert_error, client_of
from tests.credit.notices.world import BECAUSE, TERMS, World, provider_offer
from tests.factories import ApplicationFactory
from tests.races import run_concurrently

pytestmark = pytest.mark.django_db
SAID = {"statement": "My payslip was read wrong."}


@pytest.fixture
def world(db):
    """Return an application that its lender rejected yesterday."""
    return rejected()


def rejected(offer=None):
    created = recent(offer)
    created.reject(2)
    return created


def recent(offer=None, days=3):
    """Return an application under review that was submitted some days ago."""
    created = World(offer, start=timezone.now() - timedelta(days=days))
    created.offer.provider.created_at = created.start - timedelta(days=1)
    created.offer.provider.save()
    created.submit(0)
    return created


def offers_reconsideration(world):
    return "review" in gather(world.notice)["blocks"]


def offered(world):
    return {"terms": TERMS, "reasons": BECAUSE, "expires_at": world.at(40).isoformat()}


def withdraw_as(actor):
    return lambda pk, counteroffer_id, *, now, **_: counteroffers.withdraw(pk, counteroffer_id, actor=actor, now=now)


def path(world):
    return f"/applications/{world.pk}/review-requests"


def request_review(world, **body):
    return client_of(world.consumer.user).send(path(world), body or SAID)


def decide(world, to, by, reason="Looked again."):
    with transaction.atomic():
        return change_status(
            str(world.pk), to, actor=by, changed_by="x", reason=reason, metadata={"reasons": BECAUSE},
            now=timezone.now(),
        )  # fmt: skip


class TestRequestedReconsideration:
    def test_new_review_request_is_open_and_due_in_30_days(self, world):
        body = request_review(world).json()
        assert (body["status"], body["outcome"], body["statement"]) == ("open", "", SAID["statement"])
        row = ReviewRequest.objects.get()
        assert row.due_at - row.requested_at == timedelta(days=30)
        assert world.application.clocks.filter(kind=Clock.REVIEW, stopped_at=None).count() == 1
        events = Event.objects.filter(type="application.review_requested")
        assert {event.account_id for event in events} == {world.consumer.user.pk, world.lender.user.pk}
        assert SAID["statement"] not in str([event.object for event in events])
        assert SAID["statement"] not in ReviewRequest.objects.values_list("statement", flat=True).get().ciphertext
        for who in (world.consumer.user, world.lender.user):
            page = client_of(who).read(path(world)).json()
            assert [row["status"] for row in page["review_requests"]] == ["open"]
        assert_error(request_review(world), 400, "E3004")

    def test_withdrawing_an_application_created_as_rejected_closes_its_review_request(self, user, settings):
        settings.REVIEW_POLICY = "open"
        began, me = ApplicationFactory(consumer=user, status="rejected", initial_status="rejected"), client_of(user)
        assert me.send(f"/applications/{began.pk}/review-requests", SAID).status_code == 201
        for to in ("under_review", "withdrawn"):
            body = {"status": to, "updated_by": "me"}
            assert me.replace(f"/applications/{began.pk}/status", body).status_code == 200
        assert ReviewRequest.objects.get().outcome == "withdrawn"
        assert not Clock.running(began.pk, Clock.KINDS).exists()

    def test_only_the_applicant_can_request_a_review_of_an_adverse_decision(self, world):
        assert_error(client_of(world.lender.user).send(path(world), SAID), 404, "E4002")
        assert_error(client_of(World(world.offer).consumer.user).send(path(world), SAID), 404, "E4002")
        world.reopen(2.5)
        approved, declined, incomplete = (recent(world.offer) for _ in range(3))
        whole = {"amount_cents": 1_000_000, "rate_percent": 9, "term_months": 24}
        approved.move(2, "approved", metadata={"terms": whole})
        declined.counter(2)
        declined.decline(2.5)
        incomplete.request_documents(0.1)
        incomplete.expire(40)
        assert incomplete.application.status == "expired"
        for refused in (world, approved, declined, incomplete):
            assert_error(request_review(refused), 400, "E3004")
        assert offers_reconsideration(approved) is offers_reconsideration(incomplete) is False


class TestReconsiderationOfCounteroffers:
    """The notice offers reconsideration only if a request for it is accepted."""

    @pytest.mark.parametrize("with_denial", [False, True])
    def test_open_counteroffer_can_be_reconsidered(self, with_denial):
        world = recent()
        world.counter(2, with_denial=with_denial)
        assert offers_reconsideration(world)
        assert request_review(world).status_code == 201
        # An expired counteroffer rejects nothing while a reviewer has a request to answer.
        world.silence(41)
        assert world.application.status == "under_review"
        for who in (world.lender, world.consumer):
            with pytest.raises(ApiError) as refused:
                decide(world, "rejected", who)
            assert refused.value.code == "E2010"
        decide(world, "rejected", world.other)
        assert ReviewRequest.objects.get().outcome == "rejected"

    def test_new_counteroffer_answers_the_review_request(self):
        world = recent()
        world.counter(2)
        request_review(world)
        world.end_counter(2.5, withdraw_as(world.other))
        world.move(3, "counteroffer", by=world.other, metadata=offered(world))
        assert ReviewRequest.objects.get().outcome == "counteroffer"
        assert not Clock.running(world.pk, (Clock.REVIEW,)).exists()

    def test_accepting_a_counteroffer_or_a_reduced_approval_closes_the_review_request(self):
        world = recent()
        for step in ("approve", "counter"):
            getattr(world, step)(2)
            assert offers_reconsideration(world)
            assert request_review(world).status_code == 201
            world.take_up(2.5)
            assert ReviewRequest.objects.get(application=world.pk).outcome == "approved"
            assert not Clock.running(world.pk, (Clock.REVIEW,)).exists()
            assert_error(request_review(world), 400, "E3004")
            world = recent(world.offer)


class TestAnsweredReconsideration:
    def test_decision_by_another_reviewer_answers_the_review_request(self, world):
        request_review(world)
        decide(world, "under_review", world.lender)
        decide(world, "approved", world.other)
        row = ReviewRequest.objects.get()
        assert (row.status, row.outcome) == ("answered", "approved")
        assert not world.application.clocks.filter(kind=Clock.REVIEW, stopped_at=None).exists()
        assert Event.objects.filter(type="application.review_answered").count() == 2

    def test_original_reviewer_and_applicant_cannot_decide_a_reconsideration(self, world, settings):
        request_review(world)
        decide(world, "under_review", world.lender)
        moves = client_of(world.lender.user).read(f"/applications/{world.pk}/transitions").json()["transitions"]
        assert {move["to"] for move in moves if move["code"] == "E2010"} >= {"approved", "rejected"}
        for settings.REVIEW_POLICY in ("open", "reviewed", "four_eyes"):
            for who, to in product((world.lender, world.consumer), ("approved", "rejected")):
                with pytest.raises(ApiError) as refused:
                    decide(world, to, who)
                assert refused.value.code == "E2010"
        decide(world, "withdrawn", world.consumer)
        assert ReviewRequest.objects.get().outcome == "withdrawn"

    def test_author_of_the_expired_counteroffer_cannot_decide_the_reconsideration(self, settings):
        world = recent(days=30)
        world.counter(2, until=10)
        world.silence(11)
        assert (world.application.status, request_review(world).status_code) == ("rejected", 201)
        decide(world, "under_review", world.other)
        for settings.REVIEW_POLICY in ("reviewed", "four_eyes"):
            with pytest.raises(ApiError) as refused:
                decide(world, "rejected", world.lender)
            assert refused.value.code == "E2010"
        decide(world, "rejected", world.other)

    def test_original_reviewer_can_decide_again_if_no_review_was_requested(self, world):
        decide(world, "under_review", world.lender)
        decide(world, "approved", world.lender)
        assert world.application.status == "approved"


@pytest.mark.parametrize("tries", [int(os.environ.get("REVIEW_RACES", "10"))])
def test_another_reviewer_can_decide_a_reconsideration_and_only_one_of_concurrent_decisions_succeeds(
    committed, needs_postgresql, tries
):
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

    ends = run_concurrently(
        *(lambda by=by, to=to: attempt(by, to) for by in (world.lender, world.other) for to in ("approved", "rejected"))
    )
    assert ends.count(None) == 1
    last = ApplicationHistory.objects.filter(application=world.pk).latest("position")
    assert last.principal_id == world.other.user.pk
    assert ReviewRequest.objects.get(application=world.pk).outcome == last.status
    assert Application.objects.get(pk=world.pk).status == last.status
