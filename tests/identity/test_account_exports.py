"""Test that a worker creates data exports, which can be downloaded for 7 days and are then deleted."""

import json
from datetime import timedelta
from io import BytesIO, StringIO
from zipfile import ZipFile

import pytest
from allauth.account.models import EmailAddress
from cryptography.exceptions import InvalidTag
from django.contrib.auth.models import Group
from django.core.files.base import ContentFile
from django.core.files.storage import storages
from django.core.management import call_command
from django.test import Client
from django.utils import timezone
from django.utils.translation import override

from config.core.export import write_export
from config.core.lifecycle import Actor
from config.mail.models import OutgoingMail
from config.ops.models import FailedItem
from identity.access.authentication import forget_credentials
from identity.accounts import exports
from identity.accounts.models import Erasure, Export, ManagedAccount
from identity.models import AccountHistory, TokenFamily, User
from tests.api import ApiClient, assert_error, client_of
from tests.factories import ApplicationFactory, UserFactory
from tests.identity.oauth_support import code_for, exchange, make_client
from tests.second_factors import authenticator_of

pytestmark = pytest.mark.django_db
PATH = "/account/exports"
FIELDS = {"id", "status", "created_at", "ready_at", "expires_at", "download_url"}


def work():
    out = StringIO()
    call_command("process_privacy", "--once", "--json", stdout=out)
    return json.loads(out.getvalue())


def opened(response):
    with ZipFile(BytesIO(response.getvalue())) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name) for name in archive.namelist()}


def is_stored(export):
    return storages["documents"].exists(export.name)


def log_in_long_ago(user):
    """Move the account's log-ins, and its password change, 11 minutes into the past."""
    then = timezone.now() - timedelta(minutes=11)
    User.objects.filter(pk=user.pk).update(credentials_changed_at=then)
    TokenFamily.objects.update(created_at=then)
    forget_credentials()


@pytest.fixture
def partner(user):
    user.groups.add(Group.objects.get(name="Partner"))
    return client_of(user)


@pytest.fixture
def customer(partner):
    return partner.send("/accounts", {"external_id": "customer-1"}).json()["id"]


def test_data_export_request_and_completion_are_mailed_to_the_confirmed_address(api, user):
    user.email = "own@example.test"
    user.save(update_fields=["email"])
    EmailAddress.objects.create(user=user, email="own@example.test", verified=True)
    with override("es"):
        exports.request_export(Actor(user, "session"), user.pk, now=timezone.now())
    api.send(PATH)
    work()
    work()
    api.send("/account/erasure")
    mails = list(OutgoingMail.objects.order_by("pk"))
    expected = [("export_requested", "es"), ("export_ready", "es"), ("erasure_requested", "en")]
    assert [(mail.template, mail.language) for mail in mails] == expected
    assert {mail.recipient for mail in mails} == {"own@example.test"}


def test_data_export_mail_is_not_sent_to_unconfirmed_addresses_or_managed_customers(api, user, partner, customer):
    User.objects.filter(pk__in=[user.pk, customer]).update(email="other@example.test")
    EmailAddress.objects.create(user=user, email="other@example.test", verified=False)
    api.send(PATH)
    partner.send(f"/accounts/{customer}/exports")
    work()
    assert not OutgoingMail.objects.exists()


def test_requested_data_export_is_stored_encrypted_and_can_be_downloaded(api, user, stranger_api):
    ApplicationFactory(consumer=user, notes="qqnotes")
    response = api.send(PATH)
    shown = response.json()
    assert (response.status_code, set(shown), shown["status"]) == (202, FIELDS, "preparing")
    assert shown["download_url"] is None
    assert_error(api.read(f"{PATH}/{shown['id']}/file"), 404, "E4001")
    assert work() == {"exported": 1, "expired": 0, "erased": 0, "failed": 0}
    stored = storages["documents"].open(Export.objects.get().name).read()
    assert (b"qqnotes" in stored, stored[:2] == b"PK") == (False, False)
    for path in (f"{PATH}/{shown['id']}", f"{PATH}/{shown['id']}/file"):
        assert_error(stranger_api.read(path), 404, "E4001")
    ready = api.read(f"{PATH}/{shown['id']}").json()
    assert ready["status"] == "ready"
    assert ready["download_url"].endswith(f"/v1{PATH}/{shown['id']}/file")
    response = api.read(f"{PATH}/{shown['id']}/file")
    assert response.headers["Content-Type"] == "application/zip"
    copies = opened(response)
    assert b"qqnotes" in copies["records/credit.Application.json"]
    assert json.loads(copies["index.json"])["user_id"] == str(user.pk)
    assert AccountHistory.objects.filter(account=user, action="account.export_requested").count() == 1


