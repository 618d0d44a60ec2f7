"""Test that reviewers can view, accept, and request uploaded documents, and that each access is logged."""

import pytest
from django.urls import reverse

from config.core.casework import DataAccess, Note
from credit.documents.kinds import may_be_shown
from credit.documents.storage import storage
from credit.models import DocumentFile, RequestedDocument, StoredFile
from tests.api import client_of
from tests.backoffice.conftest import backoffice_client
from tests.backoffice.pages import confirm, links_of, messages_of, text_of
from tests.backoffice.test_applications import make, move_of, page_of
from tests.credit.clamd_double import EICAR, clamd
from tests.credit.document_support import PDF, PNG, send_file, with_documents
from tests.credit.test_my_pages import browser_of
from tests.factories import UserFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def application(user):
    return with_documents(user)


def file_of(application, file):
    return reverse("admin:credit_application_file", args=[application.pk, file.pk])


def upload_file(application, content=PNG, filename="scan.png"):
    """Upload a file; return its record."""
    return DocumentFile.objects.get(
        pk=send_file(client_of(application.consumer), application, content, filename).json()["id"]
    )


def test_application_page_shows_the_files_of_each_document(reviewers_client, application):
    image, other = upload_file(application), upload_file(application, PDF, "<b>.pdf")
    page = reviewers_client.get(page_of(application))
    assert "View scan.png" in text_of(page)
    assert "Download <b>.pdf" in text_of(page)
    assert image.sha256[:12] in text_of(page)
    assert {file_of(application, image), file_of(application, other)} <= set(links_of(page))
    assert "File uploaded" in text_of(page)


def test_document_image_is_displayed_in_a_sandbox_and_a_pdf_is_downloaded(reviewers_client, application):
    answer = reviewers_client.get(file_of(application, upload_file(application)))
    assert (answer.status_code, answer.content) == (200, PNG)
    assert answer.headers["Content-Type"] == "image/png"
    assert answer.headers["Content-Disposition"] == 'inline; filename="scan.png"'
    assert answer.headers["Content-Security-Policy"] == "default-src 'none'; sandbox"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert "no-store" in answer.headers["Cache-Control"]
    answer = reviewers_client.get(file_of(application, upload_file(application, PDF, "page.html")))
    assert (answer.content, answer.headers["Content-Type"]) == (PDF, "application/pdf")
    assert answer.headers["Content-Disposition"] == 'attachment; filename="page.html.pdf"'


def png_of(width, height):
    """Return a PNG of a few bytes with these dimensions in its header."""
    return PNG[:16] + width.to_bytes(4) + height.to_bytes(4) + PNG[24:]


def jpeg_of(width, height, before=b"\xff\xe0\x00\x04ab"):
    frame = b"\xff\xc2\x00\x0b\x08" + height.to_bytes(2) + width.to_bytes(2) + b"\x01\x01\x11\x00"
    return b"\xff\xd8" + before + frame + b"\xff\xda\x00\x08\x01\x01\x00\x00\x3f\x00\x37\xff\xd9"


def test_document_image_with_too_many_pixels_is_downloaded(reviewers_client, application):
    for content, shown in [
        (png_of(5_000, 10_000), True), (png_of(50_001, 1_000), False), (png_of(2**31 - 1, 2**31 - 1), False),
        (jpeg_of(5_000, 10_000), True), (jpeg_of(65_535, 65_535), False),
        (jpeg_of(9, 9, b"\xff" * 70_000), True), (jpeg_of(9, 9, b""), True),
    ]:  # fmt: skip
        answer = reviewers_client.get(file_of(application, upload_file(application, content)))
        assert (answer.status_code, answer.content) == (200, content), (content, shown)
        assert answer.headers["Content-Disposition"].partition(";")[0] == ("inline" if shown else "attachment")


@pytest.mark.parametrize("content", [
    png_of(0, 5), PNG[:20], b"\xff\xd8\xff\xda" + bytes(9), jpeg_of(9, 9, b"\xff\xe1\x00\x00" * 9), b"\xff\xd8\xff",
    b"\xff\xd8\xff\xe0" + b"\xff" * 90,
])  # fmt: skip
def test_damaged_document_image_is_not_displayed_inline(content):
    assert not may_be_shown(content)


def test_back_office_document_access_is_logged(reviewers_client, reviewer, application):
    file = upload_file(application)
    reviewers_client.get(file_of(application, file))
    row = DataAccess.objects.get()
    assert (row.viewer, row.subject, row.record_id) == (reviewer, application.consumer, str(application.pk))
    assert row.details == {"file": str(file.pk), "sha256": file.sha256}


def test_support_and_visitors_cannot_view_document_files_or_file_names(client, application, supports_client):
    answer = client.get(file_of(application, upload_file(application)))
    assert (answer.status_code, answer.headers["Location"].startswith("/admin/login/")) == (302, True)
    people = backoffice_client(UserFactory())
    assert people.get(file_of(application, DocumentFile.objects.get())).status_code == 302
    file = upload_file(application, PNG, "passport of jane.png")
    page = supports_client.get(page_of(application))
    assert "Payslip" in text_of(page)
    assert "jane" not in page.content.decode()
    assert supports_client.get(file_of(application, file)).status_code == 403


