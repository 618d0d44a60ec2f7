"""Compare the state machine with the transition table over random sequences of transitions."""

import hypothesis.strategies as st
import pytest
from django.conf import settings as project
from django.contrib.auth.models import Group
from django.db import IntegrityError
from django.db.transaction import TransactionManagementError
from django.utils import timezone
from hypothesis import HealthCheck
from hypothesis.extra.django import TestCase
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from config.core.lifecycle import Actor, Role
from config.webhooks.models import Event
from credit.applications.services import create_application
from credit.core.machine import DECIDED, FROZEN
from credit.models import Application, ApplicationHistory, ApplicationRevision
from tests.api import client_of
from tests.credit.support import STATUSES, TABLE, requestable
from tests.factories import ApplicationFactory, UserFactory
from tests.properties import examples

WHO = ("consumer", "reviewer", "colleague")


class ApplicationMachine(RuleBasedStateMachine):
    """A consumer and two reviewers move and change one application over HTTP; a simple model predicts the results."""

    @initialize(policy=st.sampled_from(["open", "reviewed", "four_eyes"]))
    def begin(self, policy):
        """Create the accounts, the policy, and a draft."""
        self.policy = project.REVIEW_POLICY = policy
        people = {who: UserFactory() for who in WHO}
        for who in WHO[1:]:
            people[who].groups.add(Group.objects.get(name="Reviewer"))
        self.consumer = people["consumer"]
        self.clients = {who: client_of(person) for who, person in people.items()}
        body = {"consumer_id": str(self.consumer.pk), "offer_id": 1, "provider_id": 2}
        self.id = self.clients["consumer"].send("/applications", body).json()["id"]
        self.status, self.entries, self.data, self.revisions, self.pending = "draft", [], None, 0, None

    def _may_move(self, who, to):
        """Return the expected status of a response, computed from the written table alone."""
        if who != "consumer" and not any(status == "submitted" for status, *_ in self.entries):
            return 404
        role = TABLE.get((self.status, to))
        if role is None or role is Role.SYSTEM:
            return 400
        if self.policy == "open" or role is Role.EITHER:
            return 200
        if (role is Role.OWNER) != (who == "consumer"):
            return 403
        return 400 if to in DECIDED and self.pending and self.pending[1] != to else 200

    def _is_decided(self, who, to, reason):
        """Return whether a successful request moves the application; under `four_eyes`, two reviewers decide."""
        if self.policy != "four_eyes" or to not in DECIDED:
            return True, reason
        if self.pending is None:
            self.pending = (who, to, reason)
        if self.pending[0] == who:
            return False, None
        return True, self.pending[2] if reason is None else reason

    @rule(who=st.sampled_from(WHO), to=st.sampled_from(STATUSES), reason=st.none() | st.just("r"))
    def move(self, who, to, reason):
        """Request any transition."""
        expected = self._may_move(who, to)
        metadata = {"reasons": ["income_insufficient"]} if to == "rejected" else None
        body = {"status": to, "updated_by": who, "reason": reason, "metadata": metadata}
        answer = self.clients[who].replace(f"/applications/{self.id}/status", body)
        assert answer.status_code == expected, (self.policy, self.status, to, who, answer.content)
        if expected == 200:
            decided, reason = self._is_decided(who, to, reason)
            assert ("pending_decision" in answer.json()) == (not decided)
            if decided:
                self.status, self.pending = to, None
                self.entries.append((to, who, reason))
                assert answer.json()["status_reason"] == reason
        elif expected == 400:
            pending = {self.pending[1]} if self.pending and to in DECIDED and to in requestable(self.status) else None
            assert set(answer.json()["details"]["allowed"]) == (pending or requestable(self.status))

    @rule(value=st.integers(0, 5))
    def change(self, value):
        """Request a change of the data."""
        body = {"updated_by": "consumer", "application_data": value}
        answer = self.clients["consumer"].replace(f"/applications/{self.id}", body)
        assert answer.status_code == (400 if self.status in FROZEN else 200)
        if answer.status_code == 200:
            if value != self.data:
                self.pending = None
                self.revisions += 1
            self.data = value

    @rule()
    def expire(self):
        """Check whether the expiry command could move the application."""
        application = Application.objects.get(pk=self.id)
        refusal = application.check_transition("expired", Actor.system("test"))
        assert (refusal is None) == ((self.status, "expired") in TABLE)

    @invariant()
    def what_is_stored_is_what_was_answered(self):
        """Compare all returned values with the model."""
        if not hasattr(self, "id"):
            return
        shown = self.clients["consumer"].read(f"/applications/{self.id}").json()
        assert (shown["status"], shown["application_data"]) == (self.status, self.data)
        decisions = [entry for entry in self.entries if entry[0] in DECIDED]
        assert (shown["reviewed_at"] is None) == (not decisions)
        assert shown["reviewed_by"] == (decisions[-1][1] if decisions else None)
        submitted = any(status == "submitted" for status, *_ in self.entries)
        assert (shown["submitted_at"] is None) == (not submitted)
        history = self.clients["consumer"].read(f"/applications/{self.id}/history").json()["history"]
        assert [(entry["status"], entry["changed_by"], entry["reason"]) for entry in history] == self.entries
        rows = ApplicationHistory.objects.filter(application_id=self.id).order_by("position")
        assert [row.position for row in rows] == list(range(1, len(self.entries) + 1))
        assert ApplicationRevision.objects.filter(application_id=self.id).count() == self.revisions
        events = Event.objects.filter(account=self.consumer).exclude(
            type__in=["application.created", "application.updated"]
        )
        assert events.count() == len(self.entries)


class TestMachine(TestCase):
    """Run the state machine, each sequence in its own transaction."""

    def test_random_status_transitions_follow_the_transition_table(self):
        limits, policy = project.RATE_LIMITS, project.REVIEW_POLICY
        project.RATE_LIMITS = dict.fromkeys(limits)
        try:
            run_state_machine_as_test(
                ApplicationMachine,
                settings=examples(25, stateful_step_count=15, suppress_health_check=list(HealthCheck)),
            )
        finally:
            project.RATE_LIMITS, project.REVIEW_POLICY = limits, policy


@pytest.mark.django_db
def test_application_status_is_written_only_by_the_state_machine(user):
    """Only creation and the state machine write the column; the database allows only the eight statuses."""
    application = create_application(
        consumer_id=user.pk, offer_id=1, provider_id=2, application_data=None, initial_status=None, now=timezone.now()
    )
    with pytest.raises(IntegrityError):
        Application.objects.filter(pk=application.pk).update(status="bogus")


@pytest.mark.django_db
def test_status_transition_requires_a_database_transaction(committed, user):
    application = ApplicationFactory(consumer=user)
    with pytest.raises(TransactionManagementError):
        application.transition_to("submitted", actor=Actor(user, "t"), changed_by="me", now=timezone.now())
    application.refresh_from_db()
    assert application.status == "draft"
