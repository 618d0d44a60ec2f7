"""Test encryption, key rotation, and the removal of unused files in the document storage."""

import json
from datetime import timedelta
from io import StringIO
from pathlib import Path

import pytest
from cryptography.fernet import Fernet
from django.core.files.base import ContentFile
from django.core.management import CommandError, call_command
from django.db import DatabaseError, IntegrityError, connection, transaction
from django.utils import timezone

from config.core.encryption import key_ring
from credit.documents import services as documents
from credit.documents import storage as document_storage
from credit.documents.storage import missing_files, storage
from credit.models import DocumentFile, StoredFile
from tests.api import assert_error
from tests.commands import run_json
from tests.config.test_doctor import why
from tests.credit.document_support import PDF, PNG, path_of, send_file

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def folder(settings, tmp_path):
    """Return a temporary folder for documents."""
    options = {**settings.STORAGES["documents"]["OPTIONS"], "location": str(tmp_path / "documents")}
    settings.STORAGES = {**settings.STORAGES, "documents": {**settings.STORAGES["documents"], "OPTIONS": options}}
    return tmp_path / "documents"


def files_in(folder):
    return [path for path in folder.rglob("*") if path.is_file()]


def content_of(api, application):
    (shown,) = api.read(path_of(application)).json()["files"]
    return api.read(f"{path_of(application)}/{shown['id']}")


def test_uploaded_file_is_flushed_to_disk_encrypted_and_readable_by_its_owner_only(
    api, application, folder, monkeypatch
):
    assert why("document_storage") == "responds"
    assert not folder.exists()
    flushed = []
    monkeypatch.setattr(
        document_storage.os, "fsync", lambda descriptor: flushed.append(Path(f"/proc/self/fd/{descriptor}").readlink())
    )
    content = PDF + b"the person's secret" * 100
    send_file(api, application, content, "very personal.pdf")
    (file,) = files_in(folder)
    assert flushed == [file, file.parent]
    written = file.read_bytes()
    assert b"the person's secret" not in written
    assert b"%PDF" not in written
    assert "personal" not in str(file.relative_to(folder))
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert content_of(api, application).content == content
    send_file(api, application, content)
    assert len({file.read_bytes() for file in files_in(folder)}) == 2


def test_encryption_key_rotation_includes_document_files(api, application, settings, folder):
    send_file(api, application)
    before = [file.read_bytes() for file in files_in(folder)]
    old, new = settings.FIELD_ENCRYPTION_KEYS[0], Fernet.generate_key().decode()
    settings.FIELD_ENCRYPTION_KEYS = [new, old]
    out = StringIO()
    call_command("rotate_encryption_key", as_json=True, stdout=out)
    assert json.loads(out.getvalue().splitlines()[-1])["rows"] >= 1
    settings.FIELD_ENCRYPTION_KEYS = [new]
    assert content_of(api, application).content == PDF
    assert [file.read_bytes() for file in files_in(folder)] == before
    settings.FIELD_ENCRYPTION_KEYS = [old]
    key_ring()
    assert_error(content_of(api, application), 503, "E5030")


@pytest.mark.django_db(transaction=True)
def test_prune_deletes_only_document_files_of_rolled_back_uploads(api, application, folder, monkeypatch):
    send_file(api, application)

    def fail(*_arguments, **_options):
        raise DatabaseError("the database goes away")

    with monkeypatch.context() as patched:
        patched.setattr(documents, "record_application_event", fail)
        assert send_file(api, application, PNG).status_code == 500
    assert DocumentFile.objects.count() == 1
    assert len(files_in(folder)) == 2
    assert run_json("prune")["abandoned_document_files"] == 0
    StoredFile.objects.create(key="x", begun_at=timezone.now())  # The file of this row was never written.
    StoredFile.objects.update(begun_at=timezone.now() - timedelta(hours=2))
    assert run_json("prune")["abandoned_document_files"] == 2
    assert len(files_in(folder)) == StoredFile.objects.count() == 1
    assert content_of(api, application).content == PDF


def test_slow_upload_whose_file_was_pruned_stores_nothing(api, application, monkeypatch, folder):
    written = documents.store_file

    def sleep_for_hours(content, *, now):
        stored = written(content, now=now)
        StoredFile.objects.update(begun_at=now - timedelta(hours=2))
        run_json("prune")
        return stored

    monkeypatch.setattr(documents, "store_file", sleep_for_hours)
    assert_error(send_file(api, application), 503, "E5030")
    assert not DocumentFile.objects.exists()
    assert files_in(folder) == []


def test_failing_document_storage_stores_nothing_and_does_not_stop_prune(api, application, settings, tmp_path):
    (tmp_path / "documents").write_text("a file where the folder should be")
    assert_error(send_file(api, application), 503, "E5030")
    assert not DocumentFile.objects.exists()
    assert "must be a folder that this user account can write to" in why("document_storage")
    StoredFile.objects.update(begun_at=timezone.now() - timedelta(hours=2))
    with pytest.raises(CommandError, match="1 rules, tasks, or rows failed"):
        run_json("prune")


def test_restore_check_reports_missing_document_files(api, application, folder, tmp_path):
    for _ in range(2):
        send_file(api, application)
    manifest = tmp_path / "manifest.json"
    out = StringIO()
    call_command("backup_manifest", as_json=True, stdout=out)
    manifest.write_text(out.getvalue().splitlines()[-1])
    described = json.loads(manifest.read_text())["documents"]
    assert (described["files"], described["bytes"]) == (2, 2 * len(PDF))
    assert missing_files() == []
    gone = StoredFile.objects.first()
    storage().delete(gone.name)
    assert missing_files() == [f"1 documents are not in {described['storage']}: restore them from the newest backup."]
    with pytest.raises(CommandError, match="1 documents are not in"):
        call_command("backup_manifest", check=manifest, as_json=True)
    assert "restore it from the backup" in why("document_storage")


def test_document_file_record_is_immutable_and_has_either_a_file_or_an_infection(api, application, user):
    send_file(api, application)
    for change in ({"name": "other.pdf"}, {"sha256": "0" * 64}, {"infection": "x"}):
        with pytest.raises(DatabaseError), transaction.atomic():
            DocumentFile.objects.update(**change)
    with pytest.raises(DatabaseError), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("DELETE FROM credit_documentfile")
    stored = StoredFile.objects.create(key="x", begun_at=timezone.now())
    for file, infection in ((None, ""), (stored, "Eicar")):
        with pytest.raises(IntegrityError), transaction.atomic():
            DocumentFile.objects.create(
                document=application.requested_documents.get(), stored=file, name="a", content_type="image/png",
                size_bytes=1, sha256="0" * 64, infection=infection, received_at=timezone.now(), principal=user,
                credential="test",
            )  # fmt: skip


def test_document_storage_without_a_file_system_is_supported(api, application, settings):
    options = {"BACKEND": "django.core.files.storage.InMemoryStorage"}
    settings.STORAGES = {**settings.STORAGES, "documents": options}
    send_file(api, application)
    assert content_of(api, application).content == PDF
    assert why("document_storage") == "responds"
    assert storage().save("x", ContentFile(b"")) == "x"
