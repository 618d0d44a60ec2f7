"""Validation of lenders' logos: PNG files, and SVG files without scripts and without references to other files.

Pages show a logo only in `<img>`, with a policy that forbids scripts and requests. These checks make the file harmless
even if a user opens it directly.
"""

import base64
import binascii
import re
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NoReturn
from xml.parsers import expat

MAX_BYTES = 65_536
BASE64_MAX_LENGTH = -(-MAX_BYTES // 3) * 4
PNG_SIDE_MAX = 1_024
TOO_LARGE = f"Must have at most {MAX_BYTES:,} bytes. Save the logo with fewer pixels, or with a simpler drawing."
PNG, SVG = "image/png", "image/svg+xml"

# These limits apply to an SVG whose references are replaced with their targets.
_ELEMENTS_MAX, _DEPTH_MAX = 10_000, 50
_SIGNATURE = b"\x89PNG\r\n\x1a\n"
# These PNG chunks affect the pixels. All other chunks, such as texts and times, are removed.
_KEPT = {b"IHDR", b"PLTE", b"tRNS", b"gAMA", b"cHRM", b"sRGB", b"sBIT", b"bKGD", b"pHYs", b"IDAT", b"IEND"}
_ANIMATED = {b"acTL", b"fcTL", b"fdAT"}
# This maps a PNG color type to its number of channels.
_CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
_DEPTHS = {0: {1, 2, 4, 8, 16}, 2: {8, 16}, 3: {1, 2, 4, 8}, 4: {8, 16}, 6: {8, 16}}

_SVG_SPACE, _SEPARATOR = "http://www.w3.org/2000/svg", " "
_ELEMENTS = frozenset({
    "circle", "clipPath", "defs", "desc", "ellipse", "g", "line", "linearGradient", "mask", "path", "pattern",
    "polygon", "polyline", "radialGradient", "rect", "stop", "style", "svg", "symbol", "text", "title", "tspan", "use",
})  # fmt: skip
# These attributes neither draw nor load anything.
_INERT = re.compile(r"(?:aria|data)-|class$")
_LOCAL_URL = re.compile(r"""url\(\s*(["']?)#([^"'()\s]+)\1\s*\)""", re.IGNORECASE)
_LOADS = re.compile(r"[\\@]|(?:url|src|image|image-set|cross-fade|element|expression)\s*\(|script:", re.IGNORECASE)


class NotALogo(ValueError):
    """The file is not an acceptable logo. The message is for the user who sent the file."""


@dataclass(frozen=True, slots=True)
class Logo:
    media_type: str
    content: bytes


def read_base64(text: str) -> Logo:
    """Decode and check a logo in Base64. Raises NotALogo."""
    try:
        content = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise NotALogo("Must be the Base64 of a PNG or SVG file, without a prefix such as `data:`.") from None
    return read_logo(content)


def read_logo(content: bytes) -> Logo:
    """Check the content of a logo file, and return the logo in the form that is stored. Raises NotALogo."""
    if len(content) > MAX_BYTES:
        raise NotALogo(TOO_LARGE)
    if content.startswith(_SIGNATURE):
        return Logo(PNG, _checked_png(content))
    if content.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"<"):
        _check_svg(content)
        return Logo(SVG, content)
    raise NotALogo("Must be a PNG or SVG file.")


