"""Conversions of JSON text: rendered responses, nesting depth, the canonical form for hashes, and a database field."""

import re
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import accumulate
from math import isfinite
from typing import Any

import orjson
from django.db import models

_NO_MARKS = bytes(set(range(256)) - set(b'"[]{},'))
_STEPS = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1, ord(","): 0}


# Note [Looking before decoding] Check a document before decoding it, because the decoder recurses to the full depth,
# and creates an object for each value. The check runs in linear time, because it scans the bytes without backtracking.
# A regular expression for strings can backtrack: 40 kB of escaped quotes blocked the interpreter for 3 s.


def marks_of(body: bytes) -> bytes:
    """Return the brackets, braces, and commas of a document, and the quotes around its strings, in order."""
    # The decoder rejects a backslash outside of a string.
    return body.replace(rb"\\", b"").replace(rb"\"", b"").translate(None, _NO_MARKS)


def without_texts(marks: bytes) -> bytes:
    return b"".join(marks.split(b'"')[::2])


def depth(marks: bytes) -> int:
    """Return a document's nesting depth. `marks` is the result of `marks_of`, without the contents of strings."""
    return max(accumulate(map(_STEPS.__getitem__, marks)), default=0)


def is_deeper(body: bytes, levels: int) -> bool:
    """Check whether a document has more than `levels` levels of nesting. See Note [Looking before decoding]."""
    return body.count(b"[") + body.count(b"{") > levels and depth(without_texts(marks_of(body))) > levels


def escaped(part: Any) -> str:
    """Escape a field's name for a JSON pointer (RFC 6901)."""
    return str(part).replace("~", "~0").replace("/", "~1")


def rfc3339(moment: datetime) -> str:
    """Format an aware datetime in UTC with six decimals: `2026-01-31T12:00:00.000000Z`."""
    if moment.tzinfo is not UTC:
        moment = moment.astimezone(UTC)
    # Removing `+00:00` is several times faster than a format string.
    return moment.isoformat(timespec="microseconds")[:-6] + "Z"


_MOMENT = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[Tt]([0-9]{2}:[0-9]{2}):([0-9]{2})(\.[0-9]+)?([Zz]|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])",
    re.ASCII,
)


def parse_rfc3339(text: str) -> datetime | None:
    """Parse an RFC 3339 `text` to a UTC datetime. Return None for an invalid text.

    Digits below microseconds are removed. A leap second becomes the previous second, because Python does not support
    leap seconds.
    """
    match = _MOMENT.fullmatch(text)
    if match is None:
        return None
    day, time, second, fraction, offset = match.groups(default="")
    is_leap = second == "60"
    text = f"{day}T{time}:{'59' if is_leap else second}{fraction[:7]}{offset.upper()}"
    try:
        moment = datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError):  # February 30, or a time before the year 1
        return None
    return None if is_leap and (moment.hour, moment.minute) != (23, 59) else moment


def day_of(text: Any) -> date | None:
    """Return the date if `text` is a string such as 2026-01-31, otherwise None."""
    try:
        day = date.fromisoformat(text)
    except (TypeError, ValueError):
        return None
    return day if day.isoformat() == text else None  # `fromisoformat` also accepts 2026-W05-6


def _fallback(value: Any) -> Any:
    if isinstance(value, datetime):
        return rfc3339(value)
    raise TypeError(f"{type(value).__name__} has no JSON form here")


def render_json(content: Any) -> bytes:
    """Return `content` as JSON bytes, with UUIDs as strings, and datetimes in RFC 3339 format."""
    return orjson.dumps(content, default=_fallback, option=orjson.OPT_PASSTHROUGH_DATETIME)


# JSON parsers of all languages represent integers up to this value exactly (I-JSON, RFC 7493).
SAFE_INTEGER_MAX = 2**53 - 1


def canonical_json(document: Any) -> bytes:
    """Return the canonical JSON of a document, from which hashes are computed (RFC 8785).

    An integer above SAFE_INTEGER_MAX is written as the nearest double. Raises ValueError for NaN and infinities.
    """
    return orjson.dumps(_in_order(document))


def is_safe(number: int) -> bool:
    return -SAFE_INTEGER_MAX <= number <= SAFE_INTEGER_MAX


def _in_order(value: Any) -> Any:
    """Sort the fields of a value, and replace numbers that orjson formats differently from RFC 8785."""
    if isinstance(value, dict):
        # RFC 8785 sorts by UTF-16 code units. In this order, U+1F600 precedes U+FF21.
        return {name: _in_order(value[name]) for name in sorted(value, key=lambda name: name.encode("utf-16-be"))}
    if isinstance(value, list | tuple):
        return [_in_order(member) for member in value]
    if isinstance(value, float) or (isinstance(value, int) and not is_safe(value)):
        return orjson.Fragment(_number_text(float(value)))
    return value


def _number_text(number: float) -> str:
    """Format a number like ECMAScript's `Number::toString`: 9, 0.000001, 1e-7, 1e+21."""
    if not isfinite(number):
        raise ValueError("This number has no JSON form.")
    shortest = repr(number)
    if 1e-6 <= abs(number) < 1e21:
        return f"{Decimal(shortest):f}".removesuffix(".0")
    return shortest.replace("e-0", "e-") if number else "0"


class JsonTextField(models.TextField):  # type: ignore[type-arg]
    """A model field for a JSON document that is stored as text. None is stored as NULL.

    PostgreSQL's `jsonb` reorders keys and rewrites numbers, which would invalidate signatures and hashes. No query
    searches these documents.
    """

    def get_prep_value(self, value: Any) -> Any:
        return None if value is None else orjson.dumps(value).decode()

    def from_db_value(self, value: str | None, _expression: Any, _connection: Any) -> Any:
        return None if value is None else orjson.loads(value)

    def to_python(self, value: Any) -> Any:
        return value

    def value_to_string(self, obj: Any) -> str:
        return str(self.get_prep_value(self.value_from_object(obj)))
