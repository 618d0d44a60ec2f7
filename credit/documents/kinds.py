"""Detect the type of an uploaded file, and check that it is complete and readable."""

import re

from config.core.errors import UnsupportedMediaType
from credit.core.errors import BrokenFile, LockedFile, PhonePicture
from credit.documents.protection import ENCRYPT, opens_without_password

# An image with this number of pixels requires 200 MB of memory. Scanned pages and photographs have fewer pixels.
PIXELS_MAX = 50_000_000
_PNG_HEAD = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"
_JPEG_WITHOUT_LENGTH = frozenset({0x01, *range(0xD0, 0xD8)})
_JPEG_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_JPEG_SCAN, _JPEG_END, _JPEG_TEMPORARY = 0xDA, 0xD9, 0x01
# The maximum number of segments of a JPEG. Images with profiles, previews, and many scans have a few hundred.
_JPEG_SEGMENTS_MAX = 10_000
_JPEG_FILL = re.compile(rb"\xff+")
# In coded data, 0xFF is followed by a zero, a restart marker, or the next segment (ITU-T T.81, B.1.1.2 and B.1.1.5).
_JPEG_MARK = re.compile(rb"\xff[^\x00\xff\xd0-\xd7]")


def may_be_shown(content: bytes) -> bool:
    """Return whether the content is a PNG or JPEG whose header declares at most PIXELS_MAX pixels."""
    width, height = size_of(content)
    return 0 < width * height <= PIXELS_MAX


def size_of(content: bytes) -> tuple[int, int]:
    """Return the width and height in pixels from the header of an image, or zeros for other content."""
    if content.startswith(_PNG_HEAD) and len(content) >= 24:
        return int.from_bytes(content[16:20]), int.from_bytes(content[20:24])
    return _size_of_jpeg(content) if content.startswith(b"\xff\xd8") else (0, 0)


def _size_of_jpeg(content: bytes) -> tuple[int, int]:
    """Parse the segments up to the first frame, and return the frame's width and height."""
    at = 2
    for _ in range(_JPEG_SEGMENTS_MAX):
        if at + 9 > len(content) or content[at] != 0xFF:
            break
        marker = content[at + 1]
        if marker in _JPEG_FRAMES:
            return int.from_bytes(content[at + 7 : at + 9]), int.from_bytes(content[at + 5 : at + 7])
        if marker in {_JPEG_SCAN, _JPEG_END}:
            break
        # A marker can begin with any number of fill bytes.
        if marker == 0xFF:
            at = _JPEG_FILL.match(content, at).end() - 1  # type: ignore[union-attr]  # 0xFF always matches
        elif marker in _JPEG_WITHOUT_LENGTH:
            at += 2
        elif (length := int.from_bytes(content[at + 2 : at + 4])) < 2:
            # Decoders disagree about segments with an invalid length.
            break
        else:
            at += 2 + length
    return 0, 0


# Images start with these bytes (ITU-T T.81, B.1.1.3, and PNG (W3C), 5.2).
_PICTURES = {b"\xff\xd8\xff": "image/jpeg", b"\x89PNG\r\n\x1a\n": "image/png"}
# PDF readers search for the header in this number of bytes (ISO 32000-1, annex H.3, note 13).
_PDF_WITHIN = 1_024
# Phones create HEIF files with these brands (ISO/IEC 23008-12, annex B, and the MP4RA register).
_HEIF_BRANDS = frozenset(
    b"heic heix heim heis hevc hevx hevm hevs mif1 mif2 mif3 msf1 miaf avif avis avio avci avcs jpeg jpgs j2ki j2is "
    b"vvic vvis".split()
)
_LINEARIZED_LENGTH = re.compile(rb"/Linearized\b[^>]{0,500}?/L\s+([0-9]{1,12})\b")


def recognize(content: bytes) -> str:
    """Return the media type of a PDF, JPEG, or PNG from its content.

    Raises UnsupportedMediaType for other files, LockedFile for a PDF that requires a password, and BrokenFile for an
    incomplete file.
    """
    if b"%PDF-" in content[:_PDF_WITHIN]:
        if ENCRYPT.search(content) and not opens_without_password(content):
            raise LockedFile.of_member("file", LockedFile.message)
        content_type, is_whole = "application/pdf", _is_whole_pdf(content)
    else:
        content_type = next((kind for beginning, kind in _PICTURES.items() if content.startswith(beginning)), "")
        is_whole = _is_whole_png(content) if content_type == "image/png" else _is_whole_jpeg(content)
    if not content_type:
        if content[4:8] == b"ftyp" and content[8:12] in _HEIF_BRANDS:
            raise PhonePicture
        raise UnsupportedMediaType("The file must be a PDF, JPEG, or PNG. Save or print it as a PDF, and send the PDF.")
    if not is_whole:
        raise BrokenFile.of_member("file", BrokenFile.message)
    return content_type


def _is_whole_pdf(content: bytes) -> bool:
    """Return whether a PDF has an end mark. A linearized PDF must also have the length that its header declares."""
    length = _LINEARIZED_LENGTH.search(content[:_PDF_WITHIN])
    return b"%%EOF" in content and (length is None or len(content) >= int(length[1]))


def _is_whole_png(content: bytes) -> bool:
    at, kinds = 8, set()
    while at + 12 <= len(content) and b"IEND" not in kinds:
        kinds.add(content[at + 4 : at + 8])
        at += 12 + int.from_bytes(content[at : at + 4])
    return at <= len(content) and {b"IHDR", b"IDAT", b"IEND"} <= kinds and min(size_of(content)) > 0


def _is_whole_jpeg(content: bytes) -> bool:
    """Return whether a JPEG has a frame, a scan, and an end, in this order. Data after the end is ignored."""
    return min(size_of(content)) > 0 and _has_end_of_scans(content)


def _has_end_of_scans(content: bytes) -> bool:
    """Return whether an end marker follows a scan. Coded data after the header of each scan is skipped."""
    at, has_scan = 2, False
    for _ in range(_JPEG_SEGMENTS_MAX):
        mark = _JPEG_MARK.search(content, at)
        if mark is None:
            return False
        marker, end = content[mark.end() - 1], mark.end()
        # Before the first scan, only fill bytes may separate two segments.
        if marker == _JPEG_END or not (has_scan or content.count(b"\xff", at, end) == end - at - 1):
            return has_scan
        has_scan = has_scan or marker == _JPEG_SCAN
        at = end + (0 if marker == _JPEG_TEMPORARY else int.from_bytes(content[end : end + 2]))
    return False