def _chunks_of(content: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield the type and the data of each chunk up to the end of the file."""
    position = len(_SIGNATURE)
    while position < len(content):
        head = content[position : position + 8]
        if len(head) < 8:
            raise NotALogo("The PNG is damaged: its last chunk is incomplete.")
        length, kind = struct.unpack(">I4s", head)
        data, check = content[position + 8 : position + 8 + length], content[position + 8 + length :][:4]
        if len(check) < 4 or zlib.crc32(kind + data) != int.from_bytes(check, "big"):
            raise NotALogo("The PNG is damaged: the checksum of a chunk is wrong.")
        yield kind, data
        position += 12 + length


def _checked_png(content: bytes) -> bytes:
    """Check a PNG, and remove the chunks that do not affect how it looks."""
    chunks = list(_chunks_of(content))
    kinds = [kind for kind, _ in chunks]
    if _ANIMATED & set(kinds):
        raise NotALogo("The PNG must not be animated.")
    if kinds.count(b"IHDR") != 1 or kinds[0] != b"IHDR" or kinds.count(b"IEND") != 1 or kinds[-1] != b"IEND":
        raise NotALogo("The PNG must begin with one header, and end with one end mark and nothing after it.")
    if unknown := next((kind for kind in kinds if kind not in _KEPT and not kind[0] & 0x20), None):
        raise NotALogo(f"The PNG has the unknown chunk {unknown.decode('ascii', 'replace')}.")
    expected = _bytes_of_pixels(chunks[0][1])
    unpacked = zlib.decompressobj()
    try:
        pixels = unpacked.decompress(b"".join(data for kind, data in chunks if kind == b"IDAT"), expected + 1)
    except zlib.error:
        raise NotALogo("The PNG is damaged: its pixels can't be read.") from None
    if len(pixels) != expected or not unpacked.eof or unpacked.unused_data:
        raise NotALogo("The PNG is damaged: its pixels do not fit its width and height.")
    kept = [(kind, data) for kind, data in chunks if kind in _KEPT]
    return _SIGNATURE + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in kept
    )


def _bytes_of_pixels(header: bytes) -> int:
    """Return the length of the decompressed pixels in bytes, including the filter byte of each row."""
    if len(header) != 13:
        raise NotALogo("The PNG is damaged: its header is not valid.")
    width, height, depth, color, packing, filtering, interlace = struct.unpack(">IIBBBBB", header)
    if depth not in _DEPTHS.get(color, ()) or packing or filtering or interlace > 1:
        raise NotALogo("The PNG is damaged: its header is not valid.")
    if not (0 < width <= PNG_SIDE_MAX and 0 < height <= PNG_SIDE_MAX):
        raise NotALogo(f"The PNG must have a width and a height of 1 to {PNG_SIDE_MAX:,} pixels.")
    if interlace:
        raise NotALogo("The PNG must not be interlaced. Save it without interlacing.")
    return int(height * (1 + (width * depth * _CHANNELS[color] + 7) // 8))


@dataclass(slots=True)
class _Element:
    name: str
    text: str = ""
    children: list["_Element"] = field(default_factory=list)
    refers_to: list[str] = field(default_factory=list)


class _SvgReader:
    """Parse an SVG into a tree, and reject everything that a logo does not need."""

    def __init__(self) -> None:
        self.open: list[_Element] = []
        self.root: _Element | None = None
        self.by_id: dict[str, _Element] = {}
        self._count = 0

    def read(self, content: bytes) -> None:
        parser = expat.ParserCreate("utf-8", _SEPARATOR)
        parser.XmlDeclHandler = self._declared
        parser.StartDoctypeDeclHandler = self._has_doctype
        parser.ProcessingInstructionHandler = self._has_instruction
        parser.StartElementHandler, parser.EndElementHandler = self._start, self._end
        parser.CharacterDataHandler = self._text
        try:
            parser.Parse(content, True)
        except expat.ExpatError as error:
            raise NotALogo(f"The SVG is not well-formed XML: line {error.lineno}.") from None

    def _declared(self, _version: str, encoding: str | None, _standalone: int) -> None:
        if encoding and encoding.lower() != "utf-8":
            raise NotALogo("The SVG must be encoded in UTF-8.")

    def _has_doctype(self, *_parts: object) -> NoReturn:
        raise NotALogo("The SVG must not have a DOCTYPE or entities. Remove that line.")

    def _has_instruction(self, *_parts: object) -> NoReturn:
        raise NotALogo("The SVG must not have processing instructions, such as `<?xml-stylesheet`.")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        space, _, local = name.rpartition(_SEPARATOR)
        if space != _SVG_SPACE or local not in _ELEMENTS:
            raise NotALogo(f"The SVG must not have the element `{local[:40]}`. Save the logo as a plain SVG.")
        if (self.root is None) != (local == "svg" and not self.open):
            raise NotALogo("The SVG must have the element `svg` outermost.")
        self._count += 1
        if len(self.open) >= _DEPTH_MAX or self._count > _ELEMENTS_MAX:
            raise NotALogo("The SVG is nested too deeply, or has too many elements.")
        element = _Element(local)
        for attribute, value in attributes.items():
            self._check_attribute(element, attribute, value)
        if self.open:
            self.open[-1].children.append(element)
        else:
            self.root = element
        self.open.append(element)

    def _check_attribute(self, element: _Element, attribute: str, value: str) -> None:
        space, _, name = attribute.rpartition(_SEPARATOR)
        if name.lower().startswith("on"):
            raise NotALogo(f"The SVG must not have the event attribute `{name[:40]}`.")
        if name == "base" and space:
            raise NotALogo("The SVG must not have the attribute `xml:base`.")
        if name.lower() == "href":
            if not value.startswith("#"):
                raise NotALogo("The SVG must refer only to its own elements: `href` must begin with `#`.")
            element.refers_to.append(value[1:])
        elif name == "id":
            self.by_id.setdefault(value, element)
        elif not _INERT.match(name):
            self._check_style(element, value)

    def _check_style(self, element: _Element, text: str) -> None:
        element.refers_to += [match[2] for match in _LOCAL_URL.finditer(text)]
        if _LOADS.search(_LOCAL_URL.sub("", text)):
            raise NotALogo("The SVG's styles must not load files, or contain `@` rules or backslashes.")

    def _text(self, text: str) -> None:
        self.open[-1].text += text

    def _end(self, _name: str) -> None:
        element = self.open.pop()
        if element.name == "style":
            self._check_style(element, element.text)


def _check_svg(content: bytes) -> None:
    reader = _SvgReader()
    reader.read(content)
    if reader.root is None:
        raise NotALogo("The SVG must have the element `svg` outermost.")
    # A style rule can apply to any number of elements, so the number of drawn elements would be unknown.
    if any(element.refers_to for element in _all_of(reader.root) if element.name == "style"):
        raise NotALogo(
            "The SVG's `style` element must not refer to elements. Use attributes, such as `fill`, for that."
        )
    sizes: dict[int, int] = {}
    if _size_of(reader.root, reader.by_id, sizes, depth=0) > _ELEMENTS_MAX:
        raise NotALogo("The SVG draws too many elements: its references repeat each other.")


def _all_of(element: _Element) -> Iterator[_Element]:
    yield element
    for child in element.children:
        yield from _all_of(child)


def _size_of(element: _Element, by_id: dict[str, _Element], sizes: dict[int, int], *, depth: int) -> int:
    """Return the number of elements that an element draws, after replacing each reference with its target."""
    if depth > 2 * _DEPTH_MAX:
        raise NotALogo("The SVG's references form a circle, or a chain that is too long.")
    key = id(element)
    if key not in sizes:
        targets = [by_id[name] for name in element.refers_to if name in by_id]
        parts = (_size_of(part, by_id, sizes, depth=depth + 1) for part in [*element.children, *targets])
        sizes[key] = 1 + sum(parts)
    return sizes[key]
