"""Test that every form of an RFC 3339 time is accepted, and that pages write the form that HTML allows."""

import re
from datetime import UTC, datetime

from config.backoffice.html import moment
from config.core.ids import INT64_MAX, parse_positive_int64, parse_uuid
from config.core.json_text import parse_rfc3339, rfc3339

ACCEPTED = [
    ("2026-01-31T12:00:00Z", "2026-01-31T12:00:00.000000Z"),
    ("2026-01-31t12:00:00z", "2026-01-31T12:00:00.000000Z"),
    ("2026-01-31T12:00:00.1Z", "2026-01-31T12:00:00.100000Z"),
    ("2026-01-31T12:00:00.123456789Z", "2026-01-31T12:00:00.123456Z"),  # Go, Java
    ("2026-01-31T12:00:00.1234567Z", "2026-01-31T12:00:00.123456Z"),  # .NET
    ("2026-01-31T12:00:00.9999999999999999999999Z", "2026-01-31T12:00:00.999999Z"),
    ("2026-01-31T12:00:00.1234567+05:30", "2026-01-31T06:30:00.123456Z"),
    ("2026-01-31T12:00:00-00:00", "2026-01-31T12:00:00.000000Z"),
    ("2026-01-31T12:00:00+00:00", "2026-01-31T12:00:00.000000Z"),
    ("2026-01-31T12:00:00+14:00", "2026-01-30T22:00:00.000000Z"),
    ("2026-01-31T12:00:00-23:59", "2026-02-01T11:59:00.000000Z"),
    ("2024-02-29T23:59:59.0z", "2024-02-29T23:59:59.000000Z"),
    ("1985-04-12T23:20:50.52Z", "1985-04-12T23:20:50.520000Z"),  # RFC 3339, section 5.8
    ("1996-12-19T16:39:57-08:00", "1996-12-20T00:39:57.000000Z"),
    ("1990-12-31T23:59:60Z", "1990-12-31T23:59:59.000000Z"),
    ("1990-12-31T15:59:60-08:00", "1990-12-31T23:59:59.000000Z"),
    ("1937-01-01T12:00:27.87+00:20", "1937-01-01T11:40:27.870000Z"),
]


def test_date_time_parser_accepts_each_rfc_3339_format():
    for text, expected in ACCEPTED:
        assert rfc3339(parse_rfc3339(text)) == expected, (text, expected)


REJECTED = [
    "", "2026-01-31", "12:00:00Z", "2026-01-31T12:00Z", "2026-01-31T12Z", "2026-01-31T12:00:00", "20260131T120000Z",
    "2026-01-31T12:00:00.Z", "2026-01-31T12:00:00,5Z", "2026-01-31T24:00:00Z", "2026-01-31T12:60:00Z",
    "2026-01-31T12:00:61Z", "2026-01-31T12:00:60Z", "2026-02-30T12:00:00Z", "2025-02-29T00:00:00Z",
    "2026-13-01T00:00:00Z", "2026-W05-6T12:00:00Z", "2026-031T12:00:00Z", "2026-01-31T12:00:00+0530",
    "2026-01-31T12:00:00+24:00", "2026-01-31T12:00:00+05:60", "2026-01-31T12:00:00 Z", " 2026-01-31T12:00:00Z",
    "2026-01-31T12:00:00Z\n", "0001-01-01T00:00:00+01:00", "0000-01-01T00:00:00Z", "1767268800",
    "\u0662026-01-31T12:00:00Z", "2026-01-31T12:00:00\u221205:00", "Sat, 31 Jan 2026 12:00:00 GMT",
]  # fmt: skip


def test_date_time_parser_rejects_strings_outside_of_rfc_3339():
    for text in REJECTED:
        assert parse_rfc3339(text) is None, text


# https://html.spec.whatwg.org/#valid-global-date-and-time-string
DATE_AND_TIME = r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,3})?(Z|[+-][0-9]{2}:?[0-9]{2})"
HTML_TIME = re.compile(f'<time datetime="{DATE_AND_TIME}"')


def test_the_back_office_writes_valid_html_times():
    assert HTML_TIME.search(str(moment(datetime(2026, 1, 31, 12, 0, 0, 123456, tzinfo=UTC))))


UUID = "01a20000-0000-7000-8000-00000000000a"


def test_id_parser_accepts_only_canonical_uuids_and_integers():
    assert str(parse_uuid(UUID)) == UUID
    assert [parse_positive_int64(text) for text in ("1", "10", str(INT64_MAX))] == [1, 10, INT64_MAX]
    for change in [
        str.upper, "{{{}}}".format, "urn:uuid:{}".format, " {}".format, "{}\n".format, "{}x".format, "\0{}".format,
        lambda text: text.replace("-", ""), lambda text: text.replace("0", "\u0660"), lambda text: text[:-1],
        lambda _text: "",
    ]:  # fmt: skip
        assert parse_uuid(change(UUID)) is None, change
    for text in ["", "0", "-1", "+1", "01", "1.0", "1e1", "0x1", " 1", "1\n", "1x", "1_0", "\u0661", "\0", "9" * 400,
                 str(INT64_MAX + 1)]:  # fmt: skip
        assert parse_positive_int64(text) is None, text
