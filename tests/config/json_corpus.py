"""Generate malformed JSON documents of every known kind, with the same documents at every run."""

# ruff: noqa: RUF001  digits of other scripts are the point

import json
from collections.abc import Iterator
from itertools import product

SEEDS = [
    b"{}", b"[]", b'""', b'{"a":1}', b'{"consumer_id": "1", "offer_id": 7, "provider_id": 8}',
    b'{"a": [1, -2.5e-3, true, false, null], "b": {"c": "d", "e": {}}}',
    b'[[[]], [{}], [""], [0, -0, 0.0, 1e5, 1E+5, 1e-5]]',
    b'{"escapes": "\\" \\\\ \\/ \\b \\f \\n \\r \\t \\u00e9 \\ud83d\\ude00"}',
    '{"ключ": "värde 😀", "\u2028": "\u007f\uffff"}'.encode(), b'\t{\r\n "spaced" : [ 1 , 2 ] ,\n "out" : null }\n',
    b'{"9223372036854775807": 9223372036854775807, "-9223372036854775808": -9223372036854775808}',
    b'{"a":{"a":{"a":{"a":[[[[{"a":"]}[{"}]]]]}}}}',
]  # fmt: skip
# These tokens look like a value and are invalid.
TOKENS = [
    "NaN", "-NaN", "nan", "Infinity", "-Infinity", "+Infinity", "inf", "undefined", "None", "True", "TRUE",
    "False",
    "Null", "nul", "nulll", "tru", "truee", "fals", "yes", "void", "a", "'a'", "`a`", "“a”", "a:1", "\\u0031",
    "#1", "$",
    "+1", "++1", "--1", "-", "+", ".5", "-.5", "1.", "-1.", "1.e5", "1e", "1e+", "1E-", "1e5.5", "1.5.5",
    "1e5e5", "01",
    "-01", "00", "-00", "0x10", "0b1", "0o7", "1_000", "1,000.5,", "1 2", "1-", "1+1", "- 1", "1 .5", "1e 5",
    "١", "１",
    "1١", "1e１", "½", "∞", "1n", "1f", "1L", "0.", ".", "e5", "-e5", "0e", "1/2", "1;", "1:", "(1)", "<1>",
    "1e999",
    "-1e999", "1e400", "9" * 400 + "e5", "9" * 400 + ".0", "9223372036854775808", "-9223372036854775809",
    "9" * 400,
    "-" + "9" * 5_000, "1" + "0" * 20, "function(){}", "new Date()", "/re/", "1//2", "/**/", "//", "#", "--",
    "&nbsp;",
]  # fmt: skip
# This content of strings is invalid.
TEXTS = [
    "\\", "\\x41", "\\'", "\\0", "\\a", "\\v", "\\e", "\\U0001F600", "\\u", "\\u1", "\\u12", "\\u123", "\\u{41}",
    "\\uzzzz",
    "\\u 041", "\\u+041", "\\u-041", "\\u0x41", "\\u004g", "\\u００４１", "\\ ", "\\\n", "\\\u00e9", "\\u0000",
    "x\\u0000y",
    "\\ud800", "\\udbff", "\\udc00", "\\udfff", "x\\ud83d", "\\ud83dx", "\\ud83d\\u0041", "\\ude00\\ud83d",
    "\\ud83d\\ud83d",
    "\\ud83d\\n", "\\uD83D \\uDE00", *(chr(code) for code in range(32)), "a\nb", "a\tb",
]  # fmt: skip
# This UTF-8 is invalid: overlong forms, surrogates, values beyond U+10FFFF, truncated sequences, and stray bytes.
BYTES = [
    b"\xc0\x80", b"\xc0\xaf", b"\xc1\xbf", b"\xe0\x80\x80", b"\xe0\x80\xaf", b"\xe0\x9f\xbf", b"\xf0\x80\x80\x80",
    b"\xf0\x80\x80\xaf", b"\xf0\x8f\xbf\xbf", b"\xf8\x80\x80\x80\xaf", b"\xfc\x80\x80\x80\x80\xaf",
    b"\xed\xa0\x80",
    b"\xed\xaf\xbf", b"\xed\xb0\x80", b"\xed\xbf\xbf", b"\xed\xa0\xbd\xed\xb8\x80", b"\xf4\x90\x80\x80",
    b"\xf7\xbf\xbf\xbf",
    b"\xfe", b"\xff", b"\x80", b"\xbf", b"\xc3", b"\xe2\x82", b"\xf0\x9f\x98", b"\xc3(", b"\xe2(\xa1", b"\xe9",
    b"\xa0",
]  # fmt: skip
SPACES = [
    "\u00a0", "\u1680", "\u2000", "\u200b", "\u2028", "\u2029", "\u202f", "\u3000", "\ufeff", "\x0b", "\x0c", "\x00",
]  # fmt: skip
SPACES += ["\x1c", "\x85", "\x08", "\x7f"]
TAILS = [
    "x", "{}", "[]", "1", '"', "}", "]", ",", ":", "null", " 1", "\n{}", "//", "/* */", "#", ";", ")", "\x00", "\x1a",
]  # fmt: skip
COMMENTS = ["// a\n", "/* a */", "# a\n", "<!-- a -->", "-- a\n", "/**/"]
DAMAGE = [b"", b'"', b"{", b"}", b"[", b"]", b",", b":", b"\\", b"\x00", b"\n", b"0", b"-", b"e", b"\xff", b"/", b"'"]


