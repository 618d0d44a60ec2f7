"""Test that an account erasure deletes personal data, or retains it on a legal ground for a limited time."""

from datetime import timedelta
from importlib import import_module
from io import StringIO
from types import SimpleNamespace

import pytest
from allauth.account.models import EmailAddress
from django.apps import apps
from django.contrib.admin.models import LogEntry
from django.contrib.contenttypes.models import ContentType
from django.contrib.sessions.models import Session
from django.core.management import CommandError, call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from config.clients.provider import ProviderUnavailable
from config.core import erasure as core_erasure
from config.core import privacy
from config.core.casework import DataAccess, Note
from config.core.encryption import blind_digests
from config.core.lifecycle import Actor, RecordNotEditable
from config.core.registration import declared
from config.mail.outbox import queue_mail
from config.ops import pruning
from config.ops.models import FailedItem
from credit.documents import storage
from credit.models import Application, DocumentFile, RequestedDocument
from identity.accounts import erasure
from identity.accounts.models import DeletionRequest, Erasure
from identity.bank import services as bank
from identity.bank.models import BankItem
from identity.providers.models import SandboxItem
from ledger.models import Entry
from tests.api import client_of
from tests.config.test_unreadable import lose_the_key
from tests.factories import ApplicationFactory, UserFactory
from tests.flows.markers import Planter, personal_tables, places_of, rows_of
from tests.identity.test_bankdata_exchange import exchange
from tests.properties import quick_or_full

pytestmark = pytest.mark.django_db
MIGRATION = import_module("identity.migrations.0012_erasure")
MINE, THEIRS = "mk-mine", "mk-theirs"
EVIDENCE = ["audit_log", "decision_records"]  # The rows are retained after the erasure of every account with markers.


def planted(user, marker, **application):
    """Create the marked rows of a person whose only application has the given fields."""
    row = ApplicationFactory(consumer=user, **application)
    Planter(user, marker, application=row).plant()
    return row


def declared_with(**conditions):
    """Return `app.Model.field` for the personal fields whose retention ground meets the conditions."""
    return {
        f"{model._meta.label}.{name}"
        for model in personal_tables()
        for name, treatment in privacy.personal_fields(model).items()
        if treatment.keep and all(getattr(treatment.keep, key) == value for key, value in conditions.items())
    }


def grounds_of(record):
    return [each["ground"] for each in record.kept]


def left_of(marker):
    """Return the places of a marker, without those retained even if no application or payment exists."""
    return places_of(marker) - declared_with(is_permanent=True) - declared_with(ground="audit_log")


def erased(user, *, days=14):
    now = timezone.now()
    Erasure.objects.get_or_create(
        account=user,
        defaults={
            "subject_key": erasure.subject_key(user.pk), "requested_at": now, "look_at": now,
            "due_at": now + Erasure.DUE,
        },
    )  # fmt: skip
    assert erasure.process_requested(now=now + timedelta(days=days)) == {"erased": 1, "failed": 0}
    return Erasure.objects.get(subject_key=erasure.subject_key(user.pk))


def add_bank_items(user, count, prefix="i"):
    now = timezone.now()
    for number in range(count):
        BankItem.objects.create(
            user=user, provider="sandbox", item_id=f"{prefix}{number}", token_fingerprint=f"{prefix}{number}",
            access_token=f"t{number}", linked_at=now, updated_at=now,
        )  # fmt: skip


@pytest.fixture
def person():
    return UserFactory()


def test_erasure_without_retention_grounds_retains_only_decision_records_and_the_audit_log(person):
    other = UserFactory()
    planted(person, MINE)
    planted(other, THEIRS)
    DeletionRequest.objects.filter(user=other).delete()  # The request would be migrated to an erasure.
    tables = {model._meta.label for model in personal_tables() if Planter.texts(model)}
    assert tables <= {place.rpartition(".")[0] for place in places_of(MINE)}

    def others_data():
        return places_of(THEIRS), {model: rows_of(model, other).count() for model in personal_tables()}

    before = others_data()
    record = erased(person)
    assert (record.status, grounds_of(record)) == ("waiting", EVIDENCE)
    assert left_of(MINE) == set()
    assert others_data() == before
    assert str(person.pk) not in {record.subject_key, str(record.kept)}
    assert person.username not in str(vars(record))
    kept = declared_with(is_permanent=True) | declared_with(ground="audit_log")
    for model in personal_tables():
        names = [name for name in privacy.personal_fields(model) if f"{model._meta.label}.{name}" not in kept]
        values = [(row._meta.label, name, getattr(row, name)) for row in rows_of(model, person) for name in names]
        assert not [each for each in values if each[2] and not str(each[2]).startswith("erased-")]


