"""Test `POST /staging/approve-all` and `POST /staging/reject-all`."""

import pytest
from django.db import connection, connections
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from claims.models import Claim
from config.api.serializers import RequestSerializer, TextField
from config.core.lifecycle import Actor
from config.webhooks.models import Event
from staging import registry, services
from staging.models import Approval, Note, StagedItem
from staging.registry import Kind, stage_items
from staging.services import store_notes
from tests.api import assert_error
from tests.factories import StagedItemFactory
from tests.staging.conftest import events_of, status_of

WORD = {"approve": "approved", "reject": "rejected"}


def decide_all(client, decision, user_id, **options):
    return client.send(f"/staging/{decision}-all", {"user_id": str(user_id)}, **options)


def stage_notes(user, count):
    notes = (("note", {"text": f"note {number}"}) for number in range(count))
    return stage_items(user_id=user.pk, items=notes, source="test", now=timezone.now())


def test_approve_all_stores_the_staged_items_in_the_order_of_staging(api, user, stranger):
    decided = StagedItemFactory(user=user, status="rejected")
    foreign = StagedItemFactory(user=stranger)
    items = [StagedItemFactory(user=user, payload={"text": str(number)}) for number in range(3)]
    claim = StagedItemFactory(user=user, kind="claim", payload={"publication_id": "10.1/x", "claim_type": "author"})
    response = decide_all(api, "approve", user.pk)
    assert response.status_code == 200, response.content
    ids = [str(item.pk) for item in [*items, claim]]
    assert response.json() == {"approved": 4, "item_ids": ids}
    assert list(Note.objects.order_by("id").values_list("text", flat=True)) == ["0", "1", "2"]
    assert Claim.objects.get().publication_id == "10.1/x"
    assert [status_of(entry) for entry in (*items, claim)] == ["approved"] * 4
    assert (status_of(decided), status_of(foreign)) == ("rejected", "staged")
    for item in items:
        assert Note.objects.get(pk=Approval.objects.get(item=item).stored_id).text == item.payload["text"]
    assert Approval.objects.get(item=claim).stored_id == str(Claim.objects.get().pk)
    events = events_of(user)
    assert [kind for kind, _ in events] == ["claim.created"] + ["staging.item.approved"] * 4
    assert [members["item_id"] for _, members in events[1:]] == ids


def test_reject_all_does_not_store_payloads(api, user):
    items = [StagedItemFactory(user=user) for _ in range(3)]
    response = decide_all(api, "reject", user.pk)
    assert response.json() == {"rejected": 3, "item_ids": [str(item.pk) for item in items]}
    assert [status_of(item) for item in items] == ["rejected"] * 3
    assert not Note.objects.exists()
    assert [kind for kind, _ in events_of(user)] == ["staging.item.rejected"] * 3
    for decision in ("reject", "approve"):
        assert decide_all(api, decision, user.pk, key=True).json() == {f"{WORD[decision]}": 0, "item_ids": []}


@pytest.mark.parametrize("decision", ["approve", "reject"])
def test_approve_all_executes_a_fixed_number_of_sql_statements_per_round(user, monkeypatch, decision):
    monkeypatch.setattr(services, "ITEMS_PER_STATEMENT", 10)
    decide = {"approve": services.approve_all, "reject": services.reject_all}[decision]

    def statements(count):
        stage_notes(user, count)
        with CaptureQueriesContext(connection) as captured:
            decided = decide(actor=Actor(user=user, credential="test"), now=timezone.now())
        assert len(decided) == count
        return len(captured)

    first, two, three = statements(10), statements(20), statements(30)
    each = two - first
    assert three - two == each
    assert first == each + 1  # The statement reads the items to decide.
    if connection.vendor == "postgresql":
        # The statements lock, update statuses, and insert events. An approval also inserts notes and approvals.
        assert each == {"approve": 5, "reject": 3}[decision]
    total = 60
    stored = total if decision == "approve" else 0
    assert (Note.objects.count(), Approval.objects.count()) == (stored, stored)
    assert StagedItem.objects.filter(status=WORD[decision]).count() == total
    assert Event.objects.filter(type=f"staging.item.{WORD[decision]}").count() == total


class FragilePayload(RequestSerializer):
    """A payload whose store function can fail."""

    text = TextField()


@pytest.fixture
def fragile(monkeypatch):
    """Replace `note` by a kind whose second round of storing calls the function in the returned list."""
    misfortunes, rounds = [], []

    def store(payloads, *, actor, now):
        rounds.append(len(payloads))
        if len(rounds) == 2 and misfortunes:
            misfortunes[0]()
        return store_notes(payloads, actor=actor, now=now)

    monkeypatch.setitem(registry.kinds(), "note", Kind("note", FragilePayload, store))
    return misfortunes


def assert_untouched(user, count):
    assert StagedItem.objects.filter(user=user, status="staged", decided_at=None).count() == count
    assert not Note.objects.exists()
    assert not Approval.objects.exists()
    assert not Event.objects.filter(type="staging.item.approved").exists()


def test_approve_all_request_that_fails_midway_leaves_every_item_staged(
    committed, api, user, fragile, key, monkeypatch
):
    monkeypatch.setattr(services, "ITEMS_PER_STATEMENT", 10)
    stage_notes(user, 11)
    fragile.append(lambda: 1 / 0)
    assert_error(decide_all(api, "approve", user.pk, key=key), 500, "E5000")
    assert_untouched(user, 11)
    fragile.clear()
    assert decide_all(api, "approve", user.pk, key=key).json()["approved"] == 11
    assert Note.objects.count() == 11


def test_connection_killed_during_approve_all_leaves_every_item_staged(
    committed, needs_postgresql, api, user, fragile, key, monkeypatch
):
    def kill_own_connection():
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())")

    monkeypatch.setattr(services, "ITEMS_PER_STATEMENT", 10)
    stage_notes(user, 11)
    fragile.append(kill_own_connection)
    assert_error(decide_all(api, "approve", user.pk, key=key), 503, "E5030")
    connections.close_all()
    assert_untouched(user, 11)
    fragile.clear()
    assert decide_all(api, "approve", user.pk, key=key).json()["approved"] == 11
    assert Note.objects.count() == 11


def test_approve_all_fails_if_the_store_function_returns_too_few_ids(committed, api, user, monkeypatch):
    returning_one_id = Kind("note", FragilePayload, lambda _payloads, **_options: ["only one"])
    monkeypatch.setitem(registry.kinds(), "note", returning_one_id)
    stage_notes(user, 2)
    assert_error(decide_all(api, "approve", user.pk), 500, "E5000")
    assert_untouched(user, 2)
