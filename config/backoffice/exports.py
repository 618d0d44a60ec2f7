"""Exports of filtered lists as CSV or JSON Lines files (`config.core.table_files`).

The file's SHA-256 is in the file name, in `Repr-Digest` (RFC 9530), and in the access log.
"""

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

from django.contrib import messages
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.utils import flatten_fieldsets
from django.core.exceptions import PermissionDenied, ValidationError
from django.db.models import QuerySet
from django.http import FileResponse, HttpRequest, HttpResponse, HttpResponseRedirect

from config.backoffice.consoles import EXPORT, VIEW, may
from config.backoffice.personal import PersonalData, logged_query, mask
from config.core.casework import DataAccess
from config.core.encryption import EncryptedTextField
from config.core.privacy import all_rows, of_erased_accounts
from config.core.table_files import CHUNK_ROWS, ROWS_MAX, csv_lines, file_answer, json_lines, spooled

_FORMATS = {"csv": ("text/csv; charset=utf-8", csv_lines), "jsonl": ("application/jsonl", json_lines)}


class Exports(PersonalData):
    """A list that viewers with permission can export.

    `export_columns` lists the columns. The default columns are the primary key and the displayed columns of the model.
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
        """Return a file of the list, with the filters of the query string (POST)."""
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
        rows = rows.exclude(pk__in=of_erased_accounts(all_rows(self.model)).values("pk"))
        listed = rows.order_by(*ordering).defer(None).select_related(None)
        if listed.order_by()[: ROWS_MAX + 1].count() > ROWS_MAX:
            messages.error(request, f"More than {ROWS_MAX:,} rows. Filter the list, then export it.")
            return back
        return self._file(request, kind, listed)

    def export_rows(self, request: HttpRequest, rows: QuerySet[Any], hidden: set[str]) -> Iterator[Iterable[Any]]:  # noqa: ARG002
        """Yield the cells of each row in the order of `columns_to_export`, with masked cells for `hidden` columns."""
        names = self.columns_to_export()
        for row in rows.values_list(*names).iterator(chunk_size=CHUNK_ROWS):
            yield [mask(cell) if name in hidden else cell for name, cell in zip(names, row, strict=True)]

    def _file(self, request: HttpRequest, kind: str, listed: QuerySet[Any]) -> FileResponse:
        content_type, lines = _FORMATS[kind]
        names = self.columns_to_export()
        hidden = set() if may(request.user, VIEW) else {*names} & {*self.hidden_fields}
        written = 0

        def rows() -> Iterator[Iterable[Any]]:
            nonlocal written
            for row in self.export_rows(request, listed, hidden):
                written += 1
                yield row

        file, digest = spooled(lines(names, rows()))
        facts = {"query": logged_query(request), "rows": written, "format": kind, "sha256": digest.hex()}
        self.note(request, DataAccess.EXPORT, was_masked=bool(hidden), details=facts)
        return file_answer(file, digest, str(self.opts.model_name), kind, content_type)
