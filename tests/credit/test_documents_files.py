"""Test uploads and their list at /v1/applications/{id}/documents/{document_id}/files."""

import hashlib
import tracemalloc

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import RequestFactory
from django.utils import timezone

from config.core.lifecycle import Actor
from config.ops.pruning import prune
from config.webhooks.models import Event
from credit.core.errors import StorageQuotaExceeded
from credit.documents import services as documents
from credit.documents.requests import mark_document
from credit.documents.storage import storage
from credit.models import DocumentFile, RequestedDocument, RetentionHold, StoredFile
from tests.api import ApiClient, assert_error
from tests.credit.document_support import BOUNDARY, FORM, JPEG, PDF, PNG, form, part, path_of, send_file, with_documents
from tests.credit.support import app_of
from tests.identity.support import issue, signed_call

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("reviewed")]
MIB = 1_048_576


def test_uploaded_files_are_listed_with_type_size_and_hash_in_order_of_upload(api, application):
    files = []
    for content, content_type in ((PDF, "application/pdf"), (JPEG, "image/jpeg"), (PNG, "image/png")):
        answer = send_file(api, application, content, "my payslip.bin")
        assert answer.status_code == 201
        files.append(answer.json())
        assert files[-1] == {
            "id": files[-1]["id"], "name": "my payslip.bin", "content_type": content_type, "size_bytes": len(content),
            "sha256": hashlib.sha256(content).hexdigest(), "received_at": files[-1]["received_at"],
        }  # fmt: skip
    (document,) = api.read(f"/applications/{application.pk}/documents").json()["documents"]
    assert (document["status"], document["files"]) == ("received", files)
    assert document["received_at"] == files[0]["received_at"]
    assert api.read(path_of(application)).json() == {"files": files, "total": 3}
    row, event = DocumentFile.objects.first(), Event.objects.first()
    assert (row.principal_id, row.credential.partition(":")[0]) == (application.consumer_id, "jwt")
    assert (event.type, event.account_id) == ("application.document_received", application.consumer_id)
    assert event.object == {
        "application_id": str(application.pk), "status": "pending_documents", "offer_id": application.offer_id,
        "provider_id": application.provider_id, "document_id": document["id"],
    }  # fmt: skip


def test_only_the_applicant_can_upload_files_and_only_for_documents_of_the_application(
    reviewers_api, api, user, application
):
    send_file(api, application)
    assert reviewers_api.read(path_of(application)).json()["total"] == 1
    assert_error(send_file(reviewers_api, application), 404, "E4002")
    crossed = path_of(application, RequestedDocument.objects.get(application=with_documents(user)))
    assert_error(api.send(crossed, raw=form(part()), content_type=FORM), 404, "E4001")
    assert_error(api.read(crossed), 404, "E4001")


def test_file_of_ten_mebibytes_is_accepted_and_one_byte_more_is_rejected(api, application):
    largest = PDF + b"x" * (10 * MIB - len(PDF))
    answer = send_file(api, application, largest)
    assert (answer.status_code, answer.json()["size_bytes"]) == (201, 10 * MIB)
    assert answer.json()["sha256"] == hashlib.sha256(largest).hexdigest()
    more = part(name="more", filename=None, content=b"x" * (3 * MIB))
    for body in (form(part(content=largest + b"x")), form(part(content=PDF + b"x" * (11 * MIB))), form(more, part())):
        assert_error(send_file(api, application, raw=body), 413, "E1007")
    assert DocumentFile.objects.count() == 1


def test_upload_memory_is_limited_to_a_few_times_the_file_size(api, application):
    body = form(part(content=PDF + b"x" * (9 * MIB)))
    send_file(api, application)  # This upload loads modules, which are not measured.
    tracemalloc.start()
    try:
        assert send_file(api, application, raw=body).status_code == 201
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 60 * MIB


