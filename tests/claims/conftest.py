"""Define fixtures and helpers for the tests of claims."""

import pytest
from django.contrib.auth.models import Permission

from claims.models import Claim
from config.webhooks.models import Event
from tests.api import client_of
from tests.factories import UserFactory


@pytest.fixture
def reviewer(db):
    """Return an account with permission to review claims."""
    account = UserFactory()
    account.user_permissions.add(Permission.objects.get(codename="review_claim"))
    return account


@pytest.fixture
def reviewer_api(reviewer):
    """Return an API client of the reviewer."""
    return client_of(reviewer)


def events_of(user):
    """Return the types of an account's events in order, and the object of the last event."""
    rows = list(Event.objects.filter(account=user).order_by("id").values_list("type", "object"))
    return [kind for kind, _ in rows], rows[-1][1] if rows else None


def stored(claim):
    """Return the claim as stored in the database, even if it is deleted."""
    return Claim.with_tombstones.get(pk=claim.pk if hasattr(claim, "pk") else claim)
