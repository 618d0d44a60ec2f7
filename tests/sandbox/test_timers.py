"""Test that exactly the declared columns move with an account's clock."""

from datetime import timedelta

import pytest
from django.utils import timezone

from config.sandbox import clock
from credit.models import Application
from tests.factories import ApplicationFactory


@pytest.mark.django_db
def test_declared_sandbox_timers_have_existing_columns_and_an_account_filter(user):
    for timer in clock.timers():
        assert {field.name for field in timer.model._meta.local_fields} >= set(timer.columns), timer.model
        assert not timer.model._default_manager.filter(timer.of(user.pk), pk=None).exists()


@pytest.mark.django_db
def test_sandbox_clock_advance_shifts_stored_times_and_preserves_null_columns(user, stranger):
    moved, other = ApplicationFactory(consumer=user), ApplicationFactory(consumer=stranger)
    by = timedelta(days=1, microseconds=7)
    clock.move(user.pk, by)
    assert moved.updated_at - Application.objects.get(pk=moved.pk).updated_at == by
    assert Application.objects.get(pk=other.pk).updated_at == other.updated_at
    assert Application.objects.get(pk=moved.pk).submitted_at is None
    user.refresh_from_db()
    assert timezone.now() - user.date_joined >= by
