"""Test who can download GET /v1/applications/{id}/documents/{document_id}/files/{file_id}."""

import pytest
from django.core.files.base import ContentFile
from django.utils import timezone

from config.core.casework import DataAccess
from config.core.errors import NotFound
from config.core.lifecycle import Actor
from credit.documents.services import load_file
from credit.documents.storage import storage
from credit.models import DocumentFile, RequestedDocument, StoredFile
from tests.api import ApiClient, assert_error, client_of
from tests.config.test_unreadable import lose_the_key
from tests.credit.document_support import JPEG, PDF, PNG, path_of, send_file, with_documents
from tests.identity.support import issue

pytestmark = pytest.mark.django_db


@pytest.fixture
def application(user, settings):
    settings.REVIEW_POLICY = "reviewed"
    return with_documents(user)


def path_of_upload(api, application, content=PDF, filename="payslip.pdf"):
    """Upload a file; return its path."""
    return f"{path_of(application)}/{send_file(api, application, content, filename).json()['id']}"


@pytest.mark.parametrize(
    ("content", "content_type", "extension"),
    [(PDF, "application/pdf", ".pdf"), (JPEG, "image/jpeg", ".jpg"), (PNG, "image/png", ".png")],
    ids=["pdf", "jpeg", "png"],
)
def test_downloaded_document_equals_the_uploaded_content(api, application, content, content_type, extension):
    answer = api.read(path_of_upload(api, application, content, f"scan{extension}"))
    assert (answer.status_code, answer.content) == (200, content)
    assert answer.headers["Content-Type"] == content_type
    assert answer.headers["Content-Disposition"] == f'attachment; filename="scan{extension}"'
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Content-Security-Policy"] == "default-src 'none'; sandbox"
    assert answer.headers["Cache-Control"] == "private, no-store"
    assert answer.headers["Content-Length"] == str(len(content))


def test_downloaded_document_has_the_extension_of_its_content_type(api, application):
    for filename, saved_as in (
        ("virus.exe", 'filename="virus.exe.png"'), ("page.html", 'filename="page.html.png"'),
        ("SCAN.PNG", 'filename="SCAN.PNG"'), ("März.png", "filename*=utf-8''M%C3%A4rz.png"),
        ("a;b=c.png", 'filename="a;b=c.png"'), ("%22.png", 'filename="%22.png"'),
    ):  # fmt: skip
        answer = api.read(path_of_upload(api, application, PNG, filename))
        assert answer.headers["Content-Disposition"] == f"attachment; {saved_as}"


def test_document_download_accepts_any_matching_accept_header(api, application):
    path = path_of_upload(api, application)
    for accept in ("*/*", "application/pdf", "image/png", "application/json", "image/*"):
        assert api.read(path, Accept=accept).status_code == 200, accept
    assert_error(api.read(path, Accept="application/xml"), 406, "E1014")


def test_reviewers_download_of_a_document_is_logged(api, reviewer, application):
    path = path_of_upload(api, application)
    api.read(path)
    assert not DataAccess.objects.exists()
    assert client_of(reviewer).read(path).content == PDF
    row, file = DataAccess.objects.get(), DocumentFile.objects.get()
    assert (row.viewer, row.subject, row.action) == (reviewer, application.consumer, "page")
    assert (row.kind, row.record_id) == ("credit.application", str(application.pk))
    assert row.details == {"file": str(file.pk), "sha256": file.sha256}


def test_document_file_url_with_another_application_or_document_id_returns_404(api, user, application):
    path_of_upload(api, application)
    other = with_documents(user)
    file, document = DocumentFile.objects.get(), RequestedDocument.objects.get(application=other)
    for crossed in (path_of(other, document), path_of(application, document)):
        assert_error(api.read(f"{crossed}/{file.pk}"), 404, "E4001")


def test_scoped_key_of_a_reviewer_cannot_download_files_of_other_applicants(api, reviewer, application):
    path = path_of_upload(api, application)
    limited = ApiClient(api_key=issue(reviewer, scopes=["applications:read"]).key)
    assert_error(limited.read(path), 404, "E4002")
    assert_error(ApiClient(api_key=issue(application.consumer, scopes=["offers:read"]).key).read(path), 403, "E2005")


@pytest.mark.parametrize("damage", ["gone", "changed", "another's", "key lost"])
def test_tampered_or_missing_document_file_is_not_returned(api, application, damage):
    path = path_of_upload(api, application)
    stored = StoredFile.objects.get()
    with storage().open(stored.name) as written:
        sealed = written.read()
    if damage == "key lost":
        lose_the_key(stored, "key")
    else:
        storage().delete(stored.name)
    if damage == "changed":
        _write(stored.name, sealed[:-1] + bytes([sealed[-1] ^ 1]))
    if damage == "another's":
        send_file(api, application, PNG)
        other = StoredFile.objects.exclude(pk=stored.pk).get()
        with storage().open(other.name) as written:
            _write(stored.name, written.read())
    assert_error(api.read(path), 503, "E5030")


def _write(name, content):
    assert storage().save(name, ContentFile(content)) == name


def test_infected_document_file_returns_404_for_every_caller(api, application, reviewer, user):
    document = RequestedDocument.objects.get(application=application)
    refused = DocumentFile.objects.create(
        document=document, infection="Eicar-Test-Signature", name="a.pdf", content_type="application/pdf",
        size_bytes=68, sha256="0" * 64, received_at=timezone.now(), principal=user, credential="jwt:x",
    )  # fmt: skip
    for person in (user, reviewer):
        assert_error(client_of(person).read(f"{path_of(application)}/{refused.pk}"), 404, "E4001")
        with pytest.raises(NotFound):
            load_file(str(application.pk), str(document.pk), str(refused.pk), Actor(user=person, credential="jwt:x"))
    assert not DataAccess.objects.exists()
