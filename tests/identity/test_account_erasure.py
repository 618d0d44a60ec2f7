"""Test that an account can request its erasure, and cancel it for 14 days."""

from datetime import timedelta
from io import StringIO
from types import SimpleNamespace
from uuid import uuid4

import pytest
from django.contrib.auth.models import Group
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from config.core.casework import DataAccess
from config.core.json_text import rfc3339
from credit.core.applicants import Applicants
from credit.documents import storage
from credit.models import Application, Clock, DecisionAnchor, DocumentFile, ProviderMember, RequestedDocument
from identity.accounts import erasure, exports
from identity.accounts.models import Erasure, Export
from identity.bank import services as bank
from identity.models import AccountHistory
from tests.api import ApiClient, assert_error, client_of
from tests.backoffice.conftest import backoffice_client, staff_of
from tests.backoffice.lenders import console_client
from tests.backoffice.pages import send_form
from tests.credit.applicants import changed
from tests.factories import PASSWORD, ApplicationFactory, ProviderFactory, UserFactory
from tests.flows.markers import Planter
from tests.flows.test_erasure import left_of, planted
from tests.identity.support import issue
from tests.second_factors import authenticator_of

pytestmark = pytest.mark.django_db
PATH = "/account/erasure"
FIELDS = {"id", "status", "requested_at", "due_at", "obstacles", "kept", "completed_at"}


def wait_over():
    Erasure.objects.update(look_at=timezone.now() - timedelta(minutes=1))


def test_erasure_request_is_scheduled_for_14_days_later(api, user):
    response = api.send(PATH)
    shown = response.json()
    assert (response.status_code, set(shown)) == (201, FIELDS)
    assert (shown["status"], shown["kept"], shown["completed_at"]) == ("requested", [], None)
    record = Erasure.objects.get()
    assert record.look_at - record.requested_at == timedelta(days=14)
    assert record.due_at - record.requested_at == timedelta(days=30)
    assert api.read(PATH).json() == shown
    assert api.send(PATH).json() == shown
    assert AccountHistory.objects.filter(account=user, action="account.deletion_requested").count() == 1
    call_command("process_privacy", "--once", stdout=StringIO())
    assert api.read(PATH).json()["status"] == "requested"


def test_erasure_request_is_replayed_under_its_idempotency_key(api):
    key = uuid4()
    first = api.send(PATH, key=key)
    again = api.send(PATH, key=key)
    assert (again.json(), again.headers["Idempotent-Replayed"]) == (first.json(), "true")


def test_erasure_request_can_be_canceled_within_14_days(api, user):
    assert api.remove(PATH).status_code == 200
    api.send(PATH)
    assert api.remove(PATH).status_code == 200
    none = dict.fromkeys(("id", "requested_at", "due_at", "completed_at")) | {"obstacles": [], "kept": []}
    none["status"] = "none"
    assert api.read(PATH).json() == none
    api.send(PATH)
    wait_over()
    assert_error(api.remove(PATH), 400, "E3004")
    assert AccountHistory.objects.filter(account=user, action="account.deletion_canceled").count() == 1


def test_worker_erases_an_account_14_days_after_the_request(api, user):
    api.send(PATH)
    wait_over()
    call_command("process_privacy", "--once", stdout=StringIO())
    user.refresh_from_db()
    assert (user.is_active, user.email) == (False, "")
    assert user.username.startswith("erased-")
    assert api.read("/auth/me").status_code == 401
    assert Erasure.objects.get().status == "done"


def test_erasure_processed_by_two_workers_runs_once(user, monkeypatch):
    planted(user, "qqmarker")
    removed = []
    monkeypatch.setattr(bank, "open_banking", lambda: SimpleNamespace(remove_item=removed.append))
    record = erasure._record(user.pk, requested_at=timezone.now() - timedelta(days=15))
    erase_rows = erasure.erase_rows

    def with_second_worker(*arguments, **options):
        monkeypatch.setattr(erasure, "erase_rows", erase_rows)
        erasure.process_requested(now=timezone.now())
        return erase_rows(*arguments, **options)

    monkeypatch.setattr(erasure, "erase_rows", with_second_worker)
    assert erasure.process_requested(now=timezone.now())["failed"] == 0
    ended = Erasure.objects.get()
    assert (ended.pk, ended.status, len(removed)) == (record.pk, "waiting", 1)
    assert left_of("qqmarker") == set()