def test_second_data_export_request_within_24_hours_returns_the_first_export(api):
    first = api.send(PATH).json()
    assert api.send(PATH).json()["id"] == first["id"]
    Export.objects.update(status="failed")
    assert api.send(PATH).json()["id"] != first["id"]
    Export.objects.update(status="ready", created_at=timezone.now() - timedelta(hours=25))
    assert api.send(PATH).json()["status"] == "preparing"


def test_download_of_a_data_export_returns_to_the_page_with_the_link_after_the_password_prompt(api, user):
    api.send(PATH)
    work()
    user.set_password("a long password")
    user.save()
    browser, link = Client(), f"/account/privacy/exports/{Export.objects.get().pk}"
    browser.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    prompt = browser.get(link).headers["Location"]
    assert prompt == "/account/reauthenticate?next=/account/privacy%23copy"
    answer = browser.post(prompt, {"password": "a long password", "next": "/account/privacy#copy"})
    assert answer.headers["Location"] == "/account/privacy#copy"
    page = browser.get("/account/privacy").content.decode()
    assert page.index('<section id="copy">') < page.index(f'<a href="{link}">Download</a>')
    assert browser.get(link).headers["Content-Type"] == "application/zip"


def test_data_export_is_deleted_after_7_days(api, user):
    api.send(PATH)
    work()
    Export.objects.update(expires_at=timezone.now())
    export = Export.objects.get()
    assert is_stored(export)
    refusal = assert_error(api.read(f"{PATH}/{export.pk}/file"), 404, "E4001")
    assert refusal["message"] == "The export has no file. Its status is expired."
    displayed = api.read(f"{PATH}/{export.pk}").json()
    assert (displayed["status"], displayed["download_url"]) == ("expired", None)
    browser = Client()
    browser.force_login(user)
    assert "The copy was deleted after 7 days." in browser.get("/account/privacy").content.decode()
    assert work()["expired"] == 1
    export.refresh_from_db()
    assert (export.status, export.key, is_stored(export)) == ("expired", "", False)
    assert api.read(f"{PATH}/{export.pk}").json()["download_url"] is None


def test_data_export_fails_after_5_errors(api, monkeypatch):
    api.send(PATH)

    def broken(*_arguments, **_options):
        raise OSError("disk")

    monkeypatch.setattr(exports, "write_export", broken)
    for hours in range(5):
        exports.process_exports(now=timezone.now() + timedelta(hours=6 * hours))
    assert Export.objects.get().status == "failed"
    assert FailedItem.objects.get(kind="export").error == "OSError"


def test_data_export_created_during_an_erasure_leaves_no_file(api, user, monkeypatch):
    api.send(PATH)

    def erased_meanwhile(*arguments, **options):
        type(user).objects.filter(pk=user.pk).update(erased_at=timezone.now())
        return write_export(*arguments, **options)

    monkeypatch.setattr(exports, "write_export", erased_meanwhile)
    work()
    assert not is_stored(Export.objects.get())
    assert Export.objects.get().status == "preparing"


@pytest.mark.parametrize("has_lapsed", [False, True])
def test_data_export_processed_by_two_workers_has_one_file(api, user, monkeypatch, has_lapsed):
    api.send(PATH)
    results = []

    def with_second_worker(*arguments, **options):
        monkeypatch.setattr(exports, "write_export", write_export)
        if has_lapsed:
            Export.objects.update(claimed_until=timezone.now())
        results.append(exports.process_exports(now=timezone.now())["exported"])
        return write_export(*arguments, **options)

    monkeypatch.setattr(exports, "write_export", with_second_worker)
    results.append(exports.process_exports(now=timezone.now())["exported"])
    export = Export.objects.get()
    assert (export.status, sum(results)) == ("ready", 1)
    assert storages["documents"].listdir("exports")[1].count(export.name.partition("/")[2]) == 1
    assert "index.json" in opened(api.read(f"{PATH}/{export.pk}/file"))


