"""Test decisions about a staged item, and the expiry of undecided items after 30 days."""

from datetime import timedelta

import pytest
from django.db import DatabaseError, connection, transaction
from django.utils import timezone

from staging.models import Approval, Note, StagedItem
from staging.services import expire_staged
from tests.api import assert_error
from tests.factories import StagedItemFactory
from tests.staging.conftest import events_of, status_of

BOTH = pytest.mark.parametrize("decision", ["approve", "reject"])


@pytest.fixture
def item(user):
    return StagedItemFactory(user=user, payload={"text": "Call the bank.", "title": "Tomorrow"})


def decide(client, decision, item, user_id, **options):
    return client.send(f"/staging/{decision}/{item.pk}", {"user_id": str(user_id)}, **options)


def test_approving_a_staged_item_stores_its_payload_and_sets_the_status(api, user, item):
    response = decide(api, "approve", item, user.pk)
    assert response.status_code == 200, response.content
    body = response.json()
    note = Note.objects.get()
    assert (note.user, note.text, note.title) == (user, "Call the bank.", "Tomorrow")
    stored_id = body.pop("stored_id")
    assert stored_id == str(note.pk) == Approval.objects.get(item=item).stored_id
    assert (body["status"], body["decided_at"] is not None) == ("approved", True)
    assert api.read(f"/staging/items/{item.pk}").json() == body
    row = StagedItem.objects.get(pk=item.pk)
    assert (row.decided_by, row.credential[:4]) == (user, "jwt:")
    members = {"item_id": str(item.pk), "kind": "note", "status": "approved", "stored_id": stored_id}
    assert events_of(user) == [("staging.item.approved", members)]


def test_rejecting_a_staged_item_does_not_store_its_payload(api, user, item):
    response = decide(api, "reject", item, user.pk)
    assert response.status_code == 200, response.content
    assert response.json()["status"] == "rejected"
    assert response.json() == api.read(f"/staging/items/{item.pk}").json()
    assert not Note.objects.exists()
    assert not Approval.objects.exists()
    members = {"item_id": str(item.pk), "kind": "note", "status": "rejected"}
    assert events_of(user) == [("staging.item.rejected", members)]


@BOTH
def test_decided_staged_item_cannot_be_decided_again(api, user, item, decision):
    assert decide(api, "approve", item, user.pk, key=True).status_code == 200
    assert_error(decide(api, decision, item, user.pk, key=True), 404, "E4007")
    assert (Note.objects.count(), Approval.objects.count()) == (1, 1)
    for status in ("rejected", "expired"):
        item = StagedItemFactory(user=user, status=status)
        assert_error(decide(api, decision, item, user.pk, key=True), 404, "E4007")
        assert status_of(item) == status


@BOTH
def test_staged_item_decision_validates_the_body_first_then_the_user_then_the_item(api, user, stranger, decision):
    missing = f"/staging/{decision}/0193b6c4-7c00-7000-8000-000000000000"
    assert_error(api.send(missing, {"user_id": user.pk}), 400, "E1001")
    assert_error(api.send(missing, {"user_id": str(stranger.pk)}), 401, "E2004")
    assert_error(api.send(missing, {"user_id": str(user.pk)}), 404, "E4007")


def test_database_rejects_a_second_approval_of_a_staged_item(api, user, item):
    decide(api, "approve", item, user.pk)
    with pytest.raises(DatabaseError), transaction.atomic():
        Approval.objects.bulk_create([Approval(item=item, stored_id="again")])
    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("DELETE FROM staging_approval")
    with pytest.raises(DatabaseError), transaction.atomic():
        StagedItem.objects.filter(pk=item.pk).update(status="staged")


DAYS = timedelta(days=30)


def test_undecided_staged_item_expires_after_30_days(user, api):
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


def test_expiry_of_1200_staged_items_executes_a_limited_number_of_sql_statements(
    user, stranger, django_assert_max_num_queries
):
    now = timezone.now()
    StagedItem.objects.bulk_create(
        StagedItem.of(user_id=owner.pk, kind="note", payload={"text": "x"}, source=None, now=now - 2 * DAYS)
        for owner in (user, stranger) * 600
    )
    # Three rounds mark the items in progress, and the last round finds nothing. SQLite inserts fewer rows per INSERT.
    with django_assert_max_num_queries(17 if connection.vendor == "postgresql" else 30):
        assert expire_staged(now=now) == {"staged_items_expired": 1_200}
    assert (len(events_of(user)), len(events_of(stranger))) == (600, 600)
