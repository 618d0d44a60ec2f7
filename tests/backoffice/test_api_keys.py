"""Test that the back office identifies API keys by fingerprint, rotates and revokes them, and shows a new key once."""

import re
from datetime import timedelta
from functools import partial

import pytest
from django.urls import reverse
from django.utils import timezone

from config.webhooks.models import Event
from identity.access import keys
from identity.access.models import AccountHistory
from identity.models import ApiKey, User
from tests.api import ApiClient, assert_error, bearer_of
from tests.backoffice.pages import confirm, links_of, messages_of, seen_value, send_form, text_of
from tests.factories import UserFactory
from tests.races import run_concurrently

LIST = "/admin/identity/apikey/"


@pytest.fixture
def issued(db):
    return keys.create_api_key(owner=UserFactory(username="jane"), name="shop", scopes=None, now=timezone.now())


def page_of(key):
    return reverse("admin:identity_apikey_change", args=[key.pk])


def button_of(key, name):
    return reverse("admin:identity_apikey_do", args=[key.pk, name])


def test_api_key_pages_show_a_fingerprint_but_not_the_key_or_secret(operations_client, issued):
    for address in (LIST, page_of(issued.record)):
        body = operations_client.get(address).content.decode()
        assert issued.record.fingerprint in body
        for secret in (issued.key, issued.secret, issued.record.digest):
            assert secret not in body


def test_revoking_an_api_key_invalidates_the_key_and_notifies_the_owner(operations_client, issued):
    assert ApiClient(api_key=issued.key).read("/auth/me").status_code == 200
    text = text_of(confirm(operations_client, button_of(issued.record, "revoke")))
    assert "is revoked" in text
    issued.record.refresh_from_db()
    assert issued.record.revoked_at is not None
    assert ApiClient(api_key=issued.key).read("/auth/me").status_code == 401
    assert Event.objects.filter(type="api_key.revoked").count() == 1
    assert "The key is already revoked." in text_of(operations_client.get(page_of(issued.record)))


@pytest.mark.parametrize(("name", "fields", "action"), [
    ("revoke", {}, "api_key.revoked"), ("rotate", {"grace_days": "2"}, "api_key.rotated"),
])  # fmt: skip
def test_account_history_contains_changes_to_the_accounts_api_keys_by_operations(
    operations_client, supports_client, issued, name, fields, action
):
    confirm(operations_client, button_of(issued.record, name), **fields)
    entry = AccountHistory.objects.get(account=issued.record.owner)
    changed = ApiKey.objects.filter(replaces=issued.record).first() or issued.record
    assert (entry.action, entry.principal.username, entry.object_id) == (action, "omar", changed.pk)
    page = supports_client.get(reverse("admin:identity_user_change", args=[issued.record.owner_id]))
    assert f"API key {action.partition('.')[2]}" in text_of(page)


@pytest.fixture
def omar(operations_client):
    """Return the account of `operations_client`."""
    return User.objects.get(username="omar")


@pytest.fixture
def own(omar):
    """Return an API key of that account."""
    return keys.create_api_key(owner=omar, name="mine", scopes=None, now=timezone.now())


def test_rotating_your_own_api_key_shows_the_new_key_once_and_starts_the_grace_period(operations_client, own):
    issued = own
    response = confirm(operations_client, button_of(issued.record, "rotate"), grace_days="2")
    fresh = ApiKey.objects.get(replaces=issued.record)
    key = re.search(rf"ck_test_{fresh.pk}_[0-9A-Za-z]{{38}}", response.content.decode())[0]
    assert ApiClient(api_key=key).read("/auth/me").status_code == 200
    assert "no-store" in response.headers["Cache-Control"]
    assert key not in operations_client.get(page_of(fresh)).content.decode()
    issued.record.refresh_from_db()
    assert timedelta(days=1, hours=23) < issued.record.expires_at - timezone.now() < timedelta(days=2, minutes=1)
    entry = AccountHistory.objects.get(account=own.record.owner)
    assert (entry.action, entry.details) == ("api_key.rotated", {"replaces": own.record.pk})


def collect(key_id, **credential):
    return ApiClient(**credential).send(f"/auth/keys/{key_id}/collect")


def test_api_key_rotated_by_staff_can_be_collected_only_once_by_its_owner(operations_client, issued):
    jane = issued.record.owner
    before = ApiKey.objects.get(pk=issued.record.pk).expires_at
    response = confirm(operations_client, button_of(issued.record, "rotate"), grace_days="2")
    fresh = ApiKey.objects.get(replaces=issued.record)
    body = response.content.decode()
    collection = "Only the owner can collect it, once, with the button “Collect” on the page /developers/keys"
    assert f"The new key ck_test_{fresh.pk} waits for its owner “jane”. {collection}" in text_of(response)
    page = operations_client.get(page_of(issued.record))
    assert page_of(fresh) in links_of(page)
    assert "The old key then works for 2 more days" in text_of(page)
    assert f"This key waits for its owner “jane”. {collection}" in text_of(operations_client.get(page_of(fresh)))
    assert not re.search(r"ck_test_\w{12}_\w+|\bcs_\w+", body)
    event = Event.objects.get(type="api_key.rotated")
    assert (event.account, event.object["api_key_id"], event.object["replaces"]) == (jane, fresh.pk, issued.record.pk)
    issued.record.refresh_from_db()
    assert issued.record.expires_at == before
    assert "to collect" in text_of(operations_client.get(page_of(fresh)))

    taken = collect(fresh.pk, bearer=bearer_of(jane))
    assert taken.status_code == 200
    assert "no-store" in taken.headers["Cache-Control"]
    answer = taken.json()
    assert (answer["id"], answer["replaces"], answer["scopes"]) == (fresh.pk, issued.record.pk, None)
    assert answer["secret"].startswith("cs_")
    for key in (answer["key"], issued.key):
        assert ApiClient(api_key=key).read("/auth/me").json()["username"] == "jane"
    issued.record.refresh_from_db()
    assert timedelta(days=1, hours=23) < issued.record.expires_at - timezone.now() < timedelta(days=2, minutes=1)
    assert_error(collect(fresh.pk, bearer=bearer_of(jane)), 404, "E4001")
    (entry,) = AccountHistory.objects.filter(action="api_key.collected")
    assert (entry.account, entry.principal, entry.object_id) == (jane, jane, str(fresh.pk))
    assert "waits for its owner" not in text_of(operations_client.get(page_of(issued.record)))
    assert answer["key"] not in operations_client.get(page_of(fresh)).content.decode()


