"""The second factor of the backoffice."""

import io
import json
import re
from base64 import b32decode

import pytest
from cryptography.fernet import Fernet
from django.contrib.sessions.models import Session
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.urls import reverse
from django_otp.oath import totp

from config.backoffice.models import Authenticator
from tests.backoffice.conftest import backoffice_client, staff_of
from tests.backoffice.pages import confirm, text_of
from tests.factories import PASSWORD

PAGE = "/admin/second-factor/"


@pytest.fixture(autouse=True)
def _asked_for(settings):
    settings.BACKOFFICE_SECOND_FACTOR = True


@pytest.fixture
def device(reviewer):
    return Authenticator.objects.create(user=reviewer, secret="00" * 20, confirmed=True)


def code_of(device, steps=0):
    return f"{totp(bytes.fromhex(device.secret), drift=steps):06d}"


def shown_secret(response):
    return b32decode(re.search(r"<code>([A-Z2-7 ]+)</code>", response.content.decode())[1].replace(" ", ""))


def test_the_password_alone_opens_nothing(reviewer, device):
    client = Client()
    response = client.post("/admin/login/", {"username": "rita", "password": PASSWORD, "next": "/admin/"}, follow=True)
    assert response.redirect_chain[-1][0].startswith(PAGE)
    for path in ("/admin/", "/admin/credit/application/", "/admin/password_change/"):
        assert client.get(path).status_code == 302, path


def test_the_devices_code_opens_the_backoffice_where_one_wanted_to_go(reviewers_client, device):
    wanted = "/admin/credit/application/?queue=review"
    response = reviewers_client.get(wanted, follow=True)
    assert "Open your authenticator" in text_of(response)
    address = response.redirect_chain[-1][0]
    response = reviewers_client.post(address, {"code": code_of(device), "next": wanted})
    assert response.headers["Location"] == wanted
    assert reviewers_client.get(wanted).status_code == 200


def test_a_code_is_good_once(reviewers_client, reviewer, device):
    code = code_of(device)
    assert reviewers_client.post(PAGE, {"code": code}).status_code == 302
    again = backoffice_client(reviewer)
    assert "not right" in text_of(again.post(PAGE, {"code": code}))
    assert again.get("/admin/").status_code == 302


def test_wrong_codes_slow_the_device_down(reviewers_client, device):
    for _ in range(3):
        assert "not right" in text_of(reviewers_client.post(PAGE, {"code": "000001"}))
    response = reviewers_client.post(PAGE, {"code": code_of(device)})
    assert response.status_code == 200
    device.refresh_from_db()
    assert device.throttling_failure_count >= 1


@pytest.mark.parametrize(
    "code", ["", "12345", "1234567", "abcdef", "-12345", "\uff11\uff12\uff13\uff14\uff15\uff16", "1e5"]
)
def test_what_is_no_code_is_asked_for_again(reviewers_client, device, code):
    assert reviewers_client.post(PAGE, {"code": code}).status_code == 200
    device.refresh_from_db()
    assert device.throttling_failure_count == 0


def test_a_device_of_somebody_else_does_not_count(supports_client, device):
    response = supports_client.get(PAGE)
    assert "Scan this picture" in text_of(response)
    assert "not right" in text_of(supports_client.post(PAGE, {"code": code_of(device)}))


def test_the_first_log_in_adds_a_device(supports_client):
    response = supports_client.get(PAGE)
    secret = shown_secret(response)
    assert "<svg" in response.content.decode()
    assert not Authenticator.objects.exists()
    assert shown_secret(supports_client.get(PAGE)) == secret
    assert supports_client.post(PAGE, {"code": f"{totp(secret):06d}"}).status_code == 302
    assert supports_client.get("/admin/").status_code == 200
    device = Authenticator.objects.get()
    assert bytes.fromhex(device.secret) == secret
    assert not device.verify_token(totp(secret)), "the code that added it is spent"


def test_a_wrong_code_adds_nothing(supports_client):
    secret = shown_secret(supports_client.get(PAGE))
    wrong = (totp(secret) + 1) % 1_000_000
    assert supports_client.post(PAGE, {"code": f"{wrong:06d}"}).status_code == 200
    old = totp(secret, t0=300)  # of ten steps ago
    assert supports_client.post(PAGE, {"code": f"{old:06d}"}).status_code == 200
    assert not Authenticator.objects.exists()


