"""Test that the database, dumps, logs, and pages contain no plaintext access token."""

import logging

import pytest
from cryptography.fernet import Fernet
from django.db import connection
from django.urls import reverse

from identity.bank.models import BankItem
from identity.providers.models import SandboxItem
from tests.api import assert_error, client_of
from tests.backoffice.conftest import backoffice_client, staff_of
from tests.factories import UserFactory
from tests.identity.plaid_double import DoubleItem, Fault, account
from tests.identity.test_bankdata_exchange import exchange


def stored_ciphertext():
    with connection.cursor() as cursor:
        cursor.execute("SELECT access_token FROM identity_bankitem")
        return cursor.fetchone()[0]


def test_no_log_line_contains_a_bank_token(db, user, stranger, plaid, caplog, settings):
    caplog.set_level(logging.DEBUG)
    api = client_of(user)
    item = plaid.offer("public-double-1", DoubleItem("item-1", [account(1)]))
    exchange(api, user, "public-double-1")
    exchange(api, user, "public-double-1")
    token = BankItem.objects.get().access_token
    paths = [f"/bankdata/{kind}/{user.pk}?access_token={token}" for kind in ("accounts", "transactions")]
    answers = [api.read(path) for path in paths]
    for fault in (
        Fault(500, b"x"), Fault(drop=True), Fault(200, b"{"), Fault(400, f'{{"error_code": "{token}"}}'.encode()),
    ):  # fmt: skip
        for path, requests in zip(paths, ("/accounts/get", "/transactions/sync"), strict=True):
            plaid.fail(requests, fault)
            answers.append(api.read(path))
    item.error = "ITEM_LOGIN_REQUIRED"
    answers += [api.read(path) for path in paths]
    answers += [client_of(stranger).read(paths[0].replace(f"/{user.pk}?", f"/{stranger.pk}?"))]
    answers += [api.read(f"/bankdata/accounts/{user.pk}?access_token={token}{'x' * 10_000}")]
    assert {answer.status_code for answer in answers} == {200, 400, 502}
    with connection.cursor() as cursor:  # An internal error is logged with its traceback and without the token.
        cursor.execute("ALTER TABLE identity_bankitem RENAME TO identity_bankitem_gone")
    assert api.read(paths[0]).status_code in {500, 503}
    text = caplog.text + "".join(f"{record.__dict__}" for record in caplog.records)
    for answer in answers:
        text += answer.content.decode() + str(answer.headers)
    assert "plaid /accounts/get" in text
    assert token not in text
    assert "public-double-1" not in text


def test_gunicorn_writes_no_access_log():
    from config.gunicorn import accesslog

    assert accesslog is None


@pytest.mark.django_db
def test_back_office_shows_a_token_fingerprint_instead_of_the_bank_token(user, api, settings):
    exchange(api, user)
    item = BankItem.objects.get()
    assert item.access_token not in f"{item} {item!r} {SandboxItem.objects.get()!r}"
    page = reverse("admin:identity_bankitem_change", args=[item.pk])
    boss = UserFactory(is_staff=True, is_superuser=True)
    for backoffice in (backoffice_client(boss), backoffice_client(staff_of("Support"))):
        for address in ("/admin/identity/bankitem/", page):
            body = backoffice.get(address).content.decode()
            assert item.fingerprint in body
            for secret in (item.access_token, item.token_fingerprint, stored_ciphertext()):
                assert secret not in body
    for kind in ("csv", "jsonl"):
        file = backoffice_client(boss).post(f"/admin/identity/bankitem/export/{kind}/").getvalue().decode()
        assert item.item_id in file
        for secret in (item.access_token, item.token_fingerprint, stored_ciphertext()):
            assert secret not in file
    # The page does not decrypt the token, so the page works without the key.
    settings.FIELD_ENCRYPTION_KEYS = [Fernet.generate_key().decode()]
    assert backoffice_client(boss).get(page).status_code == 200
    assert backoffice_client(staff_of("Reviewer")).get(page).status_code == 200


@pytest.mark.django_db
def test_log_about_an_undecryptable_bank_token_contains_no_token(user, api, settings, caplog):
    exchange(api, user)
    token = BankItem.objects.get().access_token
    settings.FIELD_ENCRYPTION_KEYS = [Fernet.generate_key().decode()]
    assert_error(api.read(f"/bankdata/accounts/{user.pk}"), 502, "E5004")
    assert "no key of FIELD_ENCRYPTION_KEYS opens identity.BankItem.access_token" in caplog.text
    assert token not in caplog.text
