"""Identifiers: UUIDv7 (RFC 9562), and parsers that accept only the canonical spelling of UUIDs and numbers."""

import re
from collections.abc import Callable
from typing import TypeVar
from uuid import UUID

import uuid_utils.compat
from django.db.models import Model, QuerySet

Row = TypeVar("Row", bound=Model)

INT64_MAX = 2**63 - 1
INT64_MIN = -(2**63)
INT32_MAX = 2**31 - 1
INT32_MIN = -(2**31)

_CANONICAL_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.ASCII)
_CANONICAL_POSITIVE = re.compile(r"[1-9][0-9]{0,18}", re.ASCII)


# UUIDv7 values increase with time, so new rows go to the end of an index.
uuid7: Callable[[], UUID] = uuid_utils.compat.uuid7


def parse_uuid(text: str) -> UUID | None:
    """Return the UUID if `text` is its canonical spelling (lower case, with hyphens), otherwise None."""
    return UUID(text) if _CANONICAL_UUID.fullmatch(text) else None


def get_by_uuid(rows: QuerySet[Row], text: str, missing: Exception | type[Exception]) -> Row:
    """Return the row whose primary key is the UUID `text` in canonical spelling. Raises `missing` if no row matches."""
    identifier = parse_uuid(text)
    return first_or(rows.filter(pk=identifier) if identifier else rows.none(), missing)


def first_or(rows: QuerySet[Row], missing: Exception | type[Exception]) -> Row:
    """Return the first row. Raises `missing` if `rows` is empty."""
    row = rows.first()
    if row is None:
        raise missing
    return row


def queryable(text: str) -> str:
    """Return `text`, or "" if it contains a NUL character, which PostgreSQL rejects in queries."""
    return "" if "\0" in text else text


def parse_positive_int64(text: str) -> int | None:
    """Return the number if `text` is its canonical spelling (no sign, no leading zero), otherwise None."""
    if not _CANONICAL_POSITIVE.fullmatch(text):
        return None
    number = int(text)
    return number if number <= INT64_MAX else None
