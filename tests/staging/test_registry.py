"""What other apps use: registering kinds and staging in bulk."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from config.core.errors import ValidationFailed
from config.webhooks import events
from config.webhooks.models import Event
from staging import registry
from staging.models import StagedItem
from staging.registry import kinds, stage_items


def test_the_apps_have_declared_their_kinds():
    assert {"note", "claim"} <= set(kinds())
    assert list(kinds()) == sorted(kinds())


def test_items_of_several_kinds_are_staged_in_the_order_given(user, api):
    now = timezone.now()
    claim = {"publication_id": "10.1/x", "claim_type": "author"}
    items = [("note", {"text": "a", "extra": 1}), ("claim", claim), ("note", {"text": "b"})]
    ids = stage_items(user_id=user.pk, items=items, source="bankdata", now=now)
    rows = [StagedItem.objects.get(pk=one) for one in ids]
    assert [row.payload for row in rows] == [{"text": "a"}, claim, {"text": "b"}]
    assert {(row.user_id, row.source, row.staged_at, row.status) for row in rows} == {
        (user.pk, "bankdata", now, "staged")
    }
    assert api.read("/staging/items").json()["total"] == 3
    assert list(Event.objects.order_by("id").values_list("type", flat=True)) == ["staging.item.staged"] * 3


def test_one_payload_that_its_kind_refuses_keeps_all_out(user):
    items = [("note", {"text": "a"}), ("note", {"text": 5})]
    with pytest.raises(ValidationFailed):
        stage_items(user_id=user.pk, items=items, source=None, now=timezone.now())
    with pytest.raises(KeyError, match="bogus"):
        stage_items(user_id=user.pk, items=[("bogus", {})], source=None, now=timezone.now())
    assert not StagedItem.objects.exists()


def test_staging_nothing_is_allowed(user):
    assert stage_items(user_id=user.pk, items=[], source=None, now=timezone.now()) == []
    assert not Event.objects.exists()


def test_each_round_of_items_takes_the_same_statements(user, monkeypatch):
    monkeypatch.setattr(registry, "ITEMS_PER_STATEMENT", 50)
    monkeypatch.setattr(events, "EVENTS_PER_STATEMENT", 50)

    def statements(count):
        with CaptureQueriesContext(connection) as captured:
            stage_items(user_id=user.pk, items=[("note", {"text": "x"})] * count, source=None, now=timezone.now())
        return len(captured)

    one, two, four = statements(50), statements(100), statements(200)
    assert four - two == 2 * (two - one)
    if connection.vendor == "postgresql":
        assert two - one == 2
