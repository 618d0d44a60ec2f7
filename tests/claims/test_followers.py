"""Test that the followers of a transition run in order in its transaction."""

import pytest
from django.db import transaction
from django.utils import timezone

from claims.models import Claim, ClaimHistory
from config.core.errors import ValidationFailed
from config.core.lifecycle import Actor, Follower
from credit.following import OF_APPLICATIONS, OF_MODEL_VERSIONS
from credit.models import Application, ModelVersion
from tests.claims.conftest import stored
from tests.factories import ClaimFactory


@pytest.fixture
def claim(user):
    return ClaimFactory(user=user)


def move(claim, user, to, **options):
    actor = Actor(user=user, credential="test")
    with transaction.atomic():
        return claim.transition_to(to, actor=actor, changed_by="x", now=timezone.now(), **options)


def test_status_followers_run_in_order_before_and_after_the_write(monkeypatch, user, claim):
    calls = []

    def follower(name):
        return Follower(
            before=lambda record, transition: calls.append((name, transition.to, stored(record).status)) or {},
            after=lambda record, row, _transition: calls.append((name, row.status, stored(record).status)),
        )

    monkeypatch.setattr(Claim, "followers", (follower("first"), follower("second")))
    move(claim, user, "pending")
    assert calls == [
        ("first", "pending", "draft"), ("second", "pending", "draft"),
        ("first", "pending", "pending"), ("second", "pending", "pending"),
    ]  # fmt: skip


def test_columns_returned_by_a_status_follower_are_written_with_the_status(monkeypatch, user, claim):
    monkeypatch.setattr(Claim, "followers", (Follower(before=lambda _record, _transition: {"notes": "followed"}),))
    move(claim, user, "pending")
    assert (stored(claim).status, stored(claim).notes, claim.notes) == ("pending", "followed", "followed")


def test_status_followers_receive_the_completed_record(monkeypatch, user, claim):
    received, completed = [], object()
    note = Follower(after=lambda _record, _row, transition: received.append(transition.completes))
    monkeypatch.setattr(Claim, "followers", (note,))
    move(claim, user, "pending")
    move(claim, user, "approved", completes=completed)
    assert received == [None, completed]


@pytest.mark.parametrize("moment", ["before", "after"])
def test_failing_status_follower_leaves_status_and_history_unchanged(monkeypatch, user, claim, moment):
    def refuse(*_arguments):
        raise ValidationFailed("refused")

    monkeypatch.setattr(Claim, "followers", (Follower(**{moment: refuse}),))
    with pytest.raises(ValidationFailed):
        move(claim, user, "pending")
    assert (stored(claim).status, ClaimHistory.objects.count()) == ("draft", 0)


def test_app_configurations_set_the_status_followers_of_their_models():
    assert Application.followers is OF_APPLICATIONS
    assert ModelVersion.followers is OF_MODEL_VERSIONS