WHOLE = {
    "a byte order mark": b"\xef\xbb\xbf" + PDF, "a line before": b"\r\n" + PDF, "mail headers": b"X: 1\n" * 100 + PDF,
    "a header at byte 1,019": bytes(1_019) + PDF, "NULs behind": PDF + bytes(5_000),
    "HTML behind": PDF + b"<html>" * 900,
    "no table of references": b"%PDF-1.7\n1 0 obj<</Type/Catalog>>endobj\n%%EOF",
    "the word Encrypt": PDF + b"/Encryption",
    "linearized": b"%PDF-1.4\n1 0 obj<</Linearized 1/L 60>>endobj\n%%EOF" + bytes(9) + b"\n%%EOF\n",
    "two ends": PDF + PDF,
    "data behind a JPEG": JPEG + b"ftypmp42" * 99, "data behind a PNG": PNG + b"x", "a JPEG with a comment":
    JPEG[:2] + b"\xff\xfe\x00\x04\xff\xd9" + JPEG[2:],
    # ISO 32000 allows these files, or scanners and phones write them.
    "PDF 2.0": PDF.replace(b"1.4", b"2.0"), "an unknown version": PDF.replace(b"1.4", b"1.9"),
    "binary bytes in line 2": PDF.replace(b"\n", b"\n%\xe2\xe3\xcf\xd3\n", 1),
    "old Mac lines": PDF.replace(b"\n", b"\r"), "a MacBinary header": bytes(128) + PDF, "MPO": JPEG * 2,
    "an update behind the end": PDF + b"2 0 obj<<>>endobj\nstartxref\n9\n%%EOF",
    "UTF-16 behind": PDF + "x".encode("utf-16"), "Exif": JPEG[:2] + b"\xff\xe1\x00\x08Exif\0\0" + JPEG[2:],
    "fill bytes": JPEG[:2] + b"\xff\xff" + JPEG[2:], "a motion photo": JPEG + b"\0\0\0\x18ftypmp42" + bytes(99),
    "a film that looks like a scan": JPEG + b"\0\0\0\x18ftypmp42\xff\xda\0\0",
    "the start of a second picture": JPEG + JPEG[:-2], "a preview in Exif":
    JPEG[:2] + b"\xff\xe1" + (len(JPEG) + 2).to_bytes(2) + JPEG + JPEG[2:],
    "restart markers": JPEG[:-2] + b"\xff\xd0\x37\xff\x00\xff\xd9",
    "a PNG with text": PNG[:33] + b"\0\0\0\1tEXta\0\0\0\0" + PNG[33:], "data before xref": b"%!PS\r\n" + PDF,
}  # fmt: skip
LOCKED = [
    PDF.replace(b"/Root", b"/Encrypt 5 0 R/Root"), PDF.replace(b"/Root", b"/Encrypt\n12 0 R /Root"),
    PDF.replace(b"/Root", b"/Encrypt<</Filter/Standard/V 2/R 3>>/Root"), b"\n" + PDF.replace(b"/Root",
    b"/Encrypt 9  0  R/Root"),
]  # fmt: skip
BROKEN = [
    PDF[:-6], PDF[: len(PDF) // 2], b"%PDF-1.4\n", b"%PDF-1.4\n1 0 obj<</Linearized 1/L 99999>>endobj\n%%EOF\n",
    JPEG[:-2], JPEG[:2] + b"\xff\xe1" + (len(JPEG) + 2).to_bytes(2) + JPEG + JPEG[2:-2],
    JPEG[:40], JPEG[:3], b"\xff\xd8\xff\xe0\x00\x10JFIF\x00\x01\x01\x00\x00\x01\x00\x01\x00\x00\xff\xd9", PNG[:-1],
    PNG[:-12],
    PNG[:40], PNG[:8], PNG[:16] + bytes(8) + PNG[24:], PNG[:33] + PNG[-12:],
]  # fmt: skip
# MP4RA's register has these brands of still images and image sequences.
HEIF = [
    "heic", "heix", "heim", "heis", "hevc", "hevx", "hevm", "hevs", "mif1", "mif2", "mif3", "msf1", "miaf", "avif",
    "avis", "avio", "avci", "avcs", "jpeg", "jpgs", "j2ki", "j2is", "vvic", "vvis",
]  # fmt: skip
OTHER_KINDS = {
    **{brand: b"\x00\x00\x00\x18ftyp" + brand.encode() for brand in HEIF},
    "docx": b"PK\x03\x04", "doc": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "a text": b"hello", "NULs": b"\0",
    "gif": b"GIF89a",
    "webp": b"RIFF\x10\x00\x00\x00WEBP", "tiff": b"II*\x00", "rtf": b"{\\rtf1", "html": b"<!DOCTYPE html>", "mp4":
    b"\x00\x00\x00\x18ftypmp42", "a late header": bytes(1_024) + PDF,
    "jxl": b"\xff\x0a", "jxl box": b"\0\0\0\x0cJXL \r\n\x87\n", "jp2": b"\0\0\0\x0cjP  \r\n\x87\n", "bmp": b"BM",
    "psd": b"8BPS\0\1", "dng": b"MM\0*", "svg": b"<svg xmlns='http://www.w3.org/2000/svg'/>", "ps": b"%!PS-Adobe-3.0",
    "djvu": b"AT&TFORM", "mov": b"\0\0\0\x14ftypqt  ", "3gp": b"\0\0\0\x14ftyp3gp5", "eml": b"From: a@b.example",
}  # fmt: skip


def test_complete_file_upload_is_accepted(api, application, monkeypatch, no_rate_limits):
    monkeypatch.setattr(documents, "FILES_MAX", len(WHOLE))
    for name, content in WHOLE.items():
        assert send_file(api, application, content).status_code == 201, name


def test_encrypted_or_truncated_pdf_upload_returns_400_with_the_next_step(api, application, no_rate_limits):
    for way_on, contents in (("Print it", LOCKED), ("again", BROKEN)):
        for content in contents:
            refusal = assert_error(send_file(api, application, content), 400, "E1001")
            assert refusal["details"][0]["field"] == "file"
            assert way_on in refusal["message"], content
    error = assert_error(send_file(api, application, b""), 400, "E1001")
    assert error["details"] == [{"field": "file", "message": "The submitted file is empty."}]


def test_unsupported_upload_type_returns_415_with_the_next_step(api, application, no_rate_limits):
    for name, content in OTHER_KINDS.items():
        refusal = assert_error(send_file(api, application, content + bytes(99)), 415, "E1013")
        assert ("as JPEG" if name in HEIF else "as a PDF") in refusal["message"], name
    assert_error(send_file(api, application, b"\x89PNG", "cut.png"), 415, "E1013")
    assert not StoredFile.objects.exists()


BAD_FORMS = {
    "nothing": b"",
    "no part": form(),
    "another field": form(part(name="document")),
    "a text in its place": form(part(filename=None)),
    "two files": form(part(), part(content=PNG)),
    "two files of two fields": form(part(), part(name="other")),
    "no name": form(part(filename="")),
    "a name of dots": form(part(filename="..")),
    "a name of a slash": form(part(filename="/")),
    "a name of NULs": form(part(filename="\0\0")),
    "a name of 5,000 characters": form(part(filename="x" * 5_000)),
    "a header without end": b"--" + BOUNDARY.encode() + b"\r\nContent-Disposition: form-data; " + b"x" * 5_000,
    "a charset that does not exist": form(part(filename=None, headers=[])).replace(
        b'name="file"', b"name=\"file\"; filename*=nonsense''a.pdf"
    ),
    "cut off within the file": form(part())[:-30],
    "cut off before the last boundary": part(),
    "not a form": b"%PDF-1.4",
    "JSON": b'{"file": "x"}',
    "base64 that is none": form(part(content=b"!!!!!", headers=["Content-Transfer-Encoding: base64"])),
    "200 files": form(*(part(name=f"file{number}") for number in range(200))),
    "2,000 fields": form(*(part(name=f"f{number}", filename=None, content=b"x") for number in range(2_000))),
}


def test_malformed_upload_form_is_rejected(api, application, no_rate_limits):
    for name, raw in BAD_FORMS.items():
        answer = send_file(api, application, raw=raw)
        assert answer.status_code == 400, (name, answer.content)
        assert_error(answer, 400, "E1002" if name == "nothing" else "E1001")
    assert not DocumentFile.objects.exists()


def test_upload_decodes_base64_and_ignores_unknown_form_fields(api, application):
    raw = form(part(content=b"JVBERi0xLjQKJSVFT0Y=", headers=["Content-Transfer-Encoding: base64"]))
    assert send_file(api, application, raw=raw).json()["sha256"] == hashlib.sha256(b"%PDF-1.4\n%%EOF").hexdigest()
    raw = form(part(name="id", filename=None, content=b"1"), part(), part(name="file", filename=None, content=b"x"))
    assert send_file(api, application, raw=raw).status_code == 201
    django_form = RequestFactory().post("/", {"file": SimpleUploadedFile("scan.pdf", PDF)})
    answer = send_file(api, application, raw=django_form.body, content_type=django_form.META["CONTENT_TYPE"])
    assert answer.json()["name"] == "scan.pdf"


def test_upload_with_a_wrong_media_type_or_boundary_or_encoding_is_rejected(api, application, no_rate_limits):
    for boundary in (
        "",
        "; boundary=",
        f"; boundary={'x' * 210}",
        "; boundary=other",
        "; boundary=\u00e4",
        "; boundary=;;",
    ):
        answer = send_file(api, application, content_type=f"multipart/form-data{boundary}")
        assert_error(answer, 400, "E1001")
    for content_type in (
        "application/json", "text/plain", "application/pdf", "multipart/mixed; boundary=x", "",
        "application/octet-stream",
    ):  # fmt: skip
        assert_error(send_file(api, application, content_type=content_type), 415, "E1013")
    assert_error(send_file(api, application, Content_Encoding="gzip"), 415, "E1013")
    elsewhere = api.replace(f"/applications/{application.pk}", raw=form(part()), content_type=FORM)
    assert_error(elsewhere, 415, "E1013")


def test_uploaded_file_names_are_sanitized(api, application):
    for filename, kept in (
        ("../../etc/passwd", "passwd"), ("C:\\Users\\me\\payslip.pdf", "payslip.pdf"), ("a\0b.pdf", "ab.pdf"),
        ("\u202efdp.exe", "fdp.exe"), ("=cmd|' calc'!A0", "=cmd|' calc'!A0"),
        ("Lohnabrechnung März.pdf", "Lohnabrechnung März.pdf"), ("x" * 300 + ".pdf", "x" * 251 + ".pdf"),
        ("<script>alert(1)<script>", "<script>alert(1)<script>"),
    ):  # fmt: skip
        answer = send_file(api, application, filename=filename)
        assert (answer.status_code, answer.json().get("name")) == (201, kept)


def test_only_open_applications_accept_uploads(api, user):
    for status in ("approved", "rejected", "withdrawn", "expired"):
        assert_error(send_file(api, with_documents(user, status=status)), 400, "E3004")
    assert not StoredFile.objects.exists()
    for status in ("submitted", "under_review", "pending_documents"):
        assert send_file(api, with_documents(user, status=status)).status_code == 201, status


def test_accepted_document_rejects_uploads_until_the_document_is_requested_again(api, application, user):
    document = RequestedDocument.objects.get()
    send_file(api, application)
    mark_document(application, document.pk, "accepted", by=user, now=timezone.now())
    assert_error(send_file(api, application), 400, "E3015")
    mark_document(application, document.pk, "requested", by=user, now=timezone.now(), reason="Too dark.")
    (shown,) = api.read(f"/applications/{application.pk}/documents").json()["documents"]
    assert (shown["reason"], len(shown["files"])) == ("Too dark.", 1)
    assert send_file(api, application).status_code == 201


def test_repeated_document_request_resets_the_upload_limit(api, application, user, monkeypatch):
    monkeypatch.setattr(documents, "FILES_MAX", 2)
    for status in (201, 201, 400):
        assert send_file(api, application).status_code == status
    assert_error(send_file(api, application), 400, "E3015")
    mark_document(application, RequestedDocument.objects.get().pk, "requested", by=user, now=timezone.now())
    assert send_file(api, application).status_code == 201


def test_upload_fails_if_the_document_was_accepted_during_the_upload(api, application, monkeypatch):
    received = documents.store_file

    def decide_meanwhile(content, *, now):
        application.requested_documents.update(status="accepted")
        return received(content, now=now)

    monkeypatch.setattr(documents, "store_file", decide_meanwhile)
    assert_error(send_file(api, application), 400, "E3015")
    assert not DocumentFile.objects.exists()
    assert StoredFile.objects.get().is_kept is False


def test_document_upload_is_accepted_from_apps_and_api_keys_but_not_as_a_signed_request(user, application):
    issued = issue(user)
    assert send_file(ApiClient(api_key=issued.key), application).status_code == 201
    answer = signed_call(issued, "POST", f"/v1{path_of(application)}", form(part()), content_type=FORM)
    assert_error(answer, 400, "E1002")
    writing = app_of(user, "applications:read", "applications:write")
    assert send_file(writing, application).status_code == 201
    assert writing.read(path_of(application)).json()["total"] == 2
    assert_error(send_file(app_of(user, "applications:read"), application), 403, "E2005")
    assert_error(app_of(user, "offers:read").read(path_of(application)), 403, "E2005")


def test_upload_retry_with_another_boundary_is_replayed_but_with_another_file_is_rejected(api, application, key):
    assert_error(send_file(api, application, b"text", key=key), 415, "E1013")  # A rejection does not use the key.
    assert send_file(api, application, key=key).status_code == 201
    raw = form(part()).replace(BOUNDARY.encode(), b"another-boundary")
    again = send_file(api, application, raw=raw, key=key, content_type="multipart/form-data; boundary=another-boundary")
    assert again.headers["Idempotent-Replayed"] == "true"
    assert_error(send_file(api, application, PNG, key=key), 422, "E1010")
    assert_error(send_file(api, application, filename="other.pdf", key=key), 422, "E1010")


def test_uploads_have_a_separate_rate_limit(api, application, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "upload": 2}
    assert [send_file(api, application).status_code for _ in range(3)] == [201, 201, 429]
    assert api.read(path_of(application)).status_code == 200


@pytest.mark.parametrize(
    ("limit", "accepted", "remedy"),
    [
        ("DRAFT_BYTES_MAX", [2, 2, 2], "or submit the draft first."),
        ("DRAFTS_BYTES_MAX", [2, 0, 2], "or submit or withdraw a draft."),
        # A submission does not reduce the files of the account.
        ("ACCOUNT_BYTES_MAX", [2, 0, 0], "or withdraw a draft, whose files are then deleted."),
    ],
)
def test_upload_quotas_apply_to_each_draft_to_all_drafts_together_and_to_each_account(
    api, user, monkeypatch, limit, accepted, remedy
):
    monkeypatch.setattr(documents, limit, 2 * len(PDF) + 1)
    applications = [with_documents(user, status=status) for status in ("draft", "draft", "pending_documents")]
    answers = [[send_file(api, application) for _ in range(2)] for application in applications]
    assert [sum(answer.status_code == 201 for answer in pair) for pair in answers] == accepted
    for answer in (answer for pair in answers for answer in pair if answer.status_code != 201):
        assert_error(answer, 400, "E3016")
    last = send_file(api, with_documents(user, status="draft"))
    assert last.status_code == (201 if limit == "DRAFT_BYTES_MAX" else 400)
    error = assert_error(send_file(api, applications[0], PDF + b"x"), 400, "E3016")
    assert error["message"].endswith(f"Send a smaller file, {remedy}")


def test_concurrent_uploads_do_not_exceed_the_quota(user, monkeypatch):
    application, now = with_documents(user, status="draft"), timezone.now()
    document, actor = application.requested_documents.get(), Actor(user=user, credential="test")
    ids = str(application.pk), str(document.pk)
    first, second = (
        documents.receive_file(*ids, SimpleUploadedFile("a.pdf", PDF), actor=actor, now=now) for _ in range(2)
    )
    monkeypatch.setattr(documents, "DRAFT_BYTES_MAX", len(PDF))
    documents.add_file(*ids, first, actor=actor, now=now)
    with pytest.raises(StorageQuotaExceeded):
        documents.add_file(*ids, second, actor=actor, now=now)


def test_prune_deletes_the_files_of_a_withdrawn_draft_when_its_litigation_hold_ends(api, user, monkeypatch):
    monkeypatch.setattr(documents, "ACCOUNT_BYTES_MAX", 2 * len(PDF))
    draft, sent = with_documents(user, status="draft"), with_documents(user, submitted_at=timezone.now())
    for application in (draft, sent):
        assert send_file(api, application).status_code == 201
    for application in (draft, sent):
        moved = api.replace(f"/applications/{application.pk}/status", {"status": "withdrawn", "updated_by": "me"})
        assert moved.status_code == 200
    assert_error(send_file(api, with_documents(user, status="draft")), 400, "E3016")
    stored = [DocumentFile.objects.get(document__application=application).stored for application in (draft, sent)]
    deleted = []
    for is_on in (True, False):
        RetentionHold.objects.create(
            application=draft, is_on=is_on, reason="suit", at=timezone.now(), principal=user, credential="test"
        )
        deleted.append(prune(now=timezone.now())["draft_document_files"])
    assert deleted == [0, 1]
    assert [storage().exists(file.name) for file in stored] == [False, True]
    file = DocumentFile.objects.get(document__application=draft)
    assert_error(api.read(f"{path_of(draft)}/{file.pk}"), 404, "E4001")
    assert StoredFile.objects.get(file=file).key == ""
    assert send_file(api, with_documents(user, status="draft")).status_code == 201
    assert prune(now=timezone.now())["draft_document_files"] == 0
