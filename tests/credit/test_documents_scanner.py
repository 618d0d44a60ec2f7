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


@pytest.fixture
def scanner(settings):
    with clamd() as double:
        settings.DOCUMENT_SCANNER = double.address
        yield double


@pytest.mark.parametrize("socket", ["tcp", "unix"])
def test_clean_file_is_stored_after_a_complete_scan(api, application, settings, tmp_path, socket):
    with clamd(tmp_path / "clamd.ctl" if socket == "unix" else None) as double:
        settings.DOCUMENT_SCANNER = double.address
        assert why("document_scanner") == "responds, and accepts the largest file"
        double.streams.clear()
        content = PDF + bytes(range(256)) * 4_000
        assert send_file(api, application, content).status_code == 201
        assert double.streams == [content]
        double.commands.clear()
        assert_error(send_file(api, application, b"text"), 415, "E1013")
        assert double.commands == []
        double.fault = "nonsense"
        assert "must be clamd" in why("document_scanner")


def test_infected_file_is_rejected_and_recorded_once_without_a_stored_response(api, application, scanner, key):
    for _ in range(3):
        error = assert_error(send_file(api, application, INFECTED, key=key), 400, "E1021")
        assert "Win.Test.EICAR_HDB-1" in error["message"]
    row = DocumentFile.objects.get()
    assert (row.infection, row.stored, row.size_bytes) == ("Win.Test.EICAR_HDB-1", None, len(INFECTED))
    assert not StoredFile.objects.exists()
    assert RequestedDocument.objects.get().status == "requested"
    assert api.read(path_of(application)).json()["total"] == 0
    assert send_file(api, application).status_code == 201


def test_upload_without_a_configured_scanner_is_not_scanned(api, application):
    assert send_file(api, application, INFECTED).status_code == 201


def test_upload_without_a_scanner_verdict_is_not_stored(api, application, scanner):
    for fault in ("hangs up", "nonsense"):
        scanner.fault = fault
        answer = send_file(api, application)
        assert_error(answer, 503, "E5030")
        assert answer.headers["Retry-After"] == "1"
    assert not StoredFile.objects.exists()
    assert not DocumentFile.objects.exists()
    scanner.fault = ""
    assert send_file(api, application).status_code == 201


def test_upload_with_a_slow_scanner_is_aborted(api, application, scanner, monkeypatch):
    monkeypatch.setattr(scanning, "SCAN_SECONDS", 0.3)
    scanner.hang_seconds = 400
    for fault in ("hangs", "drips"):
        scanner.fault = fault
        assert_error(send_file(api, application), 503, "E5030")
    assert not StoredFile.objects.exists()


def test_upload_above_the_scanners_size_limit_returns_413(api, application, scanner):
    scanner.size_limit = 100_000
    assert_error(send_file(api, application, PDF + b"x" * 5_000_000), 413, "E1007")
    assert not StoredFile.objects.exists()
    assert "raise StreamMaxLength" in why("document_scanner")


def test_upload_error_depends_on_the_scanner_verdict(api, application, scanner):
    accepted = DocumentFile.objects.filter(infection="")
    for verdict, status, code in (
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
    ):
        scanner.verdict = verdict
        recorded = DocumentFile.objects.count()
        content = PDF + verdict  # A repeated infected file is recorded once.
        assert_error(send_file(api, application, content), status, code)
        assert DocumentFile.objects.count() - recorded == (code == "E1021"), verdict
    assert not accepted.exists()
    for kind in (b"SSN", b"CreditCardNumber"):  # A file with personal numbers is not infected.
        scanner.verdict = b"Heuristics.Structured." + kind + b" FOUND"
        assert send_file(api, application).status_code == 201


def test_upload_with_an_unreachable_scanner_is_not_stored(api, application, settings, tmp_path):
    for address in (("127.0.0.1", free_port()), str(tmp_path / "nobody")):
        settings.DOCUMENT_SCANNER = address
        assert_error(send_file(api, application), 503, "E5030")
        assert "documents can't be uploaded" in why("document_scanner")
    assert not StoredFile.objects.exists()
