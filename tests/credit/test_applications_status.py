"""Test the state table, the review policies, and the effects of PUT /v1/applications/{id}/status."""

from itertools import product

import pytest
from django.db import transaction
from django.utils import timezone

from config.core.lifecycle import Actor, ReviewerRequired, Role
from config.webhooks.models import Event
from credit.core.errors import InvalidApplicationTransition
from credit.core.machine import MACHINE
from credit.models import Application, ApplicationHistory
from tests.api import ApiClient, assert_error, client_of
from tests.credit.support import BECAUSE, EVERY_MOVE, STATUSES, TABLE, move, requestable
from tests.factories import ApplicationFactory, OfferFactory
from tests.identity.support import issue

pytestmark = pytest.mark.django_db


def test_transition_table_in_the_code_equals_the_documented_table():
    assert MACHINE.statuses == STATUSES
    declared = {(start, to): role for start in MACHINE.statuses for to, role in MACHINE.moves_from(start).items()}
    assert declared == TABLE


class TestOpen:
    def test_open_policy_allows_exactly_the_transitions_of_the_status_table(self, user):
        application = ApplicationFactory(consumer=user)
        for start, to in EVERY_MOVE:
            application.status, role = start, TABLE.get((start, to))
            refusal = application.check_transition(to, Actor(user=user, credential="jwt:x"))
            if role is None or role is Role.SYSTEM:
                assert isinstance(refusal, InvalidApplicationTransition), (start, to)
                assert set(refusal.details["allowed"]) == requestable(start), (start, to)
                assert (refusal.details["from"], refusal.details["to"]) == (start, to)
            else:
                assert refusal is None, (start, to)

    def test_every_allowed_status_transition_is_stored_with_a_history_entry(self, user):
        for start, to in TABLE:
            application = ApplicationFactory(consumer=user, status=start)
            actor = Actor.system("test") if TABLE[start, to] is Role.SYSTEM else Actor(user=user, credential="jwt:x")
            with transaction.atomic():
                application.transition_to(to, actor=actor, now=timezone.now())
            row = ApplicationHistory.objects.get(application=application)
            stored = Application.objects.get(pk=application.pk)
            assert (stored.status, stored.moves) == (row.status, row.position) == (to, 1)
            assert (row.previous_status, Event.objects.order_by("-id")[0].type) == (start, f"application.{to}")

    def test_status_transition_is_rejected_if_the_status_changed_and_changed_back_after_loading(self, user):
        application, actor, now = (
            ApplicationFactory(status="under_review"), Actor(user=user, credential="x"), timezone.now(),
        )  # fmt: skip
        read_before = Application.objects.get(pk=application.pk)
        with transaction.atomic():
            application.transition_to("pending_documents", actor=actor, now=now)
            application.transition_to("under_review", actor=actor, now=now)
            with pytest.raises(InvalidApplicationTransition):
                read_before.transition_to("approved", actor=actor, now=now)
        application.refresh_from_db()
        assert (application.status, application.moves, application.history.count()) == ("under_review", 2, 2)

    def test_status_transition_missing_from_the_status_table_is_rejected(self, api, user):
        application = ApplicationFactory(consumer=user, status="draft")
        body = assert_error(move(api, application, "approved"), 400, "E3001")
        assert set(body["details"]["allowed"]) == requestable("draft")
        assert (body["details"]["from"], body["details"]["to"]) == ("draft", "approved")
        application.refresh_from_db()
        assert (application.status, application.moves) == ("draft", 0)
        assert ApplicationHistory.objects.count() == Event.objects.count() == 0


class TestReviewed:
    """Reviewers make reviewers' transitions, and the applicant makes the applicant's."""

    @pytest.fixture(autouse=True)
    def _policy(self, settings):
        settings.REVIEW_POLICY = "reviewed"

    def test_applicant_and_reviewers_can_make_only_transitions_of_their_role(self, user, reviewer, member):
        application = ApplicationFactory(consumer=user, data_changed_by=user)
        for account, ((start, to), role) in product((user, reviewer, member), TABLE.items()):
            application.status = start
            refusal = application.check_transition(to, Actor(user=account, credential="jwt:x"))
            if role is Role.SYSTEM:
                assert isinstance(refusal, InvalidApplicationTransition), (start, to)
            elif role is Role.EITHER or (role is Role.OWNER) == (account == user):
                assert refusal is None, (start, to)
            else:
                assert isinstance(refusal, ReviewerRequired), (start, to)

    def test_status_transition_of_another_role_is_rejected_and_changes_nothing(self, user, reviewer, member):
        application = ApplicationFactory(consumer=user, status="under_review", data_changed_by=user)
        for caller, to in ((user, "approved"), (reviewer, "withdrawn"), (member, "withdrawn")):
            assert_error(move(client_of(caller), application, to, metadata=BECAUSE), 403, "E2010")
        application.refresh_from_db()
        assert application.status == "under_review"
        for caller in (reviewer, member):
            draft = ApplicationFactory(consumer=user, status="draft")
            assert_error(move(client_of(caller), draft, "submitted"), 404, "E4002")

    def test_reviewed_policy_allows_reviewers_to_review_their_own_application(self, reviewer):
        application = ApplicationFactory(consumer=reviewer, status="submitted")
        assert move(client_of(reviewer), application, "under_review").status_code == 200


