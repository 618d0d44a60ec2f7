"""Test that items can be staged over HTTP and by other apps, listed, and viewed in the back office."""

from hashlib import sha256

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from config.core.errors import ValidationFailed
from config.core.lifecycle import Actor
from config.webhooks import events
from config.webhooks.models import Event
from staging import registry
from staging.models import StagedItem
from staging.registry import kinds, stage_items
from staging.services import approve_item
from tests.api import assert_error
from tests.backoffice.conftest import backoffice_client, staff_of
from tests.backoffice.pages import links_of, text_of
from tests.factories import StagedItemFactory, UserFactory
from tests.staging.conftest import events_of

STATUSES = ["staged", "approved", "rejected", "expired"]


def ids(response):
    assert response.status_code == 200, response.content
    return [item["id"] for item in response.json()["items"]]


def test_staged_item_list_contains_undecided_items_by_default_or_items_that_match_the_filter(api, user, stranger):
    StagedItemFactory(user=stranger)
    items = {status: StagedItemFactory(user=user, status=status) for status in STATUSES}
    body = api.read("/staging/items").json()
    assert (body["total"], body["has_more"]) == (1, False)
    assert body["items"] == [api.read(f"/staging/items/{items['staged'].pk}").json()]
    for status in STATUSES:
        assert ids(api.read(f"/staging/items?status={status}")) == [str(items[status].pk)]
        item = api.read(f"/staging/items/{items[status].pk}").json()
        assert (item["status"], item["decided_at"] is None) == (status, status == "staged")
    claim = StagedItemFactory(user=user, kind="claim", payload={"publication_id": "x", "claim_type": "author"})
    assert ids(api.read("/staging/items?kind=note")) == [str(items["staged"].pk)]
    assert ids(api.read("/staging/items?kind=claim&status=staged")) == [str(claim.pk)]
    assert ids(api.read("/staging/items?kind=claim&status=approved")) == []
    assert_error(api.read("/staging/items?kind=bogus"), 400, "E1001")


def test_staged_items_are_paged_newest_first(api, user):
    staged = [str(StagedItemFactory(user=user).pk) for _ in range(23)][::-1]
    first, second = api.read("/staging/items").json(), api.read("/staging/items?offset=20").json()
    assert [item["id"] for item in first["items"] + second["items"]] == staged
    assert (first["total"], first["has_more"], second["total"], second["has_more"]) == (23, True, 23, False)
    assert ids(api.read("/staging/items?limit=2&offset=21")) == staged[21:]
    assert ids(api.read("/staging/items?offset=9223372036854775807")) == []


NOTE = {"text": "Call the bank.", "title": "Tomorrow"}


def test_new_staged_item_is_undecided_and_has_only_known_payload_fields(api, user):
    unknown = {"colour": "red", "user_id": "1"}
    request = {"kind": "note", "payload": {**NOTE, **unknown}, "source": "phone", "status": "approved"}
    response = api.send("/staging/items", request)
    assert response.status_code == 201, response.content
    item = response.json()
    canonical = b'{"text":"Call the bank.","title":"Tomorrow"}'
    assert item == {
        "id": item["id"], "user_id": str(user.pk), "kind": "note", "status": "staged", "source": "phone",
        "payload": NOTE, "payload_sha256": sha256(canonical).hexdigest(), "staged_at": item["staged_at"],
        "decided_at": None,
    }  # fmt: skip
    assert api.read(f"/staging/items/{item['id']}").json() == item
    assert events_of(user) == [("staging.item.staged", {"item_id": item["id"], "kind": "note", "status": "staged"})]
    text = "\u202eright to left, \u200b, \U0001f600, e\u0301 is not \u00e9; '; DROP TABLE <script>{{7*7}} =cmd|\n"
    item = api.send("/staging/items", {"kind": "note", "payload": {"text": text}}).json()
    assert (item["source"], item["payload"]) == (None, {"text": text})
    assert api.read(f"/staging/items/{item['id']}").json()["payload"] == {"text": text}