def test_data_export_that_fails_after_writing_leaves_no_file(api):
    api.send(PATH)
    export = Export.objects.get()
    export.name = f"exports/{export.pk}-0"
    export.save()
    storages["documents"].save(export.name, ContentFile(b"x"))
    now = timezone.now()
    times = {"first_failed_at": now, "last_failed_at": now, "retry_at": now, "dead_at": now}
    FailedItem.objects.create(kind="export", key=str(export.pk), kills=3, **times)
    exports.process_exports(now=now)
    assert (Export.objects.get().status, is_stored(export)) == ("failed", False)


def test_data_export_request_and_download_require_a_log_in_within_10_minutes(api, user):
    export = api.send(PATH).json()
    work()
    log_in_long_ago(user)
    assert_error(api.send(PATH), 403, "E2014")
    assert_error(api.read(f"{PATH}/{export['id']}/file"), 403, "E2014")
    assert api.read(f"{PATH}/{export['id']}").json()["status"] == "ready"


def test_partner_can_export_the_data_of_a_customer(partner, customer, user):
    path = f"/accounts/{customer}/exports"
    shown = partner.send(path).json()
    work()
    ready = partner.read(f"{path}/{shown['id']}").json()
    assert ready["download_url"].endswith(f"{path}/{shown['id']}/file")
    copies = opened(partner.read(f"{path}/{shown['id']}/file"))
    assert json.loads(copies["index.json"])["user_id"] == customer
    assert_error(partner.read(f"{PATH}/{shown['id']}"), 404, "E4001")
    assert user.exports.count() == 0


def test_partner_cannot_request_an_export_of_a_claimed_account(partner, customer):
    export = partner.send(f"/accounts/{customer}/exports").json()
    work()
    ManagedAccount.objects.update(claimed_at=timezone.now())
    for path in ("exports", "erasure"):
        assert_error(partner.send(f"/accounts/{customer}/{path}"), 400, "E3004")
    assert_error(partner.read(f"/accounts/{customer}/exports/{export['id']}/file"), 400, "E3004")


def test_app_of_a_partner_cannot_export_or_erase_customers(customer, user):
    client, secret = make_client(scopes=["accounts:write"])
    code = code_for(user, client, scope="accounts:write")
    app = ApiClient(bearer=exchange(code, client, secret).json()["access_token"])
    for path in ("exports", "erasure"):
        assert_error(app.send(f"/accounts/{customer}/{path}"), 403, "E2005")
    assert_error(app.read(f"/accounts/{customer}/erasure"), 403, "E2005")


def test_export_of_a_customer_requires_the_partners_second_factor(partner, customer, user):
    authenticator_of(user)
    assert_error(partner.send(f"/accounts/{customer}/exports"), 403, "E2012")


def test_partner_cannot_request_an_export_of_another_partners_customer(customer):
    other = UserFactory()
    other.groups.add(Group.objects.get(name="Partner"))
    for path in ("exports", "erasure"):
        assert_error(client_of(other).send(f"/accounts/{customer}/{path}"), 404, "E4014")


def test_partner_can_erase_a_customer(partner, customer):
    path = f"/accounts/{customer}/erasure"
    assert partner.read(path).json()["status"] == "none"
    assert partner.send(path).json()["status"] == "requested"
    assert partner.remove(path).status_code == 200
    assert partner.send(path).json()["status"] == "requested"
    Erasure.objects.update(look_at=timezone.now())
    assert work()["erased"] == 1
    assert partner.read(path).json()["status"] == "done"
    assert_error(partner.send(path), 403, "E2013")


def test_encrypted_export_file_is_decrypted_in_limited_chunks_and_rejected_if_truncated():
    for size in (0, 1, exports.CHUNK_BYTES, exports.CHUNK_BYTES + 1, 700_000):
        file, key, content = BytesIO(), exports.new_key(), bytes(size)
        writer = exports.SealedWriter(file, key)
        for start in range(0, size, 100_000):
            writer.write(content[start : start + 100_000])
        writer.close()
        file.seek(0)
        chunks = list(exports.opened_chunks(file, key))
        assert b"".join(chunks) == content
        assert max(map(len, chunks)) <= exports.CHUNK_BYTES
    shortened = BytesIO(file.getvalue()[: exports.CHUNK_BYTES + 16])
    with pytest.raises(InvalidTag):
        list(exports.opened_chunks(shortened, key))
