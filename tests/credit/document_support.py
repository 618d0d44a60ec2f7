"""Files to upload, and applications with requested documents."""

from zlib import compress, crc32

from django.utils import timezone

from credit.documents.requests import request_documents
from credit.models import RequestedDocument
from tests.factories import ApplicationFactory

BOUNDARY = "a-boundary-of-a-test"
PDF = b"%PDF-1.4\n1 0 obj<</Type/Catalog>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n"
JPEG = bytes.fromhex(
    "ffd8ffe000104a46494600010100000100010000ffdb0043" + 65 * "00" + "ffc0000b080001000101011100ffc400140001000000"
    "00000000000000000000000003ffc40014100100000000000000000000000000000000ffda0008010100003f0037ffd9"
)  # The image has one pixel.


def _chunk(kind, data):
    return len(data).to_bytes(4, "big") + kind + data + crc32(kind + data).to_bytes(4, "big")


PNG = (
    b"\x89PNG\r\n\x1a\n"
    + _chunk(b"IHDR", bytes([0, 0, 0, 1, 0, 0, 0, 1, 8, 2, 0, 0, 0]))
    + _chunk(b"IDAT", compress(b"\x00\x21\x73\x46"))
    + _chunk(b"IEND", b"")
)


def part(name="file", content=PDF, filename="payslip.pdf", headers=()):
    """Return one part of a form."""
    disposition = f'Content-Disposition: form-data; name="{name}"'
    if filename is not None:
        disposition += f'; filename="{filename}"'
    lines = [disposition, *headers]
    return f"--{BOUNDARY}\r\n".encode() + "\r\n".join(lines).encode() + b"\r\n\r\n" + content + b"\r\n"


def form(*parts):
    """Return the body of a form."""
    return b"".join(parts) + f"--{BOUNDARY}--\r\n".encode()


FORM = f"multipart/form-data; boundary={BOUNDARY}"


def with_documents(consumer, *names, status="pending_documents", **options):
    """Return an application with requested documents."""
    application = ApplicationFactory(consumer=consumer, status=status, initial_status="draft", **options)
    request_documents(application, names or ["Payslip"], by=consumer, now=timezone.now())
    return application


def path_of(application, document=None):
    """Return the path of a document's files; by default of the application's first document."""
    document = document or RequestedDocument.objects.filter(application=application).first()
    return f"/applications/{application.pk}/documents/{document.pk}/files"


def send_file(api, application, content=PDF, filename="payslip.pdf", *, document=None, raw=None, **options):
    """Upload a file; return the response."""
    body = form(part(content=content, filename=filename)) if raw is None else raw
    options.setdefault("content_type", FORM)
    return api.send(path_of(application, document), raw=body, **options)