def test_audit_log_text_is_erased_after_5_years(person):
    planted(person, MINE)
    record = erased(person)
    last_day = (timezone.now() + erasure.AUDIT_LOG_LASTS + timedelta(days=14)).date()
    assert record.kept[0]["until"] == last_day.isoformat()
    pruning.prune(now=record.look_at - timedelta(minutes=1))
    assert "backoffice.DataAccess.reason" in places_of(MINE)
    pruning.prune(now=record.look_at)
    assert places_of(MINE) == {"credit.DecisionAnchor.record", "credit.DecisionAnchor.proof"}
    record.refresh_from_db()
    assert (record.status, record.account) == ("done", None)


def test_erasure_does_not_retain_access_log_entries_that_contain_no_reason(person):
    DataAccess.note("page", viewer=UserFactory(), kind="identity.user", now=timezone.now(), subject=person)
    record = erased(person)
    assert (record.status, record.kept) == ("done", [])


def test_staff_texts_about_an_application_are_erased_when_retention_ends(person):
    application = planted(person, MINE, status="withdrawn", submitted_at=timezone.now())
    about = {"kind": "credit.application", "record_id": str(application.pk)}
    Note.objects.create(author=UserFactory(), text=MINE, at=timezone.now(), **about)
    LogEntry.objects.create(
        user=UserFactory(), content_type=ContentType.objects.get_for_model(Application), object_id=application.pk,
        object_repr=MINE, change_message=MINE, action_flag=2,
    )  # fmt: skip
    places = {"backoffice.Note.text", "admin.LogEntry.object_repr", "admin.LogEntry.change_message"}
    erased(person)
    assert places <= places_of(MINE)
    pruning.prune(now=timezone.now() + timedelta(days=31 * 40))
    assert not places & places_of(MINE)


def test_erasure_deletes_uploaded_files_with_their_keys(person):
    application = planted(person, MINE)
    stored = storage.store_file(b"%PDF-1.4 " + MINE.encode(), now=timezone.now())
    document = RequestedDocument.objects.get(application=application)
    DocumentFile.objects.create(
        document=document, stored=stored, name="x", size_bytes=1, received_at=timezone.now(), principal=person
    )
    erased(person)
    stored.refresh_from_db()
    assert (stored.key, storage.storage().exists(stored.name)) == ("", False)
    assert stored.deleted_at is not None


def test_erasure_removes_the_linked_bank_at_the_vendor(person):
    exchange(client_of(person), person)
    linked = SandboxItem.objects.get()
    assert linked.removed_at is None
    erased(person)
    linked.refresh_from_db()
    assert linked.removed_at is not None
    assert not BankItem.objects.exists()


def test_erasure_removes_every_bank_item_despite_vendor_failures(person, monkeypatch):
    now = timezone.now()
    add_bank_items(person, 5)
    removed = []

    class Double:
        def remove_item(self, token):
            if len(removed) == 2 and "failed" not in removed:
                removed.append("failed")
                raise ProviderUnavailable("away")
            removed.append(token)

    monkeypatch.setattr(bank, "open_banking", Double)
    erasure._record(person.pk, requested_at=now - timedelta(days=15))
    assert erasure.process_requested(now=now) == {"erased": 0, "failed": 1}
    assert BankItem.objects.filter(user=person).count() == 3
    assert erasure.process_requested(now=now + timedelta(hours=1)) == {"erased": 1, "failed": 0}
    assert sorted(removed) == ["failed", "t0", "t1", "t2", "t3", "t4"]


def _of_another_vendor(item):
    BankItem.objects.filter(pk=item.pk).update(provider="plaid")


def _with_an_unreadable_token(item):
    lose_the_key(item, "access_token")


@pytest.mark.parametrize("break_item", [_of_another_vendor, _with_an_unreadable_token])
def test_bank_item_removal_failure_fails_the_erasure_and_preserves_the_token(person, break_item):
    planted(person, MINE)
    item = BankItem.objects.get()
    break_item(item)
    now = timezone.now()
    erasure._record(person.pk, requested_at=now - timedelta(days=15))
    assert erasure.process_requested(now=now) == {"erased": 0, "failed": 1}
    assert FailedItem.objects.get(kind="erasure").error == "ItemNotRemoved"
    left = BankItem.objects.get()
    assert (left.pk, left.unlinked_at) == (item.pk, None)
    item.delete()  # An operator removed the item at the vendor.
    assert erasure.process_requested(now=now + timedelta(hours=1)) == {"erased": 1, "failed": 0}


