"""Lists: pages by `limit` and `offset`, and no answer beyond ANSWER_MAX_BYTES (`config.core.sizes`).

A page has fewer rows rather than more bytes. A page reports it by `has_more`; the plain arrays of the specification,
which lack that field, by the header `X-Truncated: true`. In both cases the next page begins at `offset` plus the number
of returned rows.

Rows beyond the limit are not loaded: where rows may be long, the database is queried for their sizes first. Loaded rows
are counted again while they are rendered (`fitting`), because a string in JSON may be longer than in its column.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import orjson
from rest_framework.pagination import BasePagination
from rest_framework.request import Request
from rest_framework.response import Response

from config.api.serializers import PageSerializer, ResponseSerializer
from config.core.json_text import render_json
from config.core.sizes import ROWS_MAX_BYTES, number_that_fits, weight_of

TRUNCATED = "X-Truncated"
_CHUNK_ROWS = 10  # rows with weights in memory at a time: parsed documents need 10 times their size


class Shown(NamedTuple):
    """Rows of an answer, each rendered already; `is_cut` if the size limit excluded others."""

    rows: list[orjson.Fragment]
    is_cut: bool


def fitting(answers: Iterable[dict[str, Any]]) -> Shown:
    """Render answers one by one until the size limit."""
    rendered: list[orjson.Fragment] = []
    room = ROWS_MAX_BYTES
    for answer in answers:
        text = render_json(answer)
        room -= len(text) + 1
        if room < 0 and rendered:
            return Shown(rendered, is_cut=True)
        rendered.append(orjson.Fragment(text))
    return Shown(rendered, is_cut=False)


def truncated_header(*, is_cut: bool) -> dict[str, str]:
    return {TRUNCATED: "true"} if is_cut else {}


class FittingPagination(BasePagination):
    """The rows of an ordered queryset for `limit` and `offset`, or all without a `limit`, up to the size limit."""

    def paginate_queryset(self, queryset: Any, request: Request, view: Any = None) -> Any:  # noqa: ARG002
        """Return the rows, each rendered as the answer that the endpoint declares shows it."""
        self.answer: Any = view.declared.answer
        row: type[ResponseSerializer] = self.answer.rows()[1] if self.is_object else type(self.answer.child)
        limit, self.offset = view.query.get("limit"), view.query.get("offset", 0)
        asked = slice(self.offset, None if limit is None else self.offset + limit)
        page: Any = queryset[asked]
        if self.offset:
            # The page's ids come from an index alone, so that an offset costs index entries and not rows.
            page = queryset.filter(pk__in=queryset.values("pk")[asked])
        sizes: list[int] = []
        if limit is not None and limit > row.unweighed:
            sizes = list(page.values_list(weight_of(page.model, row.sources()), flat=True))
            page = page[: number_that_fits(sizes)]
        if limit is None or sizes:
            page = page.iterator(chunk_size=_CHUNK_ROWS)
        rows, is_full = fitting(map(row.represent, page))
        number = len(sizes) or len(rows)  # for this page's rows, as far as they are known
        self.is_cut = is_full or len(rows) < number
        if self.is_object:
            is_last = (limit is None or number < limit) and (number or not self.offset) and (sizes or not is_full)
            self.total = self.offset + number if is_last else queryset.count()
        return rows

    @property
    def is_object(self) -> bool:
        """Return whether the answer is an object with a field for the rows, not the array of them."""
        return isinstance(self.answer, type)

    def get_paginated_response(self, data: Any) -> Response:
        if not self.is_object:
            return Response(data, headers=truncated_header(is_cut=self.is_cut))
        answer = {self.answer.rows()[0]: data, "total": self.total}
        if issubclass(self.answer, PageSerializer):
            answer["has_more"] = self.offset + len(data) < self.total
        return Response(answer)
