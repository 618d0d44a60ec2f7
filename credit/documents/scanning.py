"""Scan files for viruses before they are stored, with the INSTREAM command of clamd(8) at `DOCUMENT_SCANNER`."""

import logging
import socket
import struct
import time
from contextlib import suppress
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Info

from config.core.errors import PayloadTooLarge, Unavailable
from credit.core.errors import BrokenFile, LockedFile

logger = logging.getLogger("platform.documents")

# An address is a host and a port, or the path of a socket.
Address = tuple[str, int] | str

CONNECT_SECONDS = 2.0
SCAN_SECONDS = 15.0  # this limit must be shorter than the request's time limit
_PIECE_BYTES = 65_536
_ANSWER_MAX_BYTES = 1_024


class ScannerUnavailable(Unavailable):
    """The scanner can't be reached, or it returned no verdict."""

    message = "The server can't scan the file for viruses now. It was not stored. Send it again later."


def find_infection(content: bytes) -> str:
    """Return the scanner's name for the malware, or "" if the file is clean or no scanner is configured.

    Raises ScannerUnavailable. Raises PayloadTooLarge above the scanner's limits, UnsupportedMediaType for a
    password-protected file, and BrokenFile for a damaged file.
    """
    address = settings.DOCUMENT_SCANNER
    if address is None:
        return ""
    verdict = _ask(address, b"INSTREAM", content).rpartition(": ")[2]
    # With StructuredDataDetection, clamd reports credit card and social security numbers, which applicants' documents
    # usually contain.
    if verdict == "OK" or verdict.startswith("Heuristics.Structured."):
        return ""
    # With AlertExceedsMax, AlertEncrypted, and AlertBroken*, clamd also returns FOUND for files that it can't scan.
    if verdict.startswith(("INSTREAM size limit exceeded", "Heuristics.Limits.Exceeded")):
        logger.warning("the scanner refuses files of %s bytes: raise its limits", len(content))
        raise PayloadTooLarge("The file is too large for the virus scanner. Send a smaller file.")
    if verdict.startswith("Heuristics.Encrypted"):
        raise LockedFile.of_member("file", LockedFile.message)
    if verdict.startswith("Heuristics.Broken."):
        raise BrokenFile.of_member("file", BrokenFile.message)
    if not verdict.endswith(" FOUND"):
        raise ScannerUnavailable
    return verdict.removesuffix(" FOUND")[:255]


def check_document_scanner(**_options: Any) -> list[CheckMessage]:
    address = settings.DOCUMENT_SCANNER
    if address is None:
        return [Info("not used")]
    try:
        answer = _ask(address, b"PING")
    except ScannerUnavailable as error:
        return [Error(f"DOCUMENT_SCANNER does not respond ({error.__cause__}): documents can't be uploaded.")]
    if answer != "PONG":
        return [Error(f"The service at DOCUMENT_SCANNER must be clamd, but it responded {answer[:50]!r}.")]
    try:
        verdict = _ask(address, b"INSTREAM", bytes(settings.FILE_UPLOAD_MAX_BYTES)).rpartition(": ")[2]
    except ScannerUnavailable as error:
        return [Error(f"DOCUMENT_SCANNER returns no verdict on the largest file ({error.__cause__}).")]
    if verdict != "OK":
        text = f"DOCUMENT_SCANNER returns {verdict[:50]!r} for {settings.FILE_UPLOAD_MAX_BYTES} zero bytes: "
        return [Error(text + "raise StreamMaxLength, MaxFileSize and MaxScanSize of clamd above that size.")]
    return [Info("responds, and accepts the largest file")]


def _ask(address: Address, command: bytes, content: bytes | None = None) -> str:
    """Send a command, and stream the content, if any. Return the response. Raises ScannerUnavailable."""
    deadline = time.monotonic() + SCAN_SECONDS
    try:
        with _connect(address) as connection:

            def send(piece: bytes | memoryview) -> None:
                connection.settimeout(max(deadline - time.monotonic(), 0.001))
                connection.sendall(piece)

            send(b"z" + command + b"\0")
            if content is not None:
                view = memoryview(content)
                with suppress(BrokenPipeError, ConnectionResetError):
                    # Above its size limit, clamd responds early and closes the connection.
                    for start in range(0, len(view), _PIECE_BYTES):
                        piece = view[start : start + _PIECE_BYTES]
                        send(struct.pack("!L", len(piece)))
                        send(piece)
                    send(struct.pack("!L", 0))
            answer = b""
            while b"\0" not in answer and len(answer) < _ANSWER_MAX_BYTES:
                connection.settimeout(max(deadline - time.monotonic(), 0.001))
                received = connection.recv(_ANSWER_MAX_BYTES)
                if not received:
                    raise ConnectionError("the scanner closed the connection")
                answer += received
    except OSError as error:
        raise ScannerUnavailable from error
    return answer.partition(b"\0")[0].decode(errors="replace").strip()


def _connect(address: Address) -> socket.socket:
    if isinstance(address, tuple):
        return socket.create_connection(address, timeout=CONNECT_SECONDS)
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.settimeout(CONNECT_SECONDS)
        connection.connect(address)
    except OSError:
        connection.close()
        raise
    return connection
