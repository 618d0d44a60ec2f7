"""`POST /staging/items`."""

from hashlib import sha256

import pytest
from django.utils import timezone

from identity.access.keys import create_api_key
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


def test_what_the_kind_does_not_know_is_not_kept(api):
    payload = {"text": "x", "colour": "red", "user_id": "1"}
    item = api.send("/staging/items", {"kind": "note", "payload": payload, "status": "approved"}).json()
    assert (item["payload"], item["status"], item["source"]) == ({"text": "x"}, "staged", None)
    assert item["payload_sha256"] == sha256(b'{"text":"x"}').hexdigest()


def test_the_text_is_kept_to_the_byte(api):
    text = "\u202eright to left, \u200b, \U0001f600, e\u0301 is not \u00e9; '; DROP TABLE <script>{{7*7}} =cmd|\n"
    item = api.send("/staging/items", {"kind": "note", "payload": {"text": text}}).json()
    assert api.read(f"/staging/items/{item['id']}").json()["payload"] == {"text": text}


def test_a_claim_can_be_staged(api):
    payload = {"publication_id": "10.1000/182", "claim_type": "author", "evidence": ["https://example.org"]}
    item = api.send("/staging/items", {"kind": "claim", "payload": payload})
    assert item.status_code == 201, item.content
    assert item.json()["payload"] == payload


def test_it_needs_a_credential_that_may_do_everything(anonymous, user):
    assert_error(anonymous.send("/staging/items", NOTE), 401, "E2001")
    issued = create_api_key(owner=user, name="narrow", scopes=["identity:write"], now=timezone.now())
    assert_error(anonymous.send("/staging/items", NOTE, X_API_Key=issued.key), 403, "E2005")
    issued = create_api_key(owner=user, name="wide", scopes=None, now=timezone.now())
    assert anonymous.send("/staging/items", NOTE, X_API_Key=issued.key).status_code == 201


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"payload": {"text": "x"}}, "kind"),
        ({"kind": "bogus", "payload": {"text": "x"}}, "kind"),
        ({"kind": "Note", "payload": {"text": "x"}}, "kind"),
        ({"kind": None, "payload": {"text": "x"}}, "kind"),
        ({"kind": ["note"], "payload": {"text": "x"}}, "kind"),
        ({"kind": "note"}, "payload"),
        ({"kind": "note", "payload": None}, "payload"),
        ({"kind": "note", "payload": "x"}, "payload"),
        ({"kind": "note", "payload": [{"text": "x"}]}, "payload"),
        ({"kind": "note", "payload": {}}, "payload.text"),
        ({"kind": "note", "payload": {"text": ""}}, "payload.text"),
        ({"kind": "note", "payload": {"text": 5}}, "payload.text"),
        ({"kind": "note", "payload": {"text": "x" * 10_001}}, "payload.text"),
        ({"kind": "note", "payload": {"text": "x", "title": "y" * 256}}, "payload.title"),
        ({"kind": "claim", "payload": {"publication_id": "x"}}, "payload.claim_type"),
        (
            {
                "kind": "claim",
                "payload": {"publication_id": "x", "claim_type": "author", "verification_level": "source_verified"},
            },
            "payload.verification_level",
        ),
        (
            {"kind": "claim", "payload": {"publication_id": "x", "claim_type": "author", "evidence": ["file:///etc"]}},
            "payload.evidence.0",
        ),
        ({**NOTE, "source": ""}, "source"),
        ({**NOTE, "source": 5}, "source"),
        ({**NOTE, "source": "x" * 256}, "source"),
    ],
)
def test_a_body_of_the_wrong_shape_is_refused_and_the_member_is_named(api, body, field):
    error = assert_error(api.send("/staging/items", body), 400, "E1001")
    assert error["details"][0]["field"] == field
    assert not StagedItem.objects.exists()


def test_only_json_is_read(api):
    assert_error(api.send("/staging/items", NOTE, content_type="text/plain"), 415, "E1013")
    assert_error(api.send("/staging/items", raw=b'{"kind":"note","payload":{"text":"\\u0000"}}'), 400, "E1002")


def test_a_retry_with_its_key_is_replayed(api, key):
    first = api.send("/staging/items", NOTE, key=key)
    again = api.send("/staging/items", NOTE, key=key)
    assert (again.status_code, again.content, again.headers["Idempotent-Replayed"]) == (201, first.content, "true")
    assert StagedItem.objects.count() == 1
    assert_error(api.send("/staging/items", {**NOTE, "source": "x"}, key=key), 422, "E1010")
    assert_error(api.send("/staging/items", NOTE, key="x"), 400, "E1008")


def test_it_takes_two_statements(api, no_rate_limits, django_assert_num_queries):
    api.send("/staging/items", NOTE)
    with django_assert_num_queries(2 + 2):  # the transaction; item, event
        api.send("/staging/items", NOTE)