@pytest.mark.parametrize("day", [13, 15])
def test_erasure_can_be_canceled_on_day_13_and_not_on_day_15(api, user, day):
    erasure._record(user.pk, requested_at=timezone.now() - timedelta(days=day))
    response = api.remove(PATH)
    assert response.status_code == (200 if day == 13 else 400)
    assert Erasure.objects.exists() == (day == 15)


def test_erasure_deletes_a_data_export_requested_after_the_erasure_request(api, user):
    api.send(PATH)
    assert api.send("/account/exports").status_code == 202
    assert exports.process_exports(now=timezone.now())["exported"] == 1
    name = Export.objects.get().name
    wait_over()
    call_command("process_privacy", "--once", stdout=StringIO())
    assert (Export.objects.count(), storage.storage().exists(name)) == (0, False)


@pytest.mark.parametrize("scopes", [None, ["offers:read"]])
def test_api_key_cannot_request_erasure(user, scopes):
    assert_error(ApiClient(api_key=issue(user, scopes=scopes).key).send(PATH), 403, "E2005")
    assert not Erasure.objects.exists()


def test_erasure_requires_the_second_factor_of_the_account(api, user):
    authenticator_of(user)
    assert_error(api.send(PATH), 403, "E2012")
    assert not Erasure.objects.exists()


def test_open_application_blocks_erasure_with_its_deadline_in_the_error(api, user):
    application = ApplicationFactory(consumer=user, status="under_review", submitted_at=timezone.now())
    obstacles = assert_error(api.send(PATH), 400, "E3021")["details"]["obstacles"]
    assert [set(each) for each in obstacles] == [{"reason", "until"}]
    assert api.read(PATH).json()["obstacles"] == obstacles
    assert "Withdraw it" in obstacles[0]["reason"]
    with pytest.raises(CommandError, match="Withdraw it"):
        call_command("erase_subject", str(user.pk))
    Application.objects.filter(pk=application.pk).update(status="withdrawn")
    assert api.send(PATH).status_code == 201


def test_erasure_error_for_a_submitted_application_states_its_deadline(api, user):
    application = ApplicationFactory(consumer=user)
    body = {"status": "submitted", "updated_by": str(user.pk)}
    assert api.replace(f"/applications/{application.pk}/status", body).status_code == 200
    refusal = assert_error(api.send(PATH), 400, "E3021")
    due = Clock.objects.get(application=application).due_at
    assert refusal["details"]["obstacles"][0]["until"] == rfc3339(due)
    day = f"{due:%B} {due.day}, {due.year}"
    assert f"Its next deadline is {day}." in refusal["message"]
    browser = Client()
    browser.force_login(user)
    assert f"Its next deadline is {day}." in browser.get(reverse("account_privacy")).content.decode()


def test_staff_and_members_of_a_lender_cannot_be_erased(user):
    provider = ProviderFactory()
    assert_error(client_of(provider.owner).send(PATH), 400, "E3021")
    user.groups.add(Group.objects.get(name="Partner"))
    assert_error(client_of(user).send(PATH), 400, "E3021")


def test_privacy_page_requests_and_cancels_erasure(user):
    browser = Client()
    browser.force_login(user)
    page = reverse("account_privacy")
    location = browser.post(page, {"do": "erase"}).headers["Location"]
    browser.post(location, {"password": PASSWORD, "next": page})
    browser.post(page, {"do": "erase"})
    assert Erasure.objects.get().account == user
    assert "You requested the deletion." in browser.get(page).content.decode()
    browser.post(page, {"do": "keep"})
    assert not Erasure.objects.exists()


def test_privacy_page_shows_the_obstacles_of_a_requested_erasure(user):
    erasure._record(user.pk, requested_at=timezone.now())
    browser = Client()
    browser.force_login(user)
    page = reverse("account_privacy")
    assert "It can't start yet" not in browser.get(page).content.decode()
    ApplicationFactory(consumer=user, status="under_review", submitted_at=timezone.now())
    shown = browser.get(page).content.decode()
    assert "It can't start yet" in shown
    assert "Withdraw it" in shown