def test_a_code_without_a_page_before_adds_nothing(supports_client):
    assert supports_client.post(PAGE, {"code": "123456"}).status_code == 200
    assert not Authenticator.objects.exists()


def test_who_is_not_staff_is_led_to_the_login(user):
    for client in (Client(), backoffice_client(user)):
        response = client.get(PAGE)
        assert response.status_code == 302
        assert response.headers["Location"].startswith("/admin/login/")


@pytest.mark.parametrize(
    "wanted", ["https://evil.example/", "//evil.example", "/v1/docs", "javascript:alert(1)", "\\\\x"]
)
def test_one_is_not_led_away_from_the_client(reviewers_client, device, wanted):
    response = reviewers_client.post(PAGE, {"code": code_of(device), "next": wanted})
    assert response.headers["Location"] == "/admin/"


def test_the_page_needs_the_token_of_the_form(reviewer, device):
    strict = backoffice_client(reviewer, enforce_csrf_checks=True)
    assert strict.post(PAGE, {"code": code_of(device)}).status_code == 403


def test_a_lost_device_is_taken_away_by_a_superuser(superuser, reviewer, device, settings):
    settings.BACKOFFICE_SECOND_FACTOR = False
    address = reverse("admin:identity_user_do", args=[reviewer.pk, "reset-second-factor"])
    assert backoffice_client(staff_of("Operations")).post(address, {"seen": "x"}).status_code == 403
    assert "adds a new second factor" in text_of(confirm(backoffice_client(superuser), address))
    assert not Authenticator.objects.exists()


def test_no_page_shows_the_secret_of_a_device(superuser, device, settings):
    settings.BACKOFFICE_SECOND_FACTOR = False
    from django.contrib import admin

    assert Authenticator not in admin.site._registry
    assert not [model for model in admin.site._registry if model._meta.app_label == "oauth2_provider"]


def stored(table, column):
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {column} FROM {table}")
        return [row[0] for row in cursor.fetchall()]


def test_the_database_holds_no_secret_in_the_clear(supports_client, device):
    being_added = shown_secret(supports_client.get(PAGE)).hex()
    assert stored("backoffice_authenticator", "secret") != [device.secret]
    sessions = [session.get_decoded() for session in Session.objects.all()]
    assert being_added not in str(sessions)
    supports_client.post(PAGE, {"code": f"{totp(bytes.fromhex(being_added)):06d}"})
    assert Authenticator.objects.get(secret__isnull=False, user__username="sam").secret == being_added
    assert not [
        text for text in stored("backoffice_authenticator", "secret") if being_added in text or device.secret in text
    ]


def test_the_secrets_move_to_a_new_key_with_the_others(device, settings):
    before = stored("backoffice_authenticator", "secret")
    settings.FIELD_ENCRYPTION_KEYS = [Fernet.generate_key().decode(), *settings.FIELD_ENCRYPTION_KEYS]
    call_command("rotate_encryption_key", stdout=io.StringIO())
    settings.FIELD_ENCRYPTION_KEYS = settings.FIELD_ENCRYPTION_KEYS[:1]
    assert stored("backoffice_authenticator", "secret") != before
    device.refresh_from_db()
    assert device.secret == "00" * 20


def test_a_command_takes_a_lost_device_away(device, reviewer):
    out = io.StringIO()
    call_command("reset_second_factor", "rita", "--json", stdout=out)
    assert json.loads(out.getvalue()) == {"id": reviewer.pk, "removed": 1}
    assert not Authenticator.objects.exists()
    call_command("reset_second_factor", "rita", stdout=io.StringIO())
    with pytest.raises(CommandError, match="nobody"):
        call_command("reset_second_factor", "nobody")


def test_development_asks_for_the_password_alone(reviewers_client, settings):
    settings.BACKOFFICE_SECOND_FACTOR = False
    assert reviewers_client.get("/admin/").status_code == 200


def test_one_can_leave_before_giving_the_second_factor(reviewers_client, device):
    response = reviewers_client.post(PAGE, {"leave": "1"})
    assert response.headers["Location"] == "/admin/login/"
    assert "_auth_user_id" not in reviewers_client.session
