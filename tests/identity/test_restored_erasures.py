"""Test that erased accounts in a restored backup are erased again from `erasures.jsonl`."""

import json
import os
from io import StringIO

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.files.base import ContentFile
from django.core.management import CommandError, call_command
from django.utils import timezone

from config.ops.checks import require_at_start
from credit.documents import storage
from credit.models import DocumentFile, RequestedDocument, StoredFile
from identity.accounts import erasure, erasure_log
from identity.accounts.models import Erasure
from tests.factories import ApplicationFactory, UserFactory

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def log(tmp_path, monkeypatch):
    """Return the path of this test's own erasure file."""
    monkeypatch.setattr(erasure_log, "path", lambda: tmp_path / "erasures.jsonl")
    return tmp_path / "erasures.jsonl"


@pytest.fixture
def person():
    return UserFactory(first_name="qqname")


def erase(user):
    erasure.erase(erasure._record(user.pk, requested_at=timezone.now()), now=timezone.now())


def restore(user):
    """Restore the account as it was before its erasure."""
    Erasure.objects.all().delete()
    type(user).objects.filter(pk=user.pk).update(erased_at=None, is_active=True, first_name="qqname")


def apply(file, *options):
    out = StringIO()
    call_command("apply_erasures", str(file), "--json", *options, stdout=out)
    return json.loads(out.getvalue())


def test_erasure_log_has_no_personal_data_and_is_a_part_of_the_backup(person, log):
    erasure._record(person.pk, requested_at=timezone.now())
    assert not log.exists(), "a requested erasure writes nothing"
    Erasure.objects.all().delete()
    umask = os.umask(0o077)
    try:
        erase(person)
    finally:
        os.umask(umask)
    entry = json.loads(log.read_text())
    assert entry["subject_key"] == Erasure.objects.get().subject_key == erasure_log.newest()
    assert (set(entry), log.stat().st_mode & 0o777) == ({"subject_key", "requested_at"}, 0o644)
    describe, faults = erasure_log.BACKUP_PARTS["erasures"]
    assert describe() == {"file": str(log), "bytes": log.stat().st_size, "newest": erasure_log.newest()}
    assert faults() == []
    Erasure.objects.all().delete()
    assert "apply_erasures" in faults()[0]


def test_account_restored_from_a_backup_is_erased_again(person, log):
    other = UserFactory(first_name="qqother")
    document = RequestedDocument.objects.create(
        application=ApplicationFactory(consumer=person), name="x", requested_at=timezone.now(), changed_by=person
    )
    stored = storage.store_file(b"%PDF-1.4", now=timezone.now())
    DocumentFile.objects.create(
        document=document, stored=stored, name="x", size_bytes=1, received_at=timezone.now(), principal=person
    )
    erase(person)
    restore(person)
    storage.storage().save(stored.name, ContentFile(b"restored"))
    counted = {"erasures": 1, "erased": 1, "unreadable": 0, "failed": 0, "user_ids": [str(person.pk)]}
    assert apply(log, "--dry-run") == counted
    person.refresh_from_db()
    assert person.first_name == "qqname"
    assert apply(log) == counted
    person.refresh_from_db()
    other.refresh_from_db()
    assert (person.first_name, person.is_active, other.first_name) == ("", False, "qqother")
    assert Erasure.objects.get().status == "done"
    assert not storage.storage().exists(StoredFile.objects.get().name)
    assert apply(log)["erased"] == 0
    assert Erasure.objects.count() == 1
    Erasure.objects.all().delete()
    log.write_text(log.read_text().replace(erasure_log.newest(), "0" * 64))  # The backup lacks this account.
    assert [apply(log)["erased"] for _ in range(2)] == [0, 0]
    record = Erasure.objects.get()
    assert (record.subject_key, record.status, record.account) == ("0" * 64, "done", None)


def test_production_does_not_start_before_the_newest_erasure_is_applied(person, log, settings):
    erase(person)
    require_at_start()
    restore(person)
    require_at_start()  # Starting is allowed in development.
    settings.PRODUCTION = True
    with pytest.raises(ImproperlyConfigured, match=f"apply_erasures {log}"):
        require_at_start()
    apply(log)
    assert not erasure_log.check_erasures()[0].is_serious()


def test_erasure_log_entry_after_a_partial_entry_is_complete(person, log):
    torn = '{"subject_key":"bb'
    log.write_text(torn)
    assert (erasure_log.newest(), erasure_log.check_erasures()[0].is_serious()) == (None, False)
    erase(person)
    lines = log.read_text().split("\n")
    assert (lines[0], json.loads(lines[1])["subject_key"], lines[2:]) == (torn, erasure_log.newest(), [""])
    log.write_text(log.read_text() + torn)
    assert erasure_log.newest() == Erasure.objects.get().subject_key
    restore(person)
    counts = apply(log)
    assert (counts["erasures"], counts["erased"], counts["unreadable"]) == (1, 1, 2)


def test_erasure_fails_if_its_log_entry_is_partially_written(log, monkeypatch):
    write = erasure_log.os.write
    monkeypatch.setattr(erasure_log.os, "write", lambda descriptor, line: write(descriptor, line[:-5]))
    with pytest.raises(OSError, match="in part"):
        erasure_log.append("a" * 64, timezone.now())


def test_production_does_not_start_with_an_unreadable_erasure_file(log, settings):
    settings.PRODUCTION = True
    log.write_text('{"subject_key":"bb')
    with pytest.raises(ImproperlyConfigured, match="can't be read"):
        require_at_start()
    log.unlink()
    log.mkdir()
    with pytest.raises(ImproperlyConfigured, match="can't be read"):
        require_at_start()
    log.rmdir()  # The fixture that deletes the file after each test requires a file.


def test_production_does_not_start_before_an_earlier_erasure_is_applied(
    log, settings, monkeypatch, django_assert_num_queries
):
    monkeypatch.setattr(erasure_log, "_KEYS_MAX", 2)
    settings.PRODUCTION = True
    people = [UserFactory() for _ in range(3)]
    for person in people:
        erase(person)
    Erasure.objects.filter(pk=Erasure.objects.order_by("pk").first().pk).delete()
    with django_assert_num_queries(2):
        [fault] = erasure_log.check_erasures()
    assert "lacks 1 erasures" in fault.msg


@pytest.mark.parametrize("content", ["x\n", "{}\n", '{"subject_key": "a", "requested_at": "x"}\n'])
def test_erasure_file_of_another_format_is_rejected(tmp_path, content):
    file = tmp_path / "other.jsonl"
    file.write_text(content)
    with pytest.raises(CommandError, match="No line of"):
        apply(file)
    with pytest.raises(CommandError, match="can't be read"):
        apply(tmp_path / "none")


def test_failing_erasure_does_not_stop_other_erasures(log, monkeypatch):
    people = [UserFactory(), UserFactory()]
    for person in people:
        erase(person)
        restore(person)

    def broken(user_id, *, now):
        if user_id == people[0].pk:
            raise OSError("away")
        return erase_rows(user_id, now=now)

    erase_rows = erasure.erase_rows
    with monkeypatch.context() as patched:
        patched.setattr(erasure, "erase_rows", broken)
        with pytest.raises(CommandError, match="1 erasures failed"):
            apply(log)
    assert apply(log)["failed"] == 0
    assert list(Erasure.objects.values_list("status", flat=True)) == ["done", "done"]
