"""Taking a filtered list away as a file: CSV that no spreadsheet executes, or JSON Lines.

The file is written row by row to a temporary file, so that its SHA-256 is known before the first byte is sent. The hash
is in the answer's `Repr-Digest` (RFC 9530), in the file's name, and permanently in the access row.
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
from typing import TYPE_CHECKING, Any, ClassVar

import orjson
from django.contrib import messages
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.utils import flatten_fieldsets
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import FileResponse, HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils import timezone

from config.backoffice.desks import EXPORT, VIEW, may
from config.backoffice.models import DataAccess
from config.backoffice.personal import PersonalData, mask
from config.core.encryption import EncryptedTextField
from config.core.json_text import rfc3339

ROWS_MAX = 100_000
_CHUNK_ROWS = 2_000
_MEMORY_BYTES = 8 * 1024 * 1024
# A cell that begins so is a formula to a spreadsheet, also in full-width letters.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
# Where a spreadsheet separates cells by semicolons or tabs, the rest of a text is a cell of its own.
_FORMULA_WITHIN = re.compile("([;\t\r\n][\"' \xa0]*)([=+\\-@\uff1d\uff0b\uff0d\uff20])")
_BYTE_ORDER_MARK = "\ufeff".encode()  # without it, Excel reads another encoding than UTF-8


def plain_cell(value: Any) -> Any:
    """Return a value for a CSV cell: text that a spreadsheet would run gets an apostrophe before it."""
    if isinstance(value, datetime):
        return rfc3339(value)
    if isinstance(value, dict | list):
        value = orjson.dumps(value).decode()
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float) or value is None:
        return value
    text = _FORMULA_WITHIN.sub(r"\1'\2", str(value))
    return f"'{text}" if text.startswith(_FORMULA_STARTS) else text


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
    """Return a temporary file of these lines, beyond _MEMORY_BYTES on the disk, and its SHA-256."""
    # Closed by FileResponse when it has been sent.
    file = tempfile.SpooledTemporaryFile(max_size=_MEMORY_BYTES)  # noqa: SIM115
    digest = hashlib.sha256()
    for line in lines:
        digest.update(line)
        file.write(line)
    file.seek(0)
    return file, digest.digest()


def file_answer(file: Any, digest: bytes, name: str, kind: str, content_type: str) -> FileResponse:
    """Answer with a spooled file of a kind, under a name with its time and content."""
    name = f"{name}-{timezone.now():%Y%m%dT%H%M%SZ}-{digest.hex()[:12]}.{kind}"
    response = FileResponse(file, as_attachment=True, filename=name, content_type=content_type)
    response.headers["Repr-Digest"] = f"sha-256=:{base64.b64encode(digest).decode()}:"
    return response


_FORMATS = {"csv": ("text/csv; charset=utf-8", csv_lines), "jsonl": ("application/jsonl", json_lines)}


if TYPE_CHECKING:
    _Admin = PersonalData
else:
    _Admin = object


class Exports(_Admin):
    """A list that can be taken away by those who may.

    `export_columns` names its columns; by default they are the key and those columns that lists and pages show as such.
    """

    export_columns: ClassVar[tuple[str, ...]] = ()

    def get_urls(self) -> list[Any]:
        return [self.list_path("export/<slug:kind>/", self.export_view, "export"), *super().get_urls()]

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> Any:
        context = {"may_export": may(request.user, EXPORT), **(extra_context or {})}
        return super().changelist_view(request, context)

    def columns_to_export(self) -> list[str]:
        if self.export_columns:
            return list(self.export_columns)
        named = {*self.list_display, *(self.fields or ()), *flatten_fieldsets(self.fieldsets or ())}
        return [
            field.attname
            for field in self.opts.concrete_fields
            if (field.primary_key or {field.name, field.attname} & named) and not isinstance(field, EncryptedTextField)
        ]

    def export_view(self, request: HttpRequest, kind: str) -> HttpResponse | FileResponse:
        """Answer with the list under this address's filters as a file (POST)."""
        if not (self.has_view_permission(request) and may(request.user, EXPORT)) or kind not in _FORMATS:
            raise PermissionDenied
        query = request.META.get("QUERY_STRING", "")
        back = HttpResponseRedirect(f"../../?{query}")
        if request.method != "POST":
            return back
        try:
            rows, ordering = self.filtered_rows(request, query)
        except (IncorrectLookupParameters, ValidationError, ValueError):
            return HttpResponseRedirect("../../?e=1")
        names = self.columns_to_export()
        found = rows.order_by(*ordering).defer(None).select_related(None).values_list(*names)
        if found.order_by()[: ROWS_MAX + 1].count() > ROWS_MAX:
            messages.error(request, f"More than {ROWS_MAX:,} rows. Filter the list, then export it.")
            return back
        return self._file(request, kind, names, found)

    def _file(self, request: HttpRequest, kind: str, names: list[str], found: Any) -> FileResponse:
        content_type, lines = _FORMATS[kind]
        hidden = set() if may(request.user, VIEW) else {*names} & {*self.hidden_fields}
        written = 0

        def rows() -> Iterator[Iterable[Any]]:
            nonlocal written
            for row in found.iterator(chunk_size=_CHUNK_ROWS):
                written += 1
                pairs = zip(names, row, strict=True)
                yield [mask(cell) if name in hidden else cell for name, cell in pairs] if hidden else row

        file, digest = spooled(lines(names, rows()))
        query = request.META.get("QUERY_STRING", "")[:500]
        facts = {"query": query, "rows": written, "format": kind, "sha256": digest.hex()}
        self.note(request, DataAccess.EXPORT, was_masked=bool(hidden), details=facts)
        return file_answer(file, digest, str(self.opts.model_name), kind, content_type)