def test_prune_deletes_retained_records_when_their_retention_ends(person):
    now = timezone.now()
    planted(person, MINE, status="withdrawn", submitted_at=now)
    record = erased(person)
    kept = {each["ground"]: each for each in record.kept}
    assert record.status == "waiting"
    assert kept["application_records"]["until"] is not None
    left = left_of(MINE)
    assert "credit.Application.applicants" in left
    assert left <= declared_with(ground="application_records")
    before_the_day = now + timedelta(days=31 * 24)
    pruning.prune(now=before_the_day)
    assert "credit.Application.applicants" in places_of(MINE)
    pruning.prune(now=now + timedelta(days=31 * 40))
    assert left_of(MINE) == set()
    assert grounds_of(Erasure.objects.get()) == EVIDENCE


def test_each_application_is_erased_when_its_own_retention_ends(person):
    now = timezone.now()
    planted(person, MINE, status="withdrawn", submitted_at=now)
    Application.objects.update(updated_at=now - timedelta(days=22 * 30))
    later = ApplicationFactory(consumer=person, status="withdrawn", submitted_at=now, notes=THEIRS)
    record = erased(person)
    assert record.look_at < now + timedelta(days=31 * 6)
    pruning.prune(now=now + timedelta(days=31 * 6))
    assert "credit.Application.applicants" not in places_of(MINE)
    later.refresh_from_db()
    assert later.notes == THEIRS
    assert Erasure.objects.get().look_at > now + timedelta(days=31 * 20)


class Killed(BaseException):
    pass


def kill(*_arguments, **_options):
    raise Killed


@pytest.mark.parametrize("at", quick_or_full((0, 4, 9), range(10)))
def test_erasure_killed_at_any_step_completes_when_repeated(person, monkeypatch, at):
    planted(person, MINE)
    kinds = ("vendor_tokens", "erasure_steps")
    assert sum(len(list(declared(kind))) for kind in kinds) == 9
    calls = []

    def killing(kind):
        return [wrapped(step) for step in declared(kind)] if kind in kinds else declared(kind)

    def wrapped(step):
        def run(user_id, *, now):
            step(user_id, now=now)
            calls.append(step)
            if len(calls) == at + 1:
                raise Killed

        return run

    with monkeypatch.context() as patched:
        patched.setattr(erasure, "declared", killing)
        if at == 9:
            patched.setattr(erasure, "_close", kill)
        record = erasure._record(person.pk, requested_at=timezone.now())
        with pytest.raises(Killed):
            erasure.erase(record, now=timezone.now())
    erasure.erase(Erasure.objects.get(), now=timezone.now())
    assert grounds_of(Erasure.objects.get()) == EVIDENCE
    assert left_of(MINE) == set()


def test_erasure_killed_between_two_tables_completes_when_repeated(person, monkeypatch):
    planted(person, MINE)
    record = erasure._record(person.pk, requested_at=timezone.now())
    erase_of_table, calls = core_erasure._erase, []

    def killed_soon(rows, fields):
        calls.append(rows)
        return kill() if len(calls) == 10 else erase_of_table(rows, fields)

    with monkeypatch.context() as patched:
        patched.setattr(core_erasure, "_erase", killed_soon)
        with pytest.raises(Killed):
            erasure.erase(record, now=timezone.now())
    erasure.erase(Erasure.objects.get(), now=timezone.now())
    assert left_of(MINE) == set()


def test_worker_completes_an_erase_subject_command_that_was_killed(person, monkeypatch):
    planted(person, MINE)
    with monkeypatch.context() as patched:
        patched.setattr(erasure, "_close", kill)
        with pytest.raises(Killed):
            call_command("erase_subject", str(person.pk))
    with pytest.raises(RecordNotEditable):
        erasure.cancel_erasure(Actor(person, "jwt"), person.pk, now=timezone.now())
    assert erasure.process_requested(now=timezone.now()) == {"erased": 1, "failed": 0}
    assert grounds_of(Erasure.objects.get()) == EVIDENCE


