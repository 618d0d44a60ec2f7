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


def test_callbacks_of_a_status_change_are_called_in_order_before_and_after_the_write(monkeypatch, user, claim):
    calls, completed = [], object()

    def follower(name, columns):
        def before(record, transition):
            calls.append((name, transition.to, stored(record).status))
            return columns

        def after(record, row, transition):
            calls.append((name, row.status, stored(record).status, stored(record).notes, transition.completes))

        return Follower(before=before, after=after)

    monkeypatch.setattr(Claim, "followers", (follower("first", {}), follower("second", {"notes": "followed"})))
    move(claim, user, "pending", completes=completed)
    assert calls == [
        ("first", "pending", "draft"), ("second", "pending", "draft"),
        ("first", "pending", "pending", "followed", completed), ("second", "pending", "pending", "followed", completed),
    ]  # fmt: skip
    assert claim.notes == "followed"


@pytest.mark.parametrize("moment", ["before", "after"])
def test_failing_callback_of_a_status_change_leaves_status_and_history_unchanged(monkeypatch, user, claim, moment):
    def refuse(*_arguments):
        raise ValidationFailed("refused")

    monkeypatch.setattr(Claim, "followers", (Follower(**{moment: refuse}),))
    with pytest.raises(ValidationFailed):
        move(claim, user, "pending")
    assert (stored(claim).status, ClaimHistory.objects.count()) == ("draft", 0)


def test_app_configurations_register_the_status_change_callbacks_of_their_models():
    assert Application.followers is OF_APPLICATIONS
    assert ModelVersion.followers is OF_MODEL_VERSIONS
