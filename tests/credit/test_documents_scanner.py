"""Test that `DOCUMENT_SCANNER` scans uploads before they are stored."""

import pytest

from credit.documents import scanning
from credit.models import DocumentFile, RequestedDocument, StoredFile
from tests.api import assert_error
from tests.config.test_doctor import why
from tests.credit.clamd_double import EICAR, clamd
from tests.credit.document_support import PDF, path_of, send_file
from tests.processes import free_port

pytestmark = pytest.mark.django_db
INFECTED = PDF + EICAR


@pytest.fixture(params=["tcp", "unix"])
def scanner(request, settings, tmp_path):
    with clamd(tmp_path / "clamd.ctl" if request.param == "unix" else None) as double:
        settings.DOCUMENT_SCANNER = double.address
        yield double


def test_clean_file_is_stored_after_a_complete_scan(api, application, scanner):
    content = PDF + bytes(range(256)) * 4_000
    assert send_file(api, application, content).status_code == 201
    assert scanner.streams == [content]


def test_infected_file_is_rejected_and_recorded(api, application, scanner):
    error = assert_error(send_file(api, application, INFECTED), 400, "E1021")
    assert "Win.Test.EICAR_HDB-1" in error["message"]
    row = DocumentFile.objects.get()
    assert (row.infection, row.stored, row.size_bytes) == ("Win.Test.EICAR_HDB-1", None, len(INFECTED))
    assert not StoredFile.objects.exists()
    assert RequestedDocument.objects.get().status == "requested"
    assert api.read(path_of(application)).json()["total"] == 0
    assert send_file(api, application).status_code == 201


def test_repeated_infected_upload_is_recorded_once_without_a_stored_response(api, application, scanner, key):
    for _ in range(12):
        assert_error(send_file(api, application, INFECTED, key=key), 400, "E1021")
    assert DocumentFile.objects.count() == 1


def test_upload_without_a_configured_scanner_is_not_scanned(api, application):
    assert send_file(api, application, INFECTED).status_code == 201


@pytest.mark.parametrize("fault", ["hangs up", "nonsense"])
def test_upload_without_a_scanner_verdict_is_not_stored(api, application, scanner, fault):
    scanner.fault = fault
    answer = send_file(api, application)
    assert_error(answer, 503, "E5030")
    assert answer.headers["Retry-After"] == "1"
    assert not StoredFile.objects.exists()
    assert not DocumentFile.objects.exists()
    scanner.fault = ""
    assert send_file(api, application).status_code == 201


@pytest.mark.parametrize("fault", ["hangs", "drips"])
def test_upload_with_a_slow_scanner_is_aborted(api, application, scanner, monkeypatch, fault):
    monkeypatch.setattr(scanning, "SCAN_SECONDS", 0.5)
    scanner.fault, scanner.hang_seconds = fault, 400
    assert_error(send_file(api, application), 503, "E5030")
    assert not StoredFile.objects.exists()


def test_upload_above_the_scanners_size_limit_returns_413(api, application, scanner):
    scanner.size_limit = 100_000
    assert_error(send_file(api, application, PDF + b"x" * 5_000_000), 413, "E1007")
    assert not StoredFile.objects.exists()
    assert "raise StreamMaxLength" in why("document_scanner")


@pytest.mark.parametrize(
    ("verdict", "status", "code"),
    [
        (b"Heuristics.Limits.Exceeded.MaxFileSize FOUND", 413, "E1007"),
        (b"Heuristics.Encrypted.PDF FOUND", 400, "E1001"),
        (b"Can't allocate memory ERROR", 503, "E5030"),
        (b"", 503, "E5030"),
        (b"Time limit reached ERROR", 503, "E5030"),
        (b"Excluded", 503, "E5030"),
        (b"Heuristics.Broken.Media.JPEG.JFIFdupAppMarker FOUND", 400, "E1001"),
        (b"ok", 503, "E5030"),
        (b"Heuristics.Broken.Executable FOUND", 400, "E1001"),
        (b"Heuristics.Encrypted.Doc FOUND", 400, "E1001"),
        (b"Heuristics.Phishing.Email.SpoofedDomain FOUND", 400, "E1021"),
        (b"PUA.Pdf.Trojan FOUND", 400, "E1021"),
        (b"Win.Test.EICAR_HDB-1(44d88612fea8a8f36de82e1278abb02f:68) FOUND", 400, "E1021"),
    ],
)
def test_upload_error_depends_on_the_scanner_verdict(api, application, scanner, verdict, status, code):
    scanner.verdict = verdict
    assert_error(send_file(api, application), status, code)
    assert DocumentFile.objects.exists() == (code == "E1021")


@pytest.mark.parametrize("kind", [b"SSN", b"CreditCardNumber"])
def test_file_with_personal_numbers_is_not_infected(api, application, scanner, kind):
    scanner.verdict = b"Heuristics.Structured." + kind + b" FOUND"
    assert send_file(api, application).status_code == 201


@pytest.mark.parametrize("nobody", ["tcp", "unix"])
def test_upload_with_an_unreachable_scanner_is_not_stored(api, application, settings, tmp_path, nobody):
    settings.DOCUMENT_SCANNER = ("127.0.0.1", free_port()) if nobody == "tcp" else str(tmp_path / "nobody")
    assert_error(send_file(api, application), 503, "E5030")
    assert not StoredFile.objects.exists()
    assert "documents can't be uploaded" in why("document_scanner")


def test_rejected_uploads_are_not_scanned(api, application, scanner):
    assert_error(send_file(api, application, b"text"), 415, "E1013")
    assert scanner.commands == []


def test_doctor_checks_the_document_scanner(scanner):
    assert why("document_scanner") == "responds, and accepts the largest file"
    scanner.fault = "nonsense"
    assert "must be clamd" in why("document_scanner")
