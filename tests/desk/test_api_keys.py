"""API keys at the desk: seen by fingerprint, rotated and revoked by buttons, shown once."""

import re
from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from config.webhooks.models import Event
from identity import keys
from identity.models import ApiKey
from tests.api import ApiClient
from tests.desk.conftest import desk_client, staff_of
from tests.desk.pages import confirm, seen_in, text_of
from tests.factories import UserFactory

LIST = "/admin/identity/apikey/"


@pytest.fixture
def issued(db):
    return keys.create_api_key(owner=UserFactory(username="jane"), name="shop", scopes=None, now=timezone.now())


def page_of(key):
    return reverse("admin:identity_apikey_change", args=[key.pk])


def button_of(key, name):
    return reverse("admin:identity_apikey_do", args=[key.pk, name])


def test_lists_and_pages_show_a_fingerprint_and_neither_key_nor_secret(operations_desk, issued):
    for address in (LIST, page_of(issued.record)):
        body = operations_desk.get(address).content.decode()
        assert issued.record.fingerprint in body
        for secret in (issued.key, issued.secret, issued.record.digest):
            assert secret not in body


def test_revoking_ends_the_key_and_tells_its_owner(operations_desk, issued):
    assert ApiClient(api_key=issued.key).read("/auth/me").status_code == 200
    text = text_of(confirm(operations_desk, button_of(issued.record, "revoke")))
    assert "is revoked" in text
    issued.record.refresh_from_db()
    assert issued.record.revoked_at is not None
    assert ApiClient(api_key=issued.key).read("/auth/me").status_code == 401
    assert Event.objects.filter(type="api_key.revoked").count() == 1
    assert "The key is revoked already." in text_of(operations_desk.get(page_of(issued.record)))


def test_rotating_shows_a_key_that_works_once_and_keeps_the_old_one_for_its_grace(operations_desk, issued):
    response = confirm(operations_desk, button_of(issued.record, "rotate"), grace_days="2")
    fresh = ApiKey.objects.get(replaces=issued.record)
    key = re.search(rf"ck_live_{fresh.pk}_[0-9A-Za-z]{{38}}", response.content.decode())[0]
    assert ApiClient(api_key=key).read("/auth/me").status_code == 200
    assert "no-store" in response.headers["Cache-Control"]
    assert key not in operations_desk.get(page_of(fresh)).content.decode()
    issued.record.refresh_from_db()
    assert timedelta(days=1, hours=23) < issued.record.expires_at - timezone.now() < timedelta(days=2, minutes=1)


def test_reloading_the_page_that_showed_the_secret_makes_no_second_key(operations_desk, issued):
    address = button_of(issued.record, "rotate")
    fields = {"seen": seen_in(operations_desk.get(address)), "grace_days": "2"}
    operations_desk.post(address, fields)
    again = operations_desk.post(address, fields, follow=True)
    assert "Nothing was done" in text_of(again)
    assert ApiKey.objects.count() == 2


@pytest.mark.parametrize("days", ["-1", "91", "x", "", "1e3"])
def test_a_grace_out_of_range_is_refused_on_the_form(operations_desk, issued, days):
    response = confirm(operations_desk, button_of(issued.record, "rotate"), grace_days=days)
    assert response.status_code == 200
    assert ApiKey.objects.count() == 1


def test_opening_a_button_changes_nothing(operations_desk, issued):
    for name in ("rotate", "revoke"):
        operations_desk.get(button_of(issued.record, name))
    issued.record.refresh_from_db()
    assert issued.record.revoked_at is None
    assert ApiKey.objects.count() == 1


def test_buttons_need_the_token_of_the_form(issued):
    strict = desk_client(staff_of("Operations"), enforce_csrf_checks=True)
    assert strict.post(button_of(issued.record, "revoke"), {"seen": "x"}).status_code == 403
    assert ApiKey.objects.get().revoked_at is None


def test_support_and_reviewers_do_not_reach_keys(supports_desk, reviewers_desk, issued):
    for client in (supports_desk, reviewers_desk):
        assert client.get(LIST).status_code == 403
        assert client.post(button_of(issued.record, "revoke"), {"seen": "x"}).status_code == 403
    assert ApiKey.objects.get().revoked_at is None


def test_an_unknown_button_is_refused(operations_desk, issued):
    assert operations_desk.get(button_of(issued.record, "explode")).status_code == 403


@pytest.mark.parametrize(
    ("state", "expected"), [("active", 2), ("expiring", 1), ("expired", 1), ("revoked", 1), ("nonsense", 4)]
)
def test_the_filter_keeps_keys_by_state(operations_desk, issued, state, expected):
    now = timezone.now()
    owner = issued.record.owner
    keys.create_api_key(owner=owner, name="soon", scopes=[], now=now, expires_at=now + timedelta(days=3))
    old = keys.create_api_key(owner=owner, name="old", scopes=None, now=now - timedelta(days=99)).record
    assert old.expires_at < now
    gone = keys.create_api_key(owner=owner, name="gone", scopes=None, now=now).record
    keys.revoke_api_key(gone, now=now)
    response = operations_desk.get(LIST, {"state": state})
    assert len(response.context["cl"].result_list) == expected
