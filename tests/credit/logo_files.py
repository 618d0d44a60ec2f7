"""Logos that are accepted, and files that only look like logos."""

import struct
import zlib

SIGNATURE = b"\x89PNG\r\n\x1a\n"
SPACES = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'


def svg(inside="", attributes="", before=""):
    return f'{before}<svg {SPACES} viewBox="0 0 10 10" {attributes}>{inside}</svg>'.encode()


def chunk(kind, data=b""):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def header(width=2, height=2, depth=8, color=6, interlace=0):
    return chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, color, 0, 0, interlace))


def png(*extra, head=None, pixels=bytes(2 * (1 + 2 * 4)), after=b""):
    chunks = [head or header(), *extra, chunk(b"IDAT", zlib.compress(pixels)), chunk(b"IEND")]
    return SIGNATURE + b"".join(chunks) + after


SVG = svg('<title>Quartz</title><rect width="10" height="10" fill="#0b6b51"/>')
PNG = png()

GRADIENT = '<defs><linearGradient id="a"><stop offset="0"/></linearGradient></defs>'
ACCEPTED = {
    "a drawing": SVG,
    "a byte order mark and a declaration": b"\xef\xbb\xbf" + svg(before='<?xml version="1.0" encoding="UTF-8"?>'),
    "a gradient": svg(f'{GRADIENT}<rect fill="url(#a)" style="stroke: url(\'#a\')" width="3" height="3"/>'),
    "a clip path that uses a shape": svg(
        '<defs><rect id="s" width="3" height="3"/></defs><clipPath id="c"><use xlink:href="#s"/></clipPath>'
        '<g clip-path="url(#c)"><path d="M0 0h3"/></g>'
    ),
    "a style sheet": svg(
        "<style>.st0{fill:#ffffff;image-rendering:optimizeQuality}</style><path class='st0' d='M0 0'/>"
    ),
    "a PNG": PNG,
    "a PNG with a palette": png(chunk(b"PLTE", b"\0\0\0"), head=header(color=3, depth=1), pixels=bytes(2 * 2)),
}