def test_erasure_is_postponed_only_by_an_open_application_of_an_enabled_account(person):
    now = timezone.now()
    record = erasure._record(person.pk, requested_at=now - timedelta(days=15))
    application = ApplicationFactory(consumer=person, status="under_review", submitted_at=now)
    for status in ("under_review", "approved"):
        Application.objects.filter(pk=application.pk).update(status=status)
        assert erasure.process_requested(now=now) == {"erased": 0, "failed": 0}
        record.refresh_from_db()
        assert (record.status, record.look_at) == ("requested", now + timedelta(days=1))
        Erasure.objects.update(look_at=now)
    person.refresh_from_db()
    assert (person.is_active, person.erased_at) == (True, None)
    disabled = UserFactory(is_active=False)
    ApplicationFactory(consumer=disabled, status="approved", submitted_at=now)
    erasure._record(disabled.pk, requested_at=now - timedelta(days=15))
    assert erasure.process_requested(now=now) == {"erased": 1, "failed": 0}
    Application.objects.filter(pk=application.pk).update(status="withdrawn")
    assert erasure.process_requested(now=now + timedelta(days=1)) == {"erased": 1, "failed": 0}


def test_erase_subject_command_is_rejected_while_an_application_is_open(person):
    erasure._record(person.pk, requested_at=timezone.now())
    ApplicationFactory(consumer=person, status="under_review", submitted_at=timezone.now())
    with pytest.raises(CommandError, match="Withdraw the application"):
        call_command("erase_subject", str(person.pk), stdout=StringIO())
    person.refresh_from_db()
    assert person.erased_at is None


def test_canceled_erasure_erases_nothing(person):
    record = erasure._record(person.pk, requested_at=timezone.now())
    erasure.cancel_erasure(Actor(person, "jwt"), person.pk, now=timezone.now())
    erasure.erase(record, now=timezone.now())
    person.refresh_from_db()
    assert (person.is_active, person.erased_at) == (True, None)


def _carried_over_by_the_migration(_now):
    MIGRATION.carry_over(apps, SimpleNamespace(connection=connection))


def _carried_over_by_the_worker(now):
    erasure.process_requested(now=now)


@pytest.mark.parametrize("carry_over", [_carried_over_by_the_migration, _carried_over_by_the_worker])
def test_deletion_requests_of_version_1_0_become_erasures_after_the_upgrade(carry_over):
    now = timezone.now()
    ended, enabled = UserFactory(is_active=False), UserFactory()
    for user in (ended, enabled):
        DeletionRequest.objects.create(user=user, requested_at=now - timedelta(days=40))
    carry_over(now)
    record = Erasure.objects.get()
    assert (record.account, record.status) == (ended, "requested")
    assert record.requested_at == now - timedelta(days=40)
    assert now + timedelta(days=14) <= record.look_at < now + timedelta(days=14, minutes=5)
    assert not DeletionRequest.objects.exists()


def test_deletion_request_created_during_the_migration_is_migrated(monkeypatch):
    earlier, later = UserFactory(is_active=False), UserFactory(is_active=False)
    DeletionRequest.objects.create(user=earlier, requested_at=timezone.now())

    def digests_while_another_requests(text):
        DeletionRequest.objects.create(user=later, requested_at=timezone.now())
        return blind_digests(text)

    monkeypatch.setattr(MIGRATION, "blind_digests", digests_while_another_requests)
    _carried_over_by_the_migration(None)
    assert DeletionRequest.objects.get().user == later


def test_erasure_deletes_rows_in_chunks(person, monkeypatch):
    add_bank_items(person, 5)
    other = UserFactory()
    add_bank_items(other, 1, "x")
    monkeypatch.setattr(core_erasure, "CHUNK_ROWS", 2)
    deletes = {"item_id": privacy.Treatment("personal", erase=privacy.DELETE_ROW)}
    with CaptureQueriesContext(connection) as captured:
        core_erasure._erase(BankItem.objects.filter(user=person), deletes)
    assert len([query for query in captured if query["sql"].startswith('DELETE FROM "identity_bankitem"')]) == 3
    assert BankItem.objects.get().user == other


def test_erase_subject_command_erases_immediately_and_is_idempotent(person):
    planted(person, MINE)
    EmailAddress.objects.create(user=person, email="gone@example.test", verified=True)
    mail = queue_mail("gone@example.test", "notice", {"name": MINE}, now=timezone.now())
    call_command("erase_subject", str(person.pk), stdout=StringIO())
    assert left_of(MINE) == set()
    mail.refresh_from_db()
    assert (mail.recipient, mail.context, mail.status) == ("", "", "failed")
    call_command("erase_subject", str(person.pk), stdout=StringIO())
    assert grounds_of(Erasure.objects.get()) == EVIDENCE
    assert not Session.objects.exists()
    assert not Entry.objects.filter(user_id=str(person.pk)).exists()
    assert Application.objects.get().consumer == person
