"""Test that reading untrusted JSON takes time proportional to its size."""

import json
import tracemalloc
from contextlib import suppress

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from config.clients.provider import ProviderAnswer, ProviderError
from config.core.errors import MalformedJSON
from config.core.json_bodies import DEPTH_MAX, MEMBERS_MAX, parse_json
from config.core.json_text import is_deeper
from tests.api import assert_error
from tests.properties import examples

MEBIBYTE = 1_048_576

_pieces = st.lists(
    st.sampled_from(
        [b'\\"', b'"', b"\\\\", b"\\", b"[", b"]", b"{", b"}", b",", b":", b'{"a":', b'""', b'",', b"0", b"1", b"-",
         b".", b"e", b"\\u", b"\\ud800", b"\\u0041", b" ", b"\n", b"n", b"NaN", b"\x00", b"\xff", b"\xc3\xa9"]
    ),
    min_size=1,
    max_size=6,
).map(b"".join)  # fmt: skip


def endless(size):
    """Return a string of about `size` bytes that is nested deep and never ends."""
    return b"[" * 33 + b'"' + b'\\"' * (size // 2 - 20)


def read(body):
    """Read a body with both readers."""
    with suppress(MalformedJSON):
        parse_json(body)
    with suppress(ProviderError):
        ProviderAnswer(200, {}, body).json()


@given(_pieces, _pieces, _pieces, st.sampled_from([0, 1, 33, 65]))
@example(b'"', b'\\"', b"", 33)
@example(b'"', b'\\"', b"", 65)
@example(b"", b'"', b"", 65)
@example(b"", b"[],", b"", 65)
@example(b"", b'{"a":', b"", 65)
@example(b"1", b"0", b"", 0)
@example(b"0.", b"0", b"1e999999", 0)
@examples(20)
def test_long_json_document_is_parsed_in_linear_time(before, repeated, after, openings):
    # With quadratic cost this size would take hours, and exceed the time limit of a test.
    start = b"[" * openings + before
    size = MEBIBYTE - len(start) - len(after)
    read(start + repeated * (size // len(repeated)) + after)


@pytest.mark.django_db
def test_request_body_with_an_unterminated_string_returns_400(api):
    for size in [40_000, 200_000, MEBIBYTE - 100]:
        assert_error(api.send("/applications", raw=endless(size)), 400, "E1002")


def test_large_json_document_is_rejected_with_little_memory_use():
    for unit in [b"[],", b"{},", b'"",', b'"ab",', b'"', b"1.5,", b"[", b'{"":', b'"\\"",']:
        body = b"[" + unit * (MEBIBYTE // len(unit))
        tracemalloc.start()
        try:
            with pytest.raises(MalformedJSON):
                parse_json(body)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert peak < 4 * len(body), peak


def test_json_parser_finds_the_end_of_a_string_with_escapes():
    for escape in ['\\"', "\\\\", '\\\\\\"', "\\\\\\\\", '\\\\\\\\\\"', "\\n[", "\\u0022["]:
        closed = f'["{escape}",' + "[" * 31 + "]" * 31 + "]"
        assert parse_json(closed.encode()) == json.loads(closed), escape
        deeper = f'["{escape}",' + "[" * 32 + "]" * 32 + "]"
        assert is_deeper(deeper.encode(), DEPTH_MAX), escape
        inside = f'["{escape}' + "[" * 40 + '"]'
        assert parse_json(inside.encode()) == json.loads(inside), escape


def test_json_parser_does_not_count_commas_in_strings_as_separators():
    as_many = [[]] * MEMBERS_MAX
    assert parse_json(json.dumps(as_many).encode()) == as_many
    names = {f'"{number}\\': "," * 3 for number in range(MEMBERS_MAX)}
    assert parse_json(json.dumps(names).encode()) == names


def test_vendor_response_in_an_unsupported_encoding_is_rejected():
    for coding in ["utf-16", "utf-16-le", "utf-32"]:
        with pytest.raises(ProviderError):
            ProviderAnswer(200, {}, ("[" * 100_000).encode(coding)).json()