def test_request_for_a_missing_file_or_a_file_of_another_application_shows_a_message(
    reviewers_client, application, user
):
    file = upload_file(application)
    storage().delete(StoredFile.objects.get().name)
    assert "can't read the file" in messages_of(reviewers_client.get(file_of(application, file)))
    assert not DataAccess.objects.filter(details__isnull=False).exclude(action="page").exists()
    file, other = upload_file(application), with_documents(user)
    assert "File not found" in messages_of(reviewers_client.get(file_of(other, file)))


def test_applicant_can_read_the_reason_of_a_repeated_document_request(reviewers_client, application):
    upload_file(application)
    document = RequestedDocument.objects.get()
    address = reverse("admin:credit_application_document", args=[application.pk, document.pk])
    page = reviewers_client.post(address, {"status": "requested", "reason": " Too dark. "}, follow=True)
    assert "requested again: Too dark." in text_of(page)
    (shown,) = client_of(application.consumer).read(f"/applications/{application.pk}/documents").json()["documents"]
    assert (shown["status"], shown["reason"]) == ("requested", "Too dark.")
    page = reviewers_client.post(address, {"status": "requested", "reason": "x" * 1_001}, follow=True)
    assert "at most 1000 characters" in text_of(page)


def test_application_timeline_shows_an_infected_file_without_a_link(reviewers_client, application, settings):
    with clamd() as double:
        settings.DOCUMENT_SCANNER = double.address
        send_file(client_of(application.consumer), application, PDF + EICAR)
    page = reviewers_client.get(page_of(application))
    assert "Infected file rejected" in text_of(page)
    assert "Win.Test.EICAR_HDB-1" in text_of(page)
    file = DocumentFile.objects.get()
    assert file_of(application, file) not in links_of(page)
    assert "File not found" in messages_of(reviewers_client.get(file_of(application, file)))


def mark(client, application, **fields):
    document = RequestedDocument.objects.get()
    address = reverse("admin:credit_application_document", args=[application.pk, document.pk])
    return client.post(address, fields, follow=True)


def test_requested_document_without_a_file_cannot_be_accepted(reviewers_client, application):
    assert 'value="accepted"' not in reviewers_client.get(page_of(application)).content.decode()
    assert "has no file" in text_of(mark(reviewers_client, application, status="accepted"))
    assert RequestedDocument.objects.get().status == "requested"
    upload_file(application)
    assert 'value="accepted"' in reviewers_client.get(page_of(application)).content.decode()
    mark(reviewers_client, application, status="accepted")
    assert RequestedDocument.objects.get().status == "accepted"


def test_recording_a_document_received_on_paper_requires_a_reason_and_adds_a_case_note(
    reviewers_client, reviewer, application
):
    assert "Enter how you received" in text_of(mark(reviewers_client, application, status="received", reason=" "))
    assert RequestedDocument.objects.get().status == "requested"
    page = text_of(mark(reviewers_client, application, status="received", reason="By post, folder 7."))
    assert ", on paper" in page
    note = Note.objects.get()
    assert (note.author, note.text) == (reviewer, "“Payslip” received on paper: By post, folder 7.")
    mark(reviewers_client, application, status="accepted")
    assert RequestedDocument.objects.get().status == "accepted"


def test_reason_of_a_repeated_document_request_is_stored_with_the_chosen_language(reviewers_client, application):
    upload_file(application)
    document, user = RequestedDocument.objects.get(), application.consumer
    type(user).objects.filter(pk=user.pk).update(language="es")
    assert "The applicant reads Spanish." in text_of(reviewers_client.get(page_of(application)))
    address = reverse("admin:credit_application_document", args=[application.pk, document.pk])
    english = '<span lang="en">Muy oscuro.</span>'
    for language, stored, shown in (("es", "es", "Muy oscuro."), ("en", "en", english), ("x", None, english)):
        reviewers_client.post(address, {"status": "requested", "reason": "Muy oscuro.", "language": language})
        document.refresh_from_db()
        assert document.reason_language == stored
        page = browser_of(user).get(f"/my/applications/{application.pk}").content.decode()
        assert f"<p><bdi>{shown}</bdi></p>" in page


def test_titles_of_requested_documents_are_stored_with_the_chosen_language(reviewers_client):
    application = make("under_review")
    user = application.consumer
    type(user).objects.filter(pk=user.pk).update(language="es")
    fields = {"documents": "Recibo de nómina", "reason": "Por favor.", "language": "es"}
    confirm(reviewers_client, move_of(application, "pending_documents"), **fields)
    assert RequestedDocument.objects.get().language == "es"
    here = f"/my/applications/{application.pk}"
    assert "<bdi>Recibo de nómina</bdi>" in browser_of(user).get(here).content.decode()
    type(user).objects.filter(pk=user.pk).update(language="en")
    page = browser_of(user).get(here).content.decode()
    assert '<bdi><span lang="es">Recibo de nómina</span></bdi>' in page
    assert '<bdi><span lang="es">Por favor.</span></bdi>' in page