# The file draws a billion squares.
BOMB = "".join(f"<g id='b{n + 1}'>" + f"<use href='#b{n}'/>" * 10 + "</g>" for n in range(9))
ENTITIES = '<!DOCTYPE svg [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>'
REFUSED = {
    "a script": (svg("<script>alert(1)</script>"), "must not have the element `script`"),
    "a script of another namespace": (
        svg('<x:script xmlns:x="http://www.w3.org/1999/xhtml">alert(1)</x:script>'),
        "must not have the element `script`",
    ),
    "an event": (svg(attributes='onload="alert(1)"'), "event attribute `onload`"),
    "an event in capitals": (svg('<rect ONCLICK="alert(1)"/>'), "event attribute `ONCLICK`"),
    "a foreign object": (svg("<foreignObject/>"), "must not have the element `foreignObject`"),
    "an animation of a link": (svg('<set attributeName="href" to="javascript:alert(1)"/>'), "the element `set`"),
    "an image": (svg('<image href="data:image/png;base64,AAAA"/>'), "the element `image`"),
    "a link": (svg('<a href="https://evil.example"/>'), "the element `a`"),
    "a filter": (svg('<filter id="f"/>'), "the element `filter`"),
    "a use of another file": (svg('<use href="http://evil.example/x.svg#a"/>'), "`href` must begin with `#`"),
    "an xlink to another file": (svg('<use xlink:href="//evil.example/x.svg#a"/>'), "`href` must begin with `#`"),
    "a data link": (svg('<use href="data:image/svg+xml;base64,AAAA#a"/>'), "`href` must begin with `#`"),
    "another base": (svg(attributes='xml:base="https://evil.example/"'), "`xml:base`"),
    "an import": (svg("<style>@import 'https://evil.example/a.css';</style>"), "styles must not load files"),
    "an escaped import": (svg("<style>@\\69mport 'https://evil.example/a.css';</style>"), "styles must not load files"),
    "an import in CDATA": (svg("<style><![CDATA[@import '//evil.example';]]></style>"), "styles must not load files"),
    "a font": (svg("<style>@font-face{src:url(//evil.example/f)}</style>"), "styles must not load files"),
    "a fill from another file": (svg('<rect fill="url(https://evil.example/#a)"/>'), "styles must not load files"),
    "an escaped fill": (svg('<rect style="fill:u\\72l(//evil.example/#a)"/>'), "styles must not load files"),
    "an image set": (
        svg("<style>svg{background:image-set('//evil.example' 1x)}</style>"),
        "styles must not load files",
    ),
    "a rule that refers to an element": (svg("<style>*{mask:url(#m)}</style>"), "must not refer to elements"),
    "a document type": (svg(before="<!DOCTYPE svg>"), "must not have a DOCTYPE"),
    "entities": (svg("<text>&b;</text>", before=ENTITIES), "must not have a DOCTYPE"),
    "an external entity": (
        svg("<text>&x;</text>", before='<!DOCTYPE svg [<!ENTITY x SYSTEM "file:///etc/passwd">]>'),
        "must not have a DOCTYPE",
    ),
    "a style sheet of another file": (
        svg(before='<?xml-stylesheet href="//evil.example"?>'),
        "processing instructions",
    ),
    "another encoding": (svg(before='<?xml version="1.0" encoding="UTF-16"?>'), "must be encoded in UTF-8"),
    "an encoding of seven bits": (
        svg(before='<?xml version="1.0" encoding="iso-2022-jp"?>'),
        "must be encoded in UTF-8",
    ),
    "bytes that are not UTF-8": (svg("<title>\u00e9</title>").decode().encode("latin-1"), "not well-formed"),
    "a bomb of references": (svg(f'<rect id="b0"/>{BOMB}'), "draws too many elements"),
    "a bomb of masks": (
        svg("".join(f"<mask id='m{n}'>" + f"<g mask='url(#m{n + 1})'/>" * 10 + "</mask>" for n in range(9))),
        "draws too many elements",
    ),
    "a circle of references": (svg('<g id="a"><use href="#a"/></g>'), "form a circle"),
    "a deep tree": (svg("<g>" * 60 + "</g>" * 60), "nested too deeply"),
    "a page of HTML": (b"<html><body>Logo</body></html>", "must not have the element `html`"),
    "a page with a drawing": (b"<!DOCTYPE html><svg></svg>", "must not have a DOCTYPE"),
    "a drawing without its namespace": (b"<svg/>", "must not have the element `svg`"),
    "two drawings": (SVG + SVG, "not well-formed"),
    "a drawing in a group": (f"<g {SPACES}><svg/></g>".encode(), "the element `svg` outermost"),
    "a part of a drawing": (SVG[:-3], "not well-formed"),
    "an animated PNG": (png(chunk(b"acTL", bytes(8))), "must not be animated"),
    "a PNG with a page behind it": (png(after=b"<script>alert(1)</script>"), "damaged"),
    "a PNG with an archive behind it": (png(after=chunk(b"zipp", b"PK\x03\x04")), "nothing after it"),
    "a PNG with two headers": (png(header()), "one header"),
    "a PNG with an unknown chunk": (png(chunk(b"XXXX")), "unknown chunk"),
    "a PNG with a wrong checksum": (PNG[:-1] + b"\0", "checksum"),
    "a PNG that is cut off": (PNG[:-3], "checksum"),
    "a PNG without pixels": (SIGNATURE + header() + chunk(b"IEND"), "damaged"),
    "a PNG of too many pixels": (png(head=header(width=1025)), "1 to 1,024 pixels"),
    "a PNG of no pixels": (png(head=header(height=0)), "1 to 1,024 pixels"),
    "a PNG that unpacks to more": (png(pixels=bytes(60_000_000)), "do not fit"),
    "a PNG of an unknown color type": (png(head=header(color=5)), "header is not valid"),
    "an interlaced PNG": (png(head=header(interlace=1)), "must not be interlaced"),
    "a JPEG": (b"\xff\xd8\xff\xe0" + bytes(40), "a PNG or SVG file"),
    "a GIF": (b"GIF89a" + bytes(40), "a PNG or SVG file"),
    "a compressed drawing": (b"\x1f\x8b\x08" + bytes(40), "a PNG or SVG file"),
    "a program": (b"MZ" + SVG, "a PNG or SVG file"),
    "an empty file": (b"", "a PNG or SVG file"),
    "one byte too many": (SVG + b" " * (65_537 - len(SVG)), "at most 65,536 bytes"),
}
