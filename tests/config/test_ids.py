"""An id has one spelling: another one, which Python or a database would read as the same, is none."""

import pytest

from config.core.ids import INT64_MAX, parse_positive_int64, parse_uuid

UUID = "01a20000-0000-7000-8000-00000000000a"


def test_the_one_spelling():
    assert str(parse_uuid(UUID)) == UUID
    assert [parse_positive_int64(text) for text in ("1", "10", str(INT64_MAX))] == [1, 10, INT64_MAX]


@pytest.mark.parametrize("change", [
    str.upper, "{{{}}}".format, "urn:uuid:{}".format, " {}".format, "{}\n".format, "{}x".format, "\0{}".format,
    lambda text: text.replace("-", ""), lambda text: text.replace("0", "\u0660"), lambda text: text[:-1],
    lambda _text: "",
])  # fmt: skip
def test_no_uuid(change):
    assert parse_uuid(change(UUID)) is None


@pytest.mark.parametrize(
    "text", ["", "0", "-1", "+1", "01", "1.0", "1e1", "0x1", " 1", "1\n", "1x", "1_0", "\u0661", "\0", "9" * 400,
             str(INT64_MAX + 1)]
)  # fmt: skip
def test_no_number(text):
    assert parse_positive_int64(text) is None
