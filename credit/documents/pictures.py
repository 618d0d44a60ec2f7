"""The size of an image, before it is decoded: a few bytes can claim more pixels than a machine can hold."""

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