def test_privacy_page_lists_the_content_of_decision_records_before_version_4(user):
    Planter(user, "x", application=ApplicationFactory(consumer=user)).row(DecisionAnchor)
    browser = Client()
    browser.force_login(user)
    page = reverse("account_privacy")
    assert "those of versions 1 to 3 also contain the text of the reason" in browser.get(page).content.decode()
    german = browser.get(page, headers={"Accept-Language": "de"}).content.decode()
    assert "die der Versionen 1 bis 3 enthalten auch den Text der Begründung" in german


@pytest.fixture
def kept(user):
    """Return a withdrawn application that the law requires to retain after the erasure of its account."""
    row = ApplicationFactory(
        consumer=user, status="withdrawn", submitted_at=timezone.now(), notes="qqsecret",
        applicants=Applicants.of([changed("legal_name", "qqsecret")]),
    )  # fmt: skip
    erasure.erase(erasure._record(user.pk, requested_at=timezone.now()), now=timezone.now())
    assert Application.objects.get().notes == "qqsecret"
    return row


def test_retained_application_is_masked_for_reviewers(kept):
    reviewers = backoffice_client(staff_of("Reviewer"))
    for page in ("changelist", "change"):
        address = reverse(f"admin:credit_application_{page}", args=[kept.pk] if page == "change" else [])
        assert "qqsecret" not in reviewers.get(address).content.decode()
    action = reverse("admin:credit_application_do", args=[kept.pk, "unmask"])
    assert reviewers.get(action).status_code in {403, 404}


def test_files_of_a_retained_application_can_be_opened_after_unmasking(kept):
    stored = storage.store_file(b"%PDF-1.4", now=timezone.now())
    document = RequestedDocument.objects.create(
        application=kept, name="Pay slip", requested_at=timezone.now(), changed_by=kept.consumer
    )
    file = DocumentFile.objects.create(
        document=document,
        stored=stored, name="qqfile", size_bytes=8, content_type="application/pdf", principal=kept.consumer,
        sha256=storage.sha256(b"%PDF-1.4").hexdigest(), received_at=timezone.now(),
    )  # fmt: skip
    address = reverse("admin:credit_application_file", args=[kept.pk, file.pk])
    assert backoffice_client(staff_of("Reviewer")).get(address).status_code == 403
    operator = backoffice_client(staff_of("Operations"))
    page = reverse("admin:credit_application_change", args=[kept.pk])
    assert operator.get(address).status_code == 403
    assert address not in operator.get(page).content.decode()
    send_form(operator, reverse("admin:credit_application_do", args=[kept.pk, "unmask"]), reason="Exam 28-1")
    assert address in operator.get(page).content.decode()
    assert operator.get(address).getvalue() == b"%PDF-1.4"


def test_retained_application_cannot_be_decided(kept):
    reviewers = backoffice_client(staff_of("Reviewer"))
    assert reviewers.post(reverse("admin:credit_application_note", args=[kept.pk]), {"text": "x"}).status_code == 403


def test_support_cannot_unmask_a_retained_application(kept):
    support = backoffice_client(staff_of("Support"))
    assert support.get(reverse("admin:credit_application_do", args=[kept.pk, "unmask"])).status_code == 403
    page = support.get(reverse("admin:credit_application_change", args=[kept.pk]))
    assert "qqsecret" not in page.content.decode()


def test_operations_can_unmask_a_retained_application_for_a_stated_reason(kept):
    operator = backoffice_client(staff_of("Operations"))
    page = reverse("admin:credit_application_change", args=[kept.pk])
    assert "qqsecret" not in operator.get(page).content.decode()
    send_form(operator, reverse("admin:credit_application_do", args=[kept.pk, "unmask"]), reason="Exam 28-1")
    assert "qqsecret" in operator.get(page).content.decode()
    assert DataAccess.objects.get(action="unmasked").reason == "Exam 28-1"


def test_operations_cannot_unmask_applications_of_accounts_that_are_not_erased():
    application = ApplicationFactory(notes="qqsecret", status="submitted", submitted_at=timezone.now())
    operator = backoffice_client(staff_of("Operations"))
    for name, arguments in (("do", [application.pk, "unmask"]), ("change", [application.pk]), ("changelist", [])):
        assert operator.get(reverse(f"admin:credit_application_{name}", args=arguments)).status_code == 403


