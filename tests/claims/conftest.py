"""What the tests of claims share."""

import pytest
from django.contrib.auth.models import Permission

from claims.models import Claim
from config.webhooks.models import Event
from tests.api import client_of
from tests.factories import UserFactory

MISSING = "0193b6c4-7c00-7000-8000-000000000000"
# Spellings of an id that are not its canonical one, and texts that are no id at all.
ODD_IDS = ["not-a-uuid", "%00", "..%2f", "x" * 4096, "{%s}", "urn:uuid:%s", "UPPER", "HEX"]


def odd(spelling, record):
    """Return an odd spelling of a record's id."""
    named = {"UPPER": str(record.pk).upper(), "HEX": record.pk.hex}
    return named.get(spelling) or spelling.replace("%s", str(record.pk))


@pytest.fixture
def reviewer(db):
    """Somebody who may review claims."""
    account = UserFactory()
    account.user_permissions.add(Permission.objects.get(codename="review_claim"))
    return account


@pytest.fixture
def reviewer_api(reviewer):
    """A client that calls as the reviewer."""
    return client_of(reviewer)


def events_of(user):
    """Return the types of an account's events in order, and the last one's object."""
    rows = list(Event.objects.filter(account=user).order_by("id").values_list("type", "object"))
    return [kind for kind, _ in rows], rows[-1][1] if rows else None


def stored(claim):
    """Return the claim as the database has it, tombstone or not."""
    return Claim.with_tombstones.get(pk=claim.pk if hasattr(claim, "pk") else claim)
