"""Pagination of lists by `limit` and `offset`, with responses of at most ANSWER_MAX_BYTES (`config.core.sizes`).

If the rows exceed this size, the response omits the last rows. A page then has `has_more: true`. If the specification
defines a plain array, the response has the header `X-Truncated: true` instead. In both cases, the next page begins at
`offset` plus the number of returned rows.

The omitted rows are not loaded, because the database first returns the sizes of long rows. `fitting` also measures the
rendered rows, because a string may be longer in JSON.
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

_CHUNK_ROWS = 10  # a parsed document needs 10 times its size in memory


class Shown(NamedTuple):
    """The rendered rows of a response. `is_cut` is True if rows were omitted."""

    rows: list[orjson.Fragment]
    is_cut: bool


def fitting(answers: Iterable[dict[str, Any]]) -> Shown:
    """Render rows up to the size limit, but at least the first row."""
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
    return {"X-Truncated": "true"} if is_cut else {}


class FittingPagination(BasePagination):
    """Pages of an ordered queryset by `limit` and `offset`, up to the size limit.

    Without `limit`, a page has all rows.
    """

    def paginate_queryset(self, queryset: Any, request: Request, view: Any = None) -> Any:  # noqa: ARG002
        """Return the page's rows, rendered by the response serializer that the endpoint declares."""
        self.answer: Any = view.declared.answer
        row: type[ResponseSerializer] = self.answer.rows()[1] if self.is_object else type(self.answer.child)
        limit, self.offset = view.query.get("limit"), view.query.get("offset", 0)
        bounds = slice(self.offset, None if limit is None else self.offset + limit)
        page: Any = queryset[bounds]
        if self.offset:
            # The subquery reads only an index, so an offset does not load the skipped rows.
            page = queryset.filter(pk__in=queryset.values("pk")[bounds])
        sizes: list[int] = []
        if limit is not None and limit > row.unweighed:
            sizes = list(page.values_list(weight_of(page.model, row.sources()), flat=True))
            page = page[: number_that_fits(sizes)]
        if limit is None or sizes:
            page = page.iterator(chunk_size=_CHUNK_ROWS)
        rows, is_full = fitting(map(row.represent, page))
        number = len(sizes) or len(rows)
        self.is_cut = is_full or len(rows) < number
        if self.is_object:
            is_last = (limit is None or number < limit) and (number or not self.offset) and (sizes or not is_full)
            self.total = self.offset + number if is_last else queryset.count()
        return rows

    @property
    def is_object(self) -> bool:
        """Return True for an object with a field for the rows, and False for a plain array."""
        return isinstance(self.answer, type)

    def get_paginated_response(self, data: Any) -> Response:
        if not self.is_object:
            return Response(data, headers=truncated_header(is_cut=self.is_cut))
        answer = {self.answer.rows()[0]: data, "total": self.total}
        if issubclass(self.answer, PageSerializer):
            answer["has_more"] = self.offset + len(data) < self.total
        return Response(answer)
