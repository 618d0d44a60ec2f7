"""The type of an uploaded file, and whether people will be able to open it."""

import re

from config.core.errors import UnsupportedMediaType
from credit.core.errors import BrokenFile, LockedFile, PhonePicture
from credit.documents.pictures import size_of

# How a picture begins: ITU-T T.81, B.1.1.3; PNG (W3C), 5.2.
_PICTURES = {b"\xff\xd8\xff": "image/jpeg", b"\x89PNG\r\n\x1a\n": "image/png"}
_PDF_WITHIN = 1_024  # ISO 32000-1, annex H.3, note 13: readers look so far for the header
# Brands of HEIF files, which phones write (ISO/IEC 23008-12, annex B).
_HEIF_BRANDS = frozenset({b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"mif2", b"msf1", b"avif"})
_ENCRYPTED = re.compile(rb"/Encrypt\s*(?:[0-9]+\s+[0-9]+\s+R|<<)")
_LINEARIZED_LENGTH = re.compile(rb"/Linearized\b[^>]{0,500}?/L\s+([0-9]{1,12})\b")


def recognize(content: bytes) -> str:
    """Return the media type of a PDF, JPEG or PNG by its content.

    Raises UnsupportedMediaType for another file, LockedFile for an encrypted PDF, BrokenFile for a part of a file.
    """
    if b"%PDF-" in content[:_PDF_WITHIN]:
        if _ENCRYPTED.search(content):
            raise LockedFile.of_member("file", LockedFile.message)
        content_type, is_whole = "application/pdf", _is_whole_pdf(content)
    else:
        content_type = next((kind for beginning, kind in _PICTURES.items() if content.startswith(beginning)), "")
        is_whole = _is_whole_png(content) if content_type == "image/png" else _is_whole_jpeg(content)
    if not content_type:
        if content[4:8] == b"ftyp" and content[8:12] in _HEIF_BRANDS:
            raise PhonePicture
        raise UnsupportedMediaType(
            "The file's content must be a PDF, JPEG or PNG. Save or print it as a PDF, and send that."
        )
    if not is_whole:
        raise BrokenFile.of_member("file", BrokenFile.message)
    return content_type


def _is_whole_pdf(content: bytes) -> bool:
    """Return whether a PDF has an end. A linearized one has two, and contains its length."""
    length = _LINEARIZED_LENGTH.search(content[:_PDF_WITHIN])
    return b"%%EOF" in content and (length is None or len(content) >= int(length[1]))


def _is_whole_png(content: bytes) -> bool:
    """Walk the chunks: there is a size, image data, and an end."""
    at, kinds = 8, set()
    while at + 12 <= len(content) and b"IEND" not in kinds:
        kinds.add(content[at + 4 : at + 8])
        at += 12 + int.from_bytes(content[at : at + 4])
    return at <= len(content) and {b"IHDR", b"IDAT", b"IEND"} <= kinds and min(size_of(content)) > 0


def _is_whole_jpeg(content: bytes) -> bool:
    """Return whether a JPEG has a frame, a scan behind it, and an end behind that."""
    scan = content.rfind(b"\xff\xda")
    return min(size_of(content)) > 0 and scan > 0 and content.find(b"\xff\xd9", scan) > 0
