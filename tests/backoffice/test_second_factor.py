"""Test when the back office requires a second factor, and how staff add and reset it."""

import io
import json

import pytest
from allauth.mfa.models import Authenticator
from cryptography.fernet import Fernet
from django.contrib import admin
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from identity.accounts import codes as kept_codes
from identity.models import RecoveryCode
from tests.backoffice.conftest import backoffice_client, staff_of
from tests.backoffice.pages import messages_of, send_form, text_of
from tests.factories import PASSWORD
from tests.second_factors import SECRET, authenticator_of, code_of, recovery_codes_of, wrong_code

CONFIRM = "/account/second-factor/confirm"


@pytest.fixture(autouse=True)
def _asked_for(settings):
    settings.BACKOFFICE_SECOND_FACTOR = True


@pytest.fixture
def device(reviewer):
    return authenticator_of(reviewer)


def log_in(name, next_page="/admin/"):
    browser = Client()
    answer = browser.post("/account/login", {"login": name, "password": PASSWORD, "next": next_page})
    return browser, answer


def test_second_factor_confirmation_redirects_to_the_requested_back_office_page(reviewers_client, device):
    wanted = "/admin/credit/application/?queue=review"
    response = reviewers_client.get(wanted, follow=True)
    address = response.redirect_chain[-1][0]
    assert address.startswith(f"{CONFIRM}?next=")
    response = reviewers_client.post(address, {"code": code_of(), "next": wanted})
    assert response.headers["Location"] == wanted
    assert reviewers_client.get(wanted).status_code == 200


def test_staff_without_a_second_factor_must_add_a_factor_first(supports_client):
    response = supports_client.get("/admin/", follow=True)
    assert response.redirect_chain[-1][0].startswith("/account/second-factor")
    assert "Add an authenticator app" in text_of(response)


def test_account_that_is_not_staff_cannot_open_the_back_office_with_a_second_factor(user):
    authenticator_of(user)
    browser, _ = log_in(user.username)
    browser.post("/account/second-factor/log-in", {"code": code_of()})
    assert browser.get("/admin/", follow=True).status_code == 403


def test_second_factor_of_another_account_is_rejected(supports_client, reviewer):
    authenticator_of(reviewer, secret="B" * 32)
    authenticator_of(supports_client.get("/account/").wsgi_request.user)
    assert supports_client.post(CONFIRM, {"code": code_of("B" * 32)}).status_code == 200
    assert supports_client.get("/admin/").status_code == 302


def test_superuser_can_reset_a_lost_second_factor(superuser, reviewer, device, settings):
    settings.BACKOFFICE_SECOND_FACTOR = False
    recovery_codes_of(reviewer)
    address = reverse("admin:identity_user_do", args=[reviewer.pk, "reset-second-factor"])
    assert backoffice_client(staff_of("Operations")).post(address, {"seen": "x"}).status_code == 403
    assert "must add a new second factor" in messages_of(
        send_form(backoffice_client(superuser), address, reason="The telephone is lost.")
    )
    assert not Authenticator.objects.exists()
    assert not RecoveryCode.objects.exists()


def test_back_office_has_no_page_for_second_factors():
    assert not {Authenticator, RecoveryCode} & admin.site._registry.keys()
    assert not [model for model in admin.site._registry if model._meta.app_label == "oauth2_provider"]


def test_second_factor_secret_is_encrypted_and_included_in_a_key_rotation(device, reviewer, settings):
    assert SECRET not in json.dumps(list(Authenticator.objects.values_list("data", flat=True)))
    settings.FIELD_ENCRYPTION_KEYS = [Fernet.generate_key().decode(), *settings.FIELD_ENCRYPTION_KEYS]
    call_command("rotate_encryption_key", stdout=io.StringIO())
    settings.FIELD_ENCRYPTION_KEYS = settings.FIELD_ENCRYPTION_KEYS[:1]
    assert kept_codes.use_code(reviewer, code_of()) is not None


def test_unreadable_second_factor_is_rejected_and_reported(device, reviewer, settings):
    codes = recovery_codes_of(reviewer)
    settings.FIELD_ENCRYPTION_KEYS = [Fernet.generate_key().decode()]
    assert kept_codes.use_code(reviewer, code_of()) is None
    assert kept_codes.use_code(reviewer, codes[0]) is not None, "recovery codes need no key"
    with pytest.raises(CommandError, match="1 values did not change"):
        call_command("rotate_encryption_key", stdout=io.StringIO())


def test_reset_command_deletes_a_lost_second_factor(device, reviewer):
    recovery_codes_of(reviewer)
    out = io.StringIO()
    call_command("reset_second_factor", "rita", "--json", stdout=out)
    assert json.loads(out.getvalue()) == {"id": reviewer.pk, "removed": 1}
    assert not Authenticator.objects.exists()
    assert not RecoveryCode.objects.exists()
    call_command("reset_second_factor", "rita", stdout=io.StringIO())
    with pytest.raises(CommandError, match="nobody"):
        call_command("reset_second_factor", "nobody")


def test_back_office_accepts_a_password_if_no_second_factor_is_required(reviewers_client, settings):
    settings.BACKOFFICE_SECOND_FACTOR = False
    assert reviewers_client.get("/admin/").status_code == 200


def test_before_entering_the_second_factor_staff_can_only_log_out(reviewer, device):
    browser, _ = log_in("rita")
    assert browser.post("/account/logout").headers["Location"] == "/account/login"
    assert browser.get("/account/second-factor/log-in").headers["Location"] == "/account/login"
    browser, answer = log_in("rita")
    assert answer.headers["Location"] == "/account/second-factor/log-in"
    for path in ("/admin/", "/admin/credit/application/", "/admin/password_change/", "/account/", "/account/email"):
        assert browser.get(path).status_code == 302, path
    answer = browser.post("/account/second-factor/log-in", {"code": code_of()})
    assert answer.headers["Location"] == "/admin/"
    assert browser.get("/admin/").status_code == 200
    assert browser.get("/account/email").status_code == 200


def test_back_office_requires_a_correct_code_from_an_existing_second_factor(reviewers_client, device):
    assert "wrong" in text_of(reviewers_client.post(CONFIRM, {"code": wrong_code()}))
    assert reviewers_client.get("/admin/").status_code == 302
    reviewers_client.post(CONFIRM, {"code": code_of()})
    assert reviewers_client.get("/admin/").status_code == 200
    device.delete()
    assert reviewers_client.get("/admin/").status_code == 302