def test_rotated_api_key_can_be_collected_only_with_an_unrestricted_credential_of_its_owner(
    operations_client, omar, issued
):
    fresh = keys.offer_successor(issued.record, now=timezone.now(), grace_days=7)
    limited = keys.create_api_key(owner=fresh.owner, name="x", scopes=["offers:read"], now=timezone.now())
    assert fresh not in ApiKey.objects.usable_at(timezone.now())
    assert_error(collect(fresh.pk, bearer=bearer_of(omar)), 404, "E4001")
    assert_error(collect(fresh.pk, api_key=limited.key), 403, "E2005")
    assert_error(collect(fresh.pk), 401, "E2001")
    assert_error(collect("nosuchkey", bearer=bearer_of(fresh.owner)), 404, "E4001")
    assert_error(collect(issued.record.pk, bearer=bearer_of(fresh.owner)), 404, "E4001")
    assert collect(fresh.pk, api_key=issued.key).status_code == 200


def test_uncollected_api_key_can_be_revoked_and_rotated_again(operations_client, issued):
    send_form(operations_client, button_of(issued.record, "rotate"), grace_days="2")
    fresh = ApiKey.objects.get(replaces=issued.record)
    assert "was not collected yet" in text_of(
        send_form(operations_client, button_of(issued.record, "rotate"), grace_days="2")
    )
    assert "has not collected this key" in messages_of(operations_client.get(button_of(fresh, "rotate")))
    send_form(operations_client, button_of(fresh, "revoke"))
    assert_error(collect(fresh.pk, bearer=bearer_of(fresh.owner)), 404, "E4001")
    send_form(operations_client, button_of(issued.record, "rotate"), grace_days="2")
    assert ApiKey.objects.filter(replaces=issued.record).count() == 2


def test_only_one_of_concurrent_collections_returns_the_rotated_api_key(committed, needs_postgresql, issued):
    fresh = keys.offer_successor(issued.record, now=timezone.now(), grace_days=7)
    statuses = [
        response.status_code
        for response in run_concurrently(*[partial(collect, fresh.pk, bearer=bearer_of(fresh.owner))] * 4)
    ]
    assert sorted(statuses) == [200, 404, 404, 404]


def test_resubmitted_key_rotation_form_creates_no_second_api_key(operations_client, own):
    issued = own
    address = button_of(issued.record, "rotate")
    fields = {"seen": seen_value(operations_client.get(address)), "grace_days": "2"}
    operations_client.post(address, fields)
    again = operations_client.post(address, fields)
    assert "so the action was not executed" in text_of(again)
    assert ApiKey.objects.count() == 2


def test_key_rotation_form_rejects_a_grace_period_out_of_range(operations_client, issued):
    for days in ["-1", "91", "x", "", "1e3"]:
        response = confirm(operations_client, button_of(issued.record, "rotate"), grace_days=days)
        assert response.status_code == 200, days
        assert ApiKey.objects.count() == 1, days


def test_support_and_reviewers_cannot_change_api_keys_and_unknown_key_actions_return_403(
    supports_client, reviewers_client, issued, operations_client
):
    for client in (supports_client, reviewers_client):
        assert client.get(LIST).status_code == 403
        assert client.post(button_of(issued.record, "revoke"), {"seen": "x"}).status_code == 403
    assert ApiKey.objects.get().revoked_at is None
    assert operations_client.get(button_of(issued.record, "explode")).status_code == 403


def test_api_key_list_can_be_filtered_by_state(operations_client, issued):
    now = timezone.now()
    owner = issued.record.owner
    keys.create_api_key(owner=owner, name="soon", scopes=[], now=now, expires_at=now + timedelta(days=3))
    old = keys.create_api_key(owner=owner, name="old", scopes=None, now=now - timedelta(days=99)).record
    assert old.expires_at < now
    gone = keys.create_api_key(owner=owner, name="gone", scopes=None, now=now).record
    keys.revoke_api_key(gone, now=now)
    keys.offer_successor(issued.record, now=now, grace_days=7)
    for state, expected in [
        ("active", 2),
        ("expiring", 1),
        ("expired", 1),
        ("revoked", 1),
        ("to_collect", 1),
        ("nonsense", 5),
    ]:
        response = operations_client.get(LIST, {"state": state})
        assert len(response.context["cl"].result_list) == expected, (state, expected)
