"""Test that an account can request its erasure, and cancel it for 14 days."""

from datetime import timedelta
from io import StringIO
from types import SimpleNamespace

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
from tests.factories import ApplicationFactory, ProviderFactory, UserFactory
from tests.flows.markers import Planter
from tests.flows.test_erasure import left_of, planted
from tests.identity.support import issue
from tests.second_factors import authenticator_of

pytestmark = pytest.mark.django_db
PATH = "/account/erasure"
FIELDS = {"id", "status", "requested_at", "due_at", "obstacles", "kept", "completed_at"}


def wait_over():
    Erasure.objects.update(look_at=timezone.now() - timedelta(minutes=1))


def test_erasure_is_scheduled_for_14_days_after_the_request(api, user, stranger_api, key):
    response = api.send(PATH, key=key)
    shown = response.json()
    assert (response.status_code, set(shown)) == (201, FIELDS)
    assert (shown["status"], shown["kept"], shown["completed_at"]) == ("requested", [], None)
    record = Erasure.objects.get()
    assert record.look_at - record.requested_at == timedelta(days=14)
    assert record.due_at - record.requested_at == timedelta(days=30)
    assert api.read(PATH).json() == shown
    assert api.send(PATH).json() == shown
    again = api.send(PATH, key=key)
    assert (again.json(), again.headers["Idempotent-Replayed"]) == (shown, "true")
    assert stranger_api.read(PATH).json()["status"] == "none"
    assert stranger_api.remove(PATH).status_code == 200
    assert AccountHistory.objects.filter(account=user, action="account.deletion_requested").count() == 1
    call_command("process_privacy", "--once", stdout=StringIO())
    assert api.read(PATH).json()["status"] == "requested"


def test_erasure_request_can_be_canceled_within_14_days(api, user):
    assert api.remove(PATH).status_code == 200
    erasure._record(user.pk, requested_at=timezone.now() - timedelta(days=13))
    assert api.remove(PATH).status_code == 200
    none = dict.fromkeys(("id", "requested_at", "due_at", "completed_at")) | {"obstacles": [], "kept": []}
    none["status"] = "none"
    assert api.read(PATH).json() == none
    erasure._record(user.pk, requested_at=timezone.now() - timedelta(days=15))
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


def test_erasure_processed_by_two_workers_is_executed_once(user, monkeypatch):
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


def test_erasure_deletes_a_data_export_requested_after_the_erasure_request(api, user):
    api.send(PATH)
    assert api.send("/account/exports").status_code == 202
    assert exports.process_exports(now=timezone.now())["exported"] == 1
    name = Export.objects.get().name
    wait_over()
    call_command("process_privacy", "--once", stdout=StringIO())
    assert (Export.objects.count(), storage.storage().exists(name)) == (0, False)


def test_erasure_and_export_requests_require_a_log_in_with_the_second_factor(api, user):
    clients = [(ApiClient(api_key=issue(user, scopes=scopes).key), "E2005") for scopes in (None, ["offers:read"])]
    authenticator_of(user)
    for client, code in (*clients, (api, "E2012")):
        for path in (PATH, "/account/exports"):
            assert_error(client.send(path), 403, code)
    assert not Erasure.objects.exists()
    assert not Export.objects.exists()


def test_error_for_an_erasure_blocked_by_an_open_application_contains_the_deadline(api, user):
    application = ApplicationFactory(consumer=user, status="under_review", submitted_at=timezone.now())
    obstacles = assert_error(api.send(PATH), 400, "E3021")["details"]["obstacles"]
    assert [set(each) for each in obstacles] == [{"reason", "until"}]
    assert api.read(PATH).json()["obstacles"] == obstacles
    assert "Withdraw the application" in obstacles[0]["reason"]
    with pytest.raises(CommandError, match="Withdraw the application"):
        call_command("erase_subject", str(user.pk))
    Application.objects.filter(pk=application.pk).update(status="withdrawn")
    assert api.send(PATH).status_code == 201


def test_erasure_error_for_a_submitted_application_states_the_deadline_of_the_application(api, user):
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


def test_privacy_page_lists_the_reasons_that_block_a_requested_erasure(user):
    erasure._record(user.pk, requested_at=timezone.now())
    browser = Client()
    browser.force_login(user)
    page = reverse("account_privacy")
    assert "The deletion can't start yet" not in browser.get(page).content.decode()
    ApplicationFactory(consumer=user, status="under_review", submitted_at=timezone.now())
    shown = browser.get(page).content.decode()
    assert "The deletion can't start yet" in shown
    assert "Withdraw the application" in shown


