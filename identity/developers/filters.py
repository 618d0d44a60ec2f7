"""The filters of the request log and of the events on the developer pages."""

import re
from datetime import datetime
from typing import Any, ClassVar

from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse, QueryDict
from django.urls import Resolver404, resolve

from config.api import serializers
from config.core.errors import ApiError, InvalidStatus
from config.ops.access_log import template_of
from config.ops.serializers import RequestFilter
from config.webhooks.catalogue import event_types
from identity.developers.base import DeveloperPage, problems_of

_TYPED_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}(:[0-9]{2})?", re.ASCII)
_STATUSES = re.compile(r"([1-5])(xx|[0-9]{2})", re.ASCII | re.IGNORECASE)
STATUS_CLASSES = {"2xx": "succeeded", "4xx": "rejected", "5xx": "failed"}


class TypedTimeField(serializers.QueryTimeField):
    """A time in UTC, as an input of the type `datetime-local` sends it, or an RFC 3339 time."""

    default_error_messages = {"invalid": "Must be a date and time in UTC, such as 2026-01-31T12:00."}

    def to_internal_value(self, data: Any) -> datetime:
        typed = _TYPED_TIME.fullmatch(data)
        if typed:
            data = f"{data}Z" if typed[1] else f"{data}:00Z"
        return super().to_internal_value(data)


class StatusRangeField(serializers.TextField):
    """An HTTP status, or a class of statuses such as `4xx`, converted to the first and the last status of a range."""

    refusal = InvalidStatus
    default_error_messages = {"invalid": "Must be a status from 100 to 599, or a class such as 4xx."}

    def to_internal_value(self, data: Any) -> Any:
        parts = _STATUSES.fullmatch(super().to_internal_value(data))
        if parts is None:
            self.fail("invalid")
        first = int(parts[1]) * 100
        return (first, first + 99) if parts[2].lower() == "xx" else (int(parts[0]), int(parts[0]))


class ErrorCodeField(serializers.TextField):
    """An error code, in upper or lower case."""

    def to_internal_value(self, data: Any) -> str:
        return str(super().to_internal_value(data)).upper()


class RequestPageFilter(RequestFilter):
    """The filters of `GET /v1/requests`, and further filters of the page."""

    status = serializers.QueryFilter(StatusRangeField(required=False), "status", "range")
    code = serializers.QueryFilter(ErrorCodeField(max_length=8, required=False))
    path = serializers.QueryFilter(serializers.TextField(max_length=160, required=False), method="filter_path")
    since = serializers.QueryFilter(TypedTimeField(required=False), "at", "gte")
    until = serializers.QueryFilter(TypedTimeField(required=False), "at", "lte")

    def filter_path(self, rows: QuerySet[Any], _name: str, path: str) -> QuerySet[Any]:
        """Filter by a part of a path's template, or by a complete path, with or without `/v1`."""
        try:
            template = template_of(resolve(f"/v1/{path.strip('/').removeprefix('v1/')}").route)
        except Resolver404:
            template = ""
        return rows.filter(Q(route__icontains=path) | Q(route=template))


class RequestPageQuery(serializers.PageQuery):
    filterset_class = RequestPageFilter


class EventPageFilter(serializers.FilterSet):  # type: ignore[misc]  # django-filter ships without types
    type = serializers.QueryFilter(serializers.OneOfField(tuple(event_types()), required=False))
    since = serializers.QueryFilter(TypedTimeField(required=False), "created_at", "gte")
    until = serializers.QueryFilter(TypedTimeField(required=False), "created_at", "lte")


class EventPageQuery(serializers.QuerySerializer):
    filterset_class = EventPageFilter


class FilteredPage(DeveloperPage):
    """A list with filters in the query string.

    If a filter is invalid, the page shows an error at the field of the filter, and no rows. Spaces around a value are
    removed, and empty fields are skipped.
    """

    query_class: ClassVar[type[serializers.QuerySerializer]]

    def get(self, request: HttpRequest, **parts: str) -> HttpResponse:
        typed = {name: text for name in request.GET if (text := str(request.GET[name]).strip())}
        try:
            return self.show(request, {"typed": typed, **self.facts(request, typed=typed, **parts)})
        except ApiError as error:
            facts = {"error": error, "problems": problems_of(error), "typed": typed, **self.choices(request)}
            return self.show(request, facts, error.status)

    def facts(self, request: HttpRequest, **parts: Any) -> dict[str, Any]:
        return self.choices(request) | self.rows(request, parts.get("typed", {}))

    def choices(self, request: HttpRequest) -> dict[str, Any]:
        """Return the choices of the filters."""
        raise NotImplementedError

    def rows(self, request: HttpRequest, typed: dict[str, str]) -> dict[str, Any]:
        """Return the rows that match the filters. Raises ApiError for an invalid filter."""
        raise NotImplementedError

    def read_query(self, typed: dict[str, str]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return all parameters of the query, and separately the parameters that filter rows. Raises ApiError."""
        parameters = QueryDict(mutable=True)
        parameters.update({name: value for name, value in typed.items() if name != "limit"})
        query = self.query_class.read(parameters)
        return query, {name: value for name, value in query.items() if name in self.query_class.filters()}