def malformed() -> Iterator[bytes]:
    """Yield documents that are invalid JSON, or JSON beyond the API's limits; each is rejected."""
    yield from _cut_short()
    yield from _structures()
    for token in TOKENS:
        text = token.encode()
        yield from (text, b"[" + text + b"]", b'{"a":' + text + b"}", b'{"a":[1,' + text + b"]}", b"{" + text + b":1}")
        yield from (b'[{"a":null,"b":' + text + b"}]", b"[" + text + b",1]", b"[[],{}," + text + b"]")
    for text in (piece.encode() for piece in TEXTS):
        yield from (b'"' + text + b'"', b'{"a":"' + text + b'"}', b'{"' + text + b'":1}', b'[["x' + text + b'y"]]')
    for piece in BYTES:
        yield from (piece, b'"' + piece + b'"', b'{"a":"x' + piece + b'y"}', b'{"' + piece + b'":1}', b"{} " + piece)
    yield from _encodings()
    yield from _too_much()


def _cut_short() -> Iterator[bytes]:
    for seed in SEEDS:
        yield from (seed[:end] for end in range(len(seed.rstrip())))


def _structures() -> Iterator[bytes]:
    """Yield misplaced commas, colons, brackets, comments and spaces, and content after the document."""
    for seed, tail in product(SEEDS, TAILS):
        yield seed + tail.encode()
    for item, other in product(SEEDS, SEEDS):
        yield from (item + other, item + b"\n" + other, item + b"," + other)
    for seed, comment in product(SEEDS, COMMENTS):
        yield from (comment.encode() + seed, seed + comment.encode())
    for space in SPACES:
        for form in ("{s}{{}}", "{{}}{s}", "[{s}]", '{{"a"{s}:1}}', '{{"a":{s}1}}', "[1{s},2]", "{{{s}}}"):
            yield form.format(s=space).encode()
    for text in (
        "[,]", "[1,]", "[,1]", "[1,,2]", "[1 2]", "[1:2]", "[1;2]", "[[1,]]", "[1", "1]", "[1}", "{1]", "[}",
        "{]", "][", "}{",
        "{,}", '{"a"}', '{"a":}', '{"a":1,}', '{,"a":1}', '{"a":1,,"b":2}', '{"a":1 "b":2}', '{"a" 1}', '{"a"=1}',
        '{"a"=>1}', '{"a":1;"b":2}', '{"a":1:2}', '{"a"::1}', '{:1}', '{"a","b"}', '{"a":1,"b"}', "{a:1}",
        "{'a':1}",
        "{1:2}", "{null:1}", "{true:1}", "{[]:1}", "{{}:1}", '{"a":"b"c"}', '{"a":"b" "c"}', '"a" "b"', '"a""b"',
        "'a'",
        '{"a":1,"a":2}', '{"a":1,"b":2,"a":1}', '{"x":{"a":1,"a":1}}', '[{"":1,"":2}]', '{"a":1,"\\u0061":2}',
        '{"\\/":1,"/":2}', '{"é":1,"\\u00e9":2}', "{...}", "[1, ...]", "[*]", "<a/>", "a=1&b=2", "a: 1", "- 1",
        "%7B%7D",
        "=cmd", "callback({})", ")]}',\n{}", "for(;;);{}", "\\{}", '"\\"', '{"a":"\\"}', '{"a\\":1}', "{}\n{}\n",
        "[]\x1e[]",
    ):  # fmt: skip
        yield text.encode()


def _encodings() -> Iterator[bytes]:
    for seed, name in product(SEEDS, ("utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-be")):
        written = seed.decode().encode(name)
        if written != seed:
            yield written
    for text in ('{"a":"é"}', '["ÿ"]', '"ß"'):
        yield from (text.encode("latin-1"), text.encode("cp037"))
    yield '{"a":"Я"}'.encode("koi8-r")


def _too_much() -> Iterator[bytes]:
    """Yield documents beyond the limits of depth, size, and numbers. The first of each kind exceeds it by 1."""
    for levels in (33, 34, 500, 1_000, 100_000):
        yield from (b"[" * levels + b"]" * levels, b"[" * levels, b'{"a":' * levels + b"1" + b"}" * levels)
        yield b'[{"a":' * (levels // 2 + 1) + b"1" + b"}]" * (levels // 2 + 1)
        yield b'{"a":"]]]]}}}}","b":' + b"[" * levels + b"]" * levels + b"}"
    yield from (b"]" * 1_000, b"}" * 1_000, b'{"":' * 50_000)
    yield json.dumps([0] * 10_001).encode()
    yield json.dumps({str(number): number for number in range(10_001)}).encode()
    yield json.dumps([[1]] * 5_001).encode()


def mutants() -> Iterator[bytes]:
    """Yield documents with one byte deleted, duplicated, replaced, or swapped with the next, at every position.

    Some documents are still valid JSON.
    """
    for seed in SEEDS:
        for at in range(len(seed)):
            yield seed[:at] + seed[at : at + 1] + seed[at:]
            yield from (seed[:at] + damage + seed[at + 1 :] for damage in DAMAGE)
            yield seed[:at] + seed[at + 1 : at + 2] + seed[at : at + 1] + seed[at + 2 :]
