"""What an endpoint declares: read by views, permissions, throttles, parsers and the OpenAPI document."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from rest_framework.parsers import BaseParser

from config.api.parsers import BODY_MAX_BYTES, MEMBERS_MAX
from config.api.serializers import FilterSet, QuerySerializer, RequestSerializer, ResponseSerializer
from config.core.errors import ApiError

Method = Callable[..., Any]


@dataclass(frozen=True)
class Endpoint:
    """The arguments of `@endpoint`.

    `access` is a scope or a word of `credentials`. `body` and `query` are validated and handed to the method under
    those names; `filters`, each a `QueryFilter`, are those of a list, which the view's `filter_queryset` narrows.
    `answer` represents what the method returns (`many`: a list of it); without it the method returns what the renderer
    takes, None for an empty body, or a response of its own. `errors` are those that the method may raise beyond what
    follows from the declaration, `also` further statuses that are no errors and what they carry. `limit` names a rate
    limit other than the one of the method's kind. With `body_optional` a request without a body stands for `{}`.
    `parser` reads what is no JSON: with `uploads.FileParser` the body is a form with a file, and `body_max_bytes` is
    what the file may have. `members_max` is what the JSON of a body may have in all. The answer is in one of
    `media_types`.

    `idempotent` endpoints honour an Idempotency-Key and run in one transaction with the stored answer. `ahead` does
    what no transaction should wait for (a file, a scanner): it is called first, like the method, unless an answer is
    stored already, and what it returns is handed to the method as `fetched`. With `reserves`, for work that asks a
    provider, the method gets the request's `idempotency.ReservableKey` (or None) as `key`, and returns an
    `idempotency.Outcome`.

    A GET of an account may be answered from a replica, and is called a second time when the replica cannot answer; see
    `config/core/replicas.py`.
    """

    access: str
    body: type[RequestSerializer] | None = None
    query: type[QuerySerializer] | None = None
    filters: type[FilterSet] | None = None
    answer: type[ResponseSerializer] | None = None
    many: bool = False
    status: int = 200
    errors: tuple[type[ApiError], ...] = ()
    also: Mapping[int, type[ResponseSerializer] | None] | None = None
    idempotent: bool = False
    ahead: Method | None = None
    limit: str | None = None
    body_max_bytes: int = BODY_MAX_BYTES
    members_max: int = MEMBERS_MAX
    media_types: tuple[str, ...] = ("application/json",)
    parser: type[BaseParser] | None = None
    body_optional: bool = False
    reserves: bool = False

    @cached_property
    def parameters(self) -> type[QuerySerializer] | None:
        """All that the query string may hold: `query`, and the parameters of the filters."""
        if self.query is None or self.filters is None:
            return self.query
        fields = {name: one.parameter() for name, one in self.filters.base_filters.items()}
        return type(self.filters.__name__, (self.query,), fields)