def test_lender_and_reviewer_cannot_read_a_retained_application_over_the_api(kept):
    provider = ProviderFactory(id=str(kept.provider_id))
    for reader in (provider.owner, staff_of("Reviewer")):
        assert_error(client_of(reader).read(f"/applications/{kept.pk}"), 404, "E4002")
    page = console_client(provider.owner).get(reverse("admin:credit_application_changelist"))
    assert str(kept.pk) not in page.content.decode()


@pytest.fixture
def lender(kept):
    """Return the lender of the retained application."""
    provider = ProviderFactory(id=str(kept.provider_id), created_at=kept.created_at - timedelta(days=1))
    provider.owner.groups.add(Group.objects.get(name="Lender"))
    return provider


def page_of_a_lender(kept, member):
    return console_client(member).get(reverse("admin:credit_application_change", args=[kept.pk]))


def test_lender_reviewer_can_unmask_a_retained_application_with_a_reason(kept, lender):
    page = page_of_a_lender(kept, lender.owner)
    assert page.status_code == 200
    assert "qqsecret" not in page.content.decode()
    client = console_client(lender.owner)
    send_form(client, reverse("admin:credit_application_do", args=[kept.pk, "unmask"]), reason="Exam 28-1")
    address = reverse("admin:credit_application_change", args=[kept.pk])
    assert "qqsecret" in client.get(address).content.decode()
    access = DataAccess.objects.get(action="unmasked")
    assert (access.reason, access.provider, access.viewer) == ("Exam 28-1", lender.pk, lender.owner)
    listed = client.get(reverse("admin:credit_application_changelist"))
    assert str(kept.pk) not in listed.content.decode()


def test_lender_reader_can_open_only_the_masked_page_of_retained_applications(kept, lender):
    reader = UserFactory()
    ProviderMember.objects.create(provider=lender, user=reader, role=ProviderMember.READER)
    page = page_of_a_lender(kept, reader)
    assert page.status_code == 200
    assert "qqsecret" not in page.content.decode()
    action = reverse("admin:credit_application_do", args=[kept.pk, "unmask"])
    assert console_client(reader).get(action).status_code == 403


def test_other_lender_cannot_open_a_retained_application(kept, lender):
    other = ProviderFactory(created_at=lender.created_at)
    other.owner.groups.add(Group.objects.get(name="Lender"))
    assert page_of_a_lender(kept, other.owner).status_code == 404
    action = reverse("admin:credit_application_do", args=[kept.pk, "unmask"])
    assert console_client(other.owner).get(action).status_code == 404


def test_masked_page_of_a_retained_application_contains_no_personal_data(user):
    application = planted(user, "qqmarker", status="withdrawn", submitted_at=timezone.now())
    Application.objects.update(share=["bank"], offer_snapshot=None)
    created_at = application.created_at - timedelta(days=1)
    owner = ProviderFactory(id=str(application.provider_id), created_at=created_at).owner
    owner.groups.add(Group.objects.get(name="Lender"))
    erasure.erase(erasure._record(user.pk, requested_at=timezone.now()), now=timezone.now())
    address = reverse("admin:credit_application_change", args=[application.pk])
    viewers = [
        backoffice_client(staff_of("Reviewer")),
        backoffice_client(staff_of("Operations")),
        console_client(owner),
    ]
    for viewer in viewers:
        page = viewer.get(address)
        assert (page.status_code, "qqmarker" in page.content.decode()) == (200, False)


def test_back_office_export_omits_retained_applications(kept):
    reviewers = backoffice_client(staff_of("Reviewer"))
    response = reviewers.post(f"{reverse('admin:credit_application_changelist')}export/csv/")
    assert str(kept.pk) not in response.getvalue().decode()


def test_erasure_request_is_hidden_from_other_accounts(api, stranger_api):
    api.send(PATH)
    assert stranger_api.read(PATH).json()["status"] == "none"
    assert stranger_api.remove(PATH).status_code == 200
    assert Erasure.objects.count() == 1
    assert UserFactory().is_active
