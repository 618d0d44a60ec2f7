"""`POST /staging/items`."""

from hashlib import sha256

import pytest

from staging.models import StagedItem
from tests.api import assert_error
from tests.staging.conftest import events_of

NOTE = {"kind": "note", "payload": {"text": "Call the bank.", "title": "Tomorrow"}}


def test_an_item_waits_for_its_decision(api, user):
    response = api.send("/staging/items", {**NOTE, "source": "phone"})
    assert response.status_code == 201, response.content
    item = response.json()
    assert list(item) == [
        "id", "user_id", "kind", "status", "source", "payload", "payload_sha256", "staged_at", "decided_at",
    ]  # fmt: skip
    assert (item["user_id"], item["kind"], item["status"]) == (str(user.pk), "note", "staged")
    assert (item["source"], item["decided_at"]) == ("phone", None)
    assert item["payload"] == NOTE["payload"]
    canonical = b'{"text":"Call the bank.","title":"Tomorrow"}'
    assert item["payload_sha256"] == sha256(canonical).hexdigest()
    assert api.read(f"/staging/items/{item['id']}").json() == item
    assert events_of(user) == [("staging.item.staged", {"item_id": item["id"], "kind": "note", "status": "staged"})]


def test_unknown_payload_members_are_dropped(api):
    payload = {"text": "x", "colour": "red", "user_id": "1"}
    item = api.send("/staging/items", {"kind": "note", "payload": payload, "status": "approved"}).json()
    assert (item["payload"], item["status"], item["source"]) == ({"text": "x"}, "staged", None)
    assert item["payload_sha256"] == sha256(b'{"text":"x"}').hexdigest()


def test_the_text_is_kept_to_the_byte(api):
    text = "\u202eright to left, \u200b, \U0001f600, e\u0301 is not \u00e9; '; DROP TABLE <script>{{7*7}} =cmd|\n"
    item = api.send("/staging/items", {"kind": "note", "payload": {"text": text}}).json()
    assert api.read(f"/staging/items/{item['id']}").json()["payload"] == {"text": text}


@pytest.mark.parametrize(
    ("kind", "payload", "field"),
    [
        ("bogus", {"text": "x"}, "kind"), ("Note", {"text": "x"}, "kind"), ("note", None, "payload"),
        ("note", "x", "payload"), ("note", [{"text": "x"}], "payload"), ("note", {}, "payload.text"),
        ("note", {"text": ""}, "payload.text"), ("note", {"text": 5}, "payload.text"),
        ("note", {"text": "x" * 10_001}, "payload.text"), ("note", {"text": "x", "title": "y" * 256}, "payload.title"),
        ("claim", {"publication_id": "x"}, "payload.claim_type"),
        ("claim", {"publication_id": "x", "claim_type": "author", "verification_level": "source_verified"},
         "payload.verification_level"),
        ("claim", {"publication_id": "x", "claim_type": "author", "evidence": ["file:///etc"]}, "payload.evidence.0"),
    ],
)  # fmt: skip
def test_an_invalid_payload_is_rejected_with_its_member(api, kind, payload, field):
    error = assert_error(api.send("/staging/items", {"kind": kind, "payload": payload}), 400, "E1001")
    assert error["details"][0]["field"] == field
    assert not StagedItem.objects.exists()