def test_privacy_page_lists_the_content_of_decision_records_before_version_4(user):
    Planter(user, "x", application=ApplicationFactory(consumer=user)).row(DecisionAnchor)
    browser = Client()
    browser.force_login(user)
    page = reverse("account_privacy")
    assert "records of versions 1 to 3 also contain the text of the reason" in browser.get(page).content.decode()
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


def page(name, *arguments):
    return reverse(f"admin:credit_application_{name}", args=arguments)


def test_retained_application_is_masked_for_reviewers_and_support(kept):
    reviewers, support = backoffice_client(staff_of("Reviewer")), backoffice_client(staff_of("Support"))
    for address in (page("changelist"), page("change", kept.pk)):
        assert "qqsecret" not in reviewers.get(address).content.decode()
    assert "qqsecret" not in support.get(page("change", kept.pk)).content.decode()
    for client in (reviewers, support):
        assert client.get(page("do", kept.pk, "unmask")).status_code in {403, 404}
    assert reviewers.post(page("note", kept.pk), {"text": "x"}).status_code == 403
    assert str(kept.pk) not in reviewers.post(f"{page('changelist')}export/csv/").getvalue().decode()


def test_operations_can_unmask_a_retained_application_and_its_files_for_a_stated_reason(kept):
    stored = storage.store_file(b"%PDF-1.4", now=timezone.now())
    document = RequestedDocument.objects.create(
        application=kept, name="Pay slip", requested_at=timezone.now(), changed_by=kept.consumer
    )
    file = DocumentFile.objects.create(
        document=document,
        stored=stored, name="qqfile", size_bytes=8, content_type="application/pdf", principal=kept.consumer,
        sha256=storage.sha256(b"%PDF-1.4").hexdigest(), received_at=timezone.now(),
    )  # fmt: skip
    address = page("file", kept.pk, file.pk)
    assert backoffice_client(staff_of("Reviewer")).get(address).status_code == 403
    operator = backoffice_client(staff_of("Operations"))
    assert operator.get(address).status_code == 403
    masked = operator.get(page("change", kept.pk)).content.decode()
    assert (address in masked, "qqsecret" in masked) == (False, False)
    send_form(operator, page("do", kept.pk, "unmask"), reason="Exam 28-1")
    unmasked = operator.get(page("change", kept.pk)).content.decode()
    assert (address in unmasked, "qqsecret" in unmasked) == (True, True)
    assert operator.get(address).getvalue() == b"%PDF-1.4"
    assert DataAccess.objects.get(action="unmasked").reason == "Exam 28-1"


def test_operations_can_unmask_only_applications_of_erased_accounts():
    application = ApplicationFactory(notes="qqsecret", status="submitted", submitted_at=timezone.now())
    operator = backoffice_client(staff_of("Operations"))
    for name, arguments in (("do", [application.pk, "unmask"]), ("change", [application.pk]), ("changelist", [])):
        assert operator.get(reverse(f"admin:credit_application_{name}", args=arguments)).status_code == 403


@pytest.fixture
def lender(kept):
    """Return the lender of the retained application."""
    provider = ProviderFactory(id=str(kept.provider_id), created_at=kept.created_at - timedelta(days=1))
    provider.owner.groups.add(Group.objects.get(name="Lender"))
    return provider


def test_lender_reviewer_can_unmask_a_retained_application_with_a_reason(kept, lender):
    client = console_client(lender.owner)
    masked = client.get(page("change", kept.pk))
    assert (masked.status_code, "qqsecret" in masked.content.decode()) == (200, False)
    send_form(client, page("do", kept.pk, "unmask"), reason="Exam 28-1")
    assert "qqsecret" in client.get(page("change", kept.pk)).content.decode()
    access = DataAccess.objects.get(action="unmasked")
    assert (access.reason, access.provider, access.viewer) == ("Exam 28-1", lender.pk, lender.owner)
    assert str(kept.pk) not in client.get(page("changelist")).content.decode()


def test_retained_application_is_masked_for_lender_readers_and_hidden_from_other_lenders_and_the_api(kept, lender):
    reader = UserFactory()
    ProviderMember.objects.create(provider=lender, user=reader, role=ProviderMember.READER)
    masked = console_client(reader).get(page("change", kept.pk))
    assert (masked.status_code, "qqsecret" in masked.content.decode()) == (200, False)
    assert console_client(reader).get(page("do", kept.pk, "unmask")).status_code == 403
    other = ProviderFactory(created_at=lender.created_at)
    other.owner.groups.add(Group.objects.get(name="Lender"))
    for address in (page("change", kept.pk), page("do", kept.pk, "unmask")):
        assert console_client(other.owner).get(address).status_code == 404
    for person in (lender.owner, staff_of("Reviewer")):
        assert_error(client_of(person).read(f"/applications/{kept.pk}"), 404, "E4002")


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
