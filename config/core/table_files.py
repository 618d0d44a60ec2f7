"""Export of tables as JSON Lines, or as CSV without spreadsheet formulas.

Rows are written to a temporary file, so that the SHA-256 is known before the first byte is sent.
"""

import base64
import csv
import hashlib
import io
import re
import tempfile
from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import chain
from typing import Any

import orjson
from django.http import FileResponse
from django.utils import timezone

from config.core.json_text import rfc3339

ROWS_MAX = 100_000
CHUNK_ROWS = 2_000
_MEMORY_BYTES = 8 * 1024 * 1024
# A spreadsheet trims some characters, and treats a cell that begins with one of these signs as a formula.
_SIGNS = "[=+\\-@\uff1d\uff0b\uff0d\uff20\ufe66\ufe62\ufe63\ufe6b]"
_TRIMMED = "(?:[\"'\u200b\ufeff]|[^\\S\t\r\n])*"
_FORMULA = re.compile(f"[\t\r\n]|{_TRIMMED}{_SIGNS}")
# A spreadsheet may use semicolons or tabs as separators, so text after them can become a cell.
_FORMULA_WITHIN = re.compile(f"([;\t\r\n]{_TRIMMED})({_SIGNS})")
_BYTE_ORDER_MARK = "\ufeff".encode()  # without this mark, Excel does not use UTF-8


def plain_cell(value: Any) -> Any:
    """Return the value for a CSV cell, with an apostrophe before text that a spreadsheet would execute as a formula."""
    if isinstance(value, datetime):
        return rfc3339(value)
    if isinstance(value, dict | list):
        value = orjson.dumps(value).decode()
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float) or value is None:
        return value
    text = _FORMULA_WITHIN.sub(r"\1'\2", str(value))
    return f"'{text}" if _FORMULA.match(text) else text


def csv_lines(names: list[str], rows: Iterable[Iterable[Any]]) -> Iterator[bytes]:
    yield _BYTE_ORDER_MARK
    for cells in chain([names], rows):
        line = io.StringIO()
        csv.writer(line).writerow([plain_cell(cell) for cell in cells])
        yield line.getvalue().encode()


def json_lines(names: list[str], rows: Iterable[Iterable[Any]]) -> Iterator[bytes]:
    for row in rows:
        cells = (rfc3339(value) if isinstance(value, datetime) else value for value in row)
        members = dict(zip(names, cells, strict=True))
        yield orjson.dumps(members, default=str, option=orjson.OPT_APPEND_NEWLINE)


def spooled(lines: Iterable[bytes]) -> tuple[Any, bytes]:
    """Return a temporary file of these lines, and its SHA-256. A file larger than _MEMORY_BYTES is on disk."""
    # FileResponse closes the file after sending.
    file = tempfile.SpooledTemporaryFile(max_size=_MEMORY_BYTES)  # noqa: SIM115
    digest = hashlib.sha256()
    for line in lines:
        digest.update(line)
        file.write(line)
    file.seek(0)
    return file, digest.digest()


def file_answer(file: Any, digest: bytes, name: str, kind: str, content_type: str) -> FileResponse:
    """Return a response with a file.

    The file's name contains the time, a part of the digest, and the extension `kind`.
    """
    name = f"{name}-{timezone.now():%Y%m%dT%H%M%SZ}-{digest.hex()[:12]}.{kind}"
    response = FileResponse(file, as_attachment=True, filename=name, content_type=content_type)
    response.headers["Repr-Digest"] = f"sha-256=:{base64.b64encode(digest).decode()}:"
    return response