def test_invalid_staged_payload_is_rejected_with_the_field(api):
    claim = {"publication_id": "x", "claim_type": "author"}
    for kind, payload, field in (
        ("bogus", {"text": "x"}, "kind"), ("Note", {"text": "x"}, "kind"), ("note", None, "payload"),
        ("note", "x", "payload"), ("note", [{"text": "x"}], "payload"), ("note", {}, "payload.text"),
        ("note", {"text": ""}, "payload.text"), ("note", {"text": 5}, "payload.text"),
        ("note", {"text": "x" * 10_001}, "payload.text"), ("note", {"text": "x", "title": "y" * 256}, "payload.title"),
        ("claim", {"publication_id": "x"}, "payload.claim_type"),
        ("claim", {**claim, "verification_level": "source_verified"}, "payload.verification_level"),
        ("claim", {**claim, "evidence": ["file:///etc"]}, "payload.evidence.0"),
    ):  # fmt: skip
        error = assert_error(api.send("/staging/items", {"kind": kind, "payload": payload}), 400, "E1001")
        assert error["details"][0]["field"] == field, (kind, payload)
    assert not StagedItem.objects.exists()


LIST = "/admin/staging/stageditem/"


@pytest.fixture
def backoffice(db):
    return backoffice_client(staff_of("Reviewer", username="rita"))


@pytest.fixture
def item(db):
    return StagedItemFactory(user=UserFactory(username="jane"), source="bankdata")


def linked(response):
    return {link.partition("?")[0] for link in links_of(response)}


def test_back_office_finds_staged_items_by_id_account_kind_and_status(backoffice, item):
    other = StagedItemFactory(kind="claim", status="rejected")
    for query in ({"q": str(item.pk)}, {"q": "jan"}, {"q": str(item.user_id)}, {"kind": "note"}, {"status": "staged"}):
        response = backoffice.get(LIST, query)
        assert f"{LIST}{item.pk}/change/" in linked(response), query
        assert f"{LIST}{other.pk}/change/" not in linked(response), query


def test_back_office_staged_item_page_shows_payload_hash_and_stored_id(backoffice, item):
    actor = Actor(user=item.user, credential="jwt:x")
    stored_id = approve_item(str(item.pk), actor=actor, now=timezone.now()).stored_id
    text = text_of(backoffice.get(f"{LIST}{item.pk}/change/"))
    assert "Call the bank." in text
    assert item.payload_sha256 in text
    assert stored_id in text
    note = backoffice.get(f"/admin/staging/note/{stored_id}/change/")
    assert "Call the bank." in text_of(note)
    assert f"/admin/staging/note/{stored_id}/change/" in linked(backoffice.get("/admin/staging/note/", {"q": "jane"}))


def test_staging_kinds_of_all_apps_are_registered():
    assert {"note", "claim"} <= set(kinds())
    assert list(kinds()) == sorted(kinds())


def test_items_of_several_kinds_are_staged_in_request_order(user, api):
    now = timezone.now()
    claim = {"publication_id": "10.1/x", "claim_type": "author"}
    items = [("note", {"text": "a", "extra": 1}), ("claim", claim), ("note", {"text": "b"})]
    assert stage_items(user_id=user.pk, items=[], source=None, now=now) == []
    ids = stage_items(user_id=user.pk, items=items, source="bankdata", now=now)
    rows = [StagedItem.objects.get(pk=entry) for entry in ids]
    assert [row.payload for row in rows] == [{"text": "a"}, claim, {"text": "b"}]
    shared = {(row.user_id, row.source, row.staged_at, row.status) for row in rows}
    assert shared == {(user.pk, "bankdata", now, "staged")}
    assert api.read("/staging/items").json()["total"] == 3
    assert list(Event.objects.order_by("id").values_list("type", flat=True)) == ["staging.item.staged"] * 3


def test_request_with_an_invalid_payload_stages_no_items(user):
    items = [("note", {"text": "a"}), ("note", {"text": 5})]
    with pytest.raises(ValidationFailed):
        stage_items(user_id=user.pk, items=items, source=None, now=timezone.now())
    with pytest.raises(KeyError, match="bogus"):
        stage_items(user_id=user.pk, items=[("bogus", {})], source=None, now=timezone.now())
    assert not StagedItem.objects.exists()


def test_staging_items_executes_a_fixed_number_of_sql_statements_per_round(user, monkeypatch):
    monkeypatch.setattr(registry, "ITEMS_PER_STATEMENT", 10)
    monkeypatch.setattr(events, "EVENTS_PER_STATEMENT", 10)

    def statements(count):
        with CaptureQueriesContext(connection) as captured:
            stage_items(user_id=user.pk, items=[("note", {"text": "x"})] * count, source=None, now=timezone.now())
        return len(captured)

    first, two, four = statements(10), statements(20), statements(40)
    assert four - two == 2 * (two - first)
    if connection.vendor == "postgresql":
        assert two - first == 2
