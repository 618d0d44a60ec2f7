"""The type of an uploaded file, and whether people will be able to open it."""

import re

from config.core.errors import UnsupportedMediaType
from credit.core.errors import BrokenFile, LockedFile, PhonePicture
from credit.documents.protection import ENCRYPT, opens_without_password

# More than a scanned page or a photograph of one has, and 200 MB when drawn.
PIXELS_MAX = 50_000_000
_PNG_HEAD = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"
_JPEG_WITHOUT_LENGTH = frozenset({0x01, *range(0xD0, 0xD8)})
_JPEG_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_JPEG_SCAN, _JPEG_END = 0xDA, 0xD9


def may_be_shown(content: bytes) -> bool:
    """Return whether this is a PNG or JPEG whose own header has a size of at most PIXELS_MAX."""
    width, height = size_of(content)
    return 0 < width * height <= PIXELS_MAX


def size_of(content: bytes) -> tuple[int, int]:
    """Return width and height in pixels, zeros when the head does not tell."""
    if content.startswith(_PNG_HEAD) and len(content) >= 24:
        return int.from_bytes(content[16:20]), int.from_bytes(content[20:24])
    return _size_of_jpeg(content) if content.startswith(b"\xff\xd8") else (0, 0)


def _size_of_jpeg(content: bytes) -> tuple[int, int]:
    """Walk the segments to the first frame; each contains its length."""
    at = 2
    while at + 9 <= len(content) and content[at] == 0xFF:
        marker = content[at + 1]
        if marker in _JPEG_FRAMES:
            return int.from_bytes(content[at + 7 : at + 9]), int.from_bytes(content[at + 5 : at + 7])
        if marker in {_JPEG_SCAN, _JPEG_END}:
            break
        if marker == 0xFF:  # a filling
            at += 1
        elif marker in _JPEG_WITHOUT_LENGTH:
            at += 2
        elif (length := int.from_bytes(content[at + 2 : at + 4])) < 2:  # decoders would go on where they like
            break
        else:
            at += 2 + length
    return 0, 0


# How a picture begins: ITU-T T.81, B.1.1.3; PNG (W3C), 5.2.
_PICTURES = {b"\xff\xd8\xff": "image/jpeg", b"\x89PNG\r\n\x1a\n": "image/png"}
_PDF_WITHIN = 1_024  # ISO 32000-1, annex H.3, note 13: readers look so far for the header
# Brands of HEIF files, which phones write (ISO/IEC 23008-12, annex B, and the register of MP4RA).
_HEIF_BRANDS = frozenset(
    b"heic heix heim heis hevc hevx hevm hevs mif1 mif2 mif3 msf1 miaf avif avis avio avci avcs jpeg jpgs j2ki j2is "
    b"vvic vvis".split()
)
_LINEARIZED_LENGTH = re.compile(rb"/Linearized\b[^>]{0,500}?/L\s+([0-9]{1,12})\b")


def recognize(content: bytes) -> str:
    """Return the media type of a PDF, JPEG or PNG by its content.

    Raises UnsupportedMediaType for another file, LockedFile for a PDF that needs a password to open, and BrokenFile for
    a part of a file.
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
        raise UnsupportedMediaType("The file must be a PDF, JPEG, or PNG. Save or print it as a PDF, and send that.")
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
