"""Test the section of the requested documents: the missing ones, the received files, and the last day."""

import re
from datetime import timedelta

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone

from credit.applications.services import IDLE_DAYS, expire_idle
from credit.core import deadlines
from credit.documents.requests import mark_document
from credit.documents.storage import delete_file
from credit.models import DocumentFile
from tests.credit.document_support import PDF, with_documents
from tests.credit.test_my_content import living_in, written
from tests.credit.test_my_language import german, spanish, speaking
from tests.credit.test_my_pages import browser_of, page_of
from tests.factories import UserFactory

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("reviewed")]
NAMES = ("Payslip", "Lease", "Bank statement")


@pytest.fixture
def application():
    return with_documents(UserFactory(), *NAMES)


def upload(application, name, filename="scan.pdf", content=PDF):
    document = application.requested_documents.get(name=name)
    path = f"/my/applications/{application.pk}/documents/{document.pk}"
    answer = browser_of(application.consumer).post(path, {"file": SimpleUploadedFile(filename, content)}, follow=True)
    return " ".join(answer.content.decode().split())


def section_of(page):
    return re.search(r'<section id="documents">.*?</section>', page)[0]


def documents_in(page):
    """Return (name, status, has an open field) of each document, in the order of the page."""
    parts = section_of(page).split('<div class="document">')[1:]
    return [
        (
            re.search(r"<h3>.*?<bdi>(.*?)</bdi>", part)[1],
            re.search(r'<span class="standing ?(?:due|done|)">(.*?)</span>', part)[1],
            'type="file"' in part and "<details" not in part,
        )
        for part in parts
    ]


def test_received_document_shows_its_file_and_time_below_the_missing_documents(application):
    assert documents_in(page_of(application)) == [(name, "Missing", True) for name in NAMES]
    page = upload(application, "Payslip", "payslip <May>.pdf")
    assert documents_in(page) == [
        ("Lease", "Missing", True), ("Bank statement", "Missing", True), ("Payslip", "Received", False),
    ]  # fmt: skip
    moment = deadlines.in_words(DocumentFile.objects.get().received_at, "UTC")
    assert f'<bdi>payslip &lt;May&gt;.pdf</bdi></a><br><span class="hint">received on {moment}</span>' in page
    assert 'Add another file<span class="unseen">: <bdi>Payslip</bdi></span>' in page


def test_document_section_shows_the_number_of_received_documents_and_the_deadline(application):
    application = written(application, living_in("OR"))
    page = page_of(application)
    assert "0 of 3 received" in page
    assert "The lender already sees" not in page
    for number, name in enumerate(NAMES[:2], start=1):
        page = upload(application, name)
        assert f"{number} of 3 received" in page
        assert "Send the documents to the lender" not in page
        assert "The lender already sees the files that you uploaded." in page
        assert '<a href="#lender">If you can\'t get a document, contact the lender.</a>' in page
    application.refresh_from_db()
    last = application.updated_at + timedelta(days=IDLE_DAYS["pending_documents"])
    zone = "America/Los_Angeles"
    assert f"Upload the missing documents by {deadlines.in_words(last, zone)}." in page
    expire_idle(now=last - timedelta(seconds=1))
    application.refresh_from_db()
    assert application.status == "pending_documents"
    page = upload(application, NAMES[2])
    assert "3 of 3 received" in page
    assert "missing documents" not in page
    assert "Send the documents to the lender</button>" in page
    assert '<th scope="row">Next step</th><td>Send the documents to the lender.</td>' in page
    application.refresh_from_db()
    last = application.updated_at + timedelta(days=IDLE_DAYS["pending_documents"])
    assert f"Send the documents to the lender by {deadlines.in_words(last, zone)}." in page
    expire_idle(now=last)
    application.refresh_from_db()
    assert application.status == "expired"
    page = section_of(page_of(application))
    assert "3 of 3 received" in page
    assert "Upload" not in page


def test_applicant_can_add_a_second_file_and_sees_the_error_of_a_rejected_file(application):
    upload(application, "Payslip", "page-1.pdf")
    page = upload(application, "Payslip", "page-2.pdf", PDF + b"%2")
    assert page.index("page-1.pdf") < page.index("page-2.pdf")
    assert "1 of 3 received" in page
    page = section_of(upload(application, "Payslip", "x.pdf", b"MZ"))
    assert "<details open>" in page
    assert "must be a PDF, JPEG, or PNG" in page.partition("<details open>")[2]
    assert "<details>" in section_of(page_of(application))


def test_document_requested_again_is_missing_and_an_accepted_document_has_no_upload_field(application):
    upload(application, "Payslip", "blurred.pdf")
    document = application.requested_documents.get(name="Payslip")
    mark_document(application, document.pk, "requested", by=UserFactory(), now=timezone.now(), reason="It is blurred.")
    page = page_of(application)
    assert documents_in(page)[0] == ("Payslip", "Missing", True)
    assert "0 of 3 received" in page
    assert "It is blurred." in page
    assert "blurred.pdf" in page
    mark_document(application, document.pk, "accepted", by=UserFactory(), now=timezone.now())
    page = page_of(application)
    assert documents_in(page)[-1] == ("Payslip", "Accepted", False)
    assert "Add another file" not in page


def test_requested_document_that_was_not_sent_is_no_longer_needed_after_the_decision(application):
    upload(application, "Payslip")
    application.status = "approved"
    application.save()
    names = ("Lease", "Bank statement")
    expected = [*((name, "No longer needed", False) for name in names), ("Payslip", "Received", False)]
    assert documents_in(page_of(application)) == expected
    assert "Ya no es necesario" in spanish(page_of(speaking(application)))


def test_applicant_can_open_own_files_and_other_accounts_cannot(application):
    page = upload(application, "Payslip", "my%22payslip%22.pdf")
    file = DocumentFile.objects.get()
    assert file.name == 'my"payslip".pdf'
    path = f"/my/applications/{application.pk}/documents/{file.document_id}/files/{file.pk}"
    assert f'<a href="{path}"><bdi>my&quot;payslip&quot;.pdf</bdi></a>' in page
    answer = browser_of(application.consumer).get(path)
    assert (answer.status_code, answer.content) == (200, PDF)
    assert answer.headers["Content-Disposition"].startswith("attachment; filename=")
    assert answer.headers["Content-Security-Policy"] == "default-src 'none'; sandbox"
    foreign = with_documents(UserFactory(), "Payslip")
    for user, place in (
        (foreign.consumer, path),
        (foreign.consumer, path.replace(str(application.pk), str(foreign.pk))),
        (UserFactory(), path),
    ):
        assert browser_of(user).get(place).status_code == 404
    assert Client().get(path).headers["Location"].startswith("/account/login")


def test_deleted_file_has_no_link_on_the_page_of_its_application(application):
    upload(application, "Payslip")
    file = DocumentFile.objects.get()
    delete_file(file.stored, now=timezone.now())
    page = section_of(page_of(application))
    assert "<li><bdi>scan.pdf</bdi>" in page
    path = f"/my/applications/{application.pk}/documents/{file.document_id}/files/{file.pk}"
    assert browser_of(application.consumer).get(path).status_code == 404


def test_document_section_is_available_in_spanish_and_german(application):
    upload(application, "Payslip")
    speaking(application)
    text = spanish(page_of(application))
    assert "1 de 3 recibidos" in text
    assert "Falta" in text
    speaking(application, "de")
    text = german(page_of(application))
    assert "1 von 3 eingegangen" in text
    assert "Weitere Datei hinzufügen" in text
