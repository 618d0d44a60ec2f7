"""Items that nobody decided about for thirty days."""

import json
from datetime import timedelta
from io import StringIO

from django.core.management import call_command
from django.db import connection
from django.utils import timezone

from staging.models import Note, StagedItem
from staging.services import expire_staged
from tests.api import assert_error
from tests.factories import StagedItemFactory
from tests.staging.conftest import events_of, status_of

DAYS = timedelta(days=30)


def test_an_item_expires_after_thirty_days_and_not_before(user, api):
    now = timezone.now()
    due = StagedItemFactory(user=user, staged_at=now - DAYS)
    young = StagedItemFactory(user=user, staged_at=now - DAYS + timedelta(seconds=1))
    decided = StagedItemFactory(user=user, status="rejected", staged_at=now - 2 * DAYS)
    assert expire_staged(now=now) == {"staged_items_expired": 1}
    assert expire_staged(now=now) == {"staged_items_expired": 0}
    assert [status_of(item) for item in (due, young, decided)] == ["expired", "staged", "rejected"]
    row = StagedItem.objects.get(pk=due.pk)
    assert (row.decided_at, row.decided_by, row.credential) == (now, None, "command:prune")
    assert events_of(user) == [("staging.item.expired", {"item_id": str(due.pk), "kind": "note", "status": "expired"})]
    assert api.read(f"/staging/items/{due.pk}").json()["status"] == "expired"
    assert_error(api.send(f"/staging/approve/{due.pk}", {"user_id": str(user.pk)}), 404, "E4007")
    assert not Note.objects.exists()


def test_more_than_one_round_is_expired(user, stranger, django_assert_max_num_queries):
    now = timezone.now()
    StagedItem.objects.bulk_create(
        StagedItem.of(user_id=owner.pk, kind="note", payload={"text": "x"}, source=None, now=now - 2 * DAYS)
        for owner in (user, stranger) * 600
    )
    # Three rounds (the last finds nothing), marked while they are in hand; SQLite takes fewer rows in one INSERT.
    with django_assert_max_num_queries(17 if connection.vendor == "postgresql" else 30):
        assert expire_staged(now=now) == {"staged_items_expired": 1_200}
    assert (len(events_of(user)), len(events_of(stranger))) == (600, 600)


def test_prune_expires_items(user):
    due = StagedItemFactory(user=user, staged_at=timezone.now() - DAYS)
    out = StringIO()
    call_command("prune", as_json=True, stdout=out)
    assert json.loads(out.getvalue().splitlines()[-1])["staged_items_expired"] == 1
    assert status_of(due) == "expired"