class TestFourEyes:
    """Also forbids reviews of own applications, and decisions by the last editor of the data."""

    @pytest.fixture(autouse=True)
    def _policy(self, settings):
        settings.REVIEW_POLICY = "four_eyes"

    def test_four_eyes_allows_a_reviewer_only_applicant_transitions_on_their_own_application(self, reviewer):
        application = ApplicationFactory(consumer=reviewer)
        for (start, to), role in TABLE.items():
            application.status = start
            refusal = application.check_transition(to, Actor(user=reviewer, credential="jwt:x"))
            wanted = {Role.SYSTEM: InvalidApplicationTransition, Role.REVIEWER: ReviewerRequired}.get(role)
            assert (refusal and type(refusal)) == wanted, (start, to)

    def test_four_eyes_forbids_decisions_by_the_last_editor_of_the_data(self, user, reviewer):
        application = ApplicationFactory(consumer=user, data_changed_by=reviewer)
        for (start, to), role in TABLE.items():
            application.status = start
            refusal = application.check_transition(to, Actor(user=reviewer, credential="jwt:x"))
            if role is Role.SYSTEM:
                assert isinstance(refusal, InvalidApplicationTransition), (start, to)
            elif role is Role.OWNER or to in {"approved", "rejected"}:
                assert isinstance(refusal, ReviewerRequired), (start, to)
            else:
                assert refusal is None, (start, to)


class TestFieldsOfATransition:
    @pytest.mark.parametrize("decision", ["approved", "rejected"])
    def test_decision_stores_reviewer_reason_and_time_and_a_reopening_clears_the_reason(self, api, user, decision):
        application = ApplicationFactory(consumer=user, status="under_review")
        shown = move(api, application, decision, updated_by="Dr. R", reason="because").json()
        assert (shown["reviewed_by"], shown["status_reason"]) == ("Dr. R", "because")
        assert shown["reviewed_at"] == shown["updated_at"]
        shown = move(api, application, "under_review").json()
        assert (shown["status_reason"], shown["reviewed_by"]) == (None, "Dr. R")

    def test_submission_stores_the_offer_terms_and_the_submission_time(self, api, user):
        offer = OfferFactory(version=3, apr_max_percent=9.5)
        application = ApplicationFactory(consumer=user, offer_id=offer.pk, provider_id=int(offer.provider_id))
        shown = move(api, application, "submitted").json()
        application.refresh_from_db()
        assert shown["submitted_at"] == shown["updated_at"]
        assert (application.offer_version, application.offer_snapshot["apr_max_percent"]) == (3, 9.5)
        terms = {"provider_id": offer.provider_id, "name": "B", "product_type": "x"}
        assert client_of(offer.owner).replace(f"/provider-offers/{offer.pk}", terms).json()["version"] == 4
        application.refresh_from_db()
        assert application.offer_version == 3
        for to in ("pending_documents", "under_review", "approved"):
            assert move(api, application, to).json()["submitted_at"] == shown["submitted_at"]

    def test_status_transition_is_stored_with_its_account_and_emits_an_event_to_the_applicant(
        self, user, stranger, reviewer
    ):
        issued = issue(user)
        application = ApplicationFactory(consumer=user)
        api = ApiClient(api_key=issued.key)
        response = move(api, application, "submitted", updated_by=str(stranger.pk), metadata={"k": [1]}, reason="r")
        assert response.status_code == 200
        row = ApplicationHistory.objects.get()
        assert (row.changed_by, row.principal) == (str(stranger.pk), user)
        assert row.credential == f"api_key:{issued.record.pk}"
        assert (row.metadata, row.reason, row.position) == ({"k": [1]}, "r", 1)
        assert (row.previous_status, row.status) == ("draft", "submitted")
        move(client_of(reviewer), application, "under_review", reason="private words")
        event = Event.objects.latest("id")
        assert (event.type, event.account) == ("application.under_review", user)
        assert event.object["status"] == "under_review"
        assert "private" not in str(event.object)
