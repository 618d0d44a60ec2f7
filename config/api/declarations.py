"""The declaration of an endpoint: read by views, permissions, throttles, parsers and the OpenAPI document."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from drf_spectacular.utils import OpenApiResponse
from rest_framework.serializers import ListSerializer

from config.api.serializers import QuerySerializer, RequestSerializer, ResponseSerializer
from config.core.errors import ApiError

Method = Callable[..., Any]


@dataclass(frozen=True)
class Endpoint:
    """The arguments of `@endpoint`.

    `access` is a scope or a word of `credentials`. `body` and `query` are validated and handed to the method under
    those names; `page` is validated and applied to the queryset that the method returns. `answer` represents what the
    method returns (`OfferSerializer(many=True)`: a list of it); without it the method returns what the renderer takes,
    None for an empty body, or a response of its own. `errors` are those that the method may raise beyond what follows
    from the declaration. `limit` names a rate limit other than the one of the method's kind.

    `idempotent` endpoints honour an Idempotency-Key and run in one transaction with the stored answer. No transaction
    waits for a vendor, a file, or a scanner: a `leased` method makes its own transactions, and holds the key by a lease
    meanwhile. With `reserves_key` the method does both itself: it gets the request's `idempotency.ReservableKey` (or
    None) as `key`, and returns an `idempotency.Outcome`.

    Decorators above `@endpoint` hold what few views need: REST framework's `parser_classes` and `renderer_classes` (or
    on the view), `heavy.operation` (a large body), `also_answers`.
    """

    access: str
    body: type[RequestSerializer] | None = None
    query: type[QuerySerializer] | None = None
    page: type[QuerySerializer] | None = None
    answer: type[ResponseSerializer] | ListSerializer[Any] | None = None
    status: int = 200
    errors: tuple[type[ApiError], ...] = ()
    idempotent: bool = False
    leased: bool = False
    reserves_key: bool = False
    limit: str | None = None

    @property
    def parameters(self) -> type[QuerySerializer] | None:
        """The parameters of the query string."""
        return self.query or self.page


def also_answers(status: int, answer: type[ResponseSerializer] | None, description: str) -> Callable[[Method], Method]:
    """Describe a further success status of a method."""

    def describe(method: Method) -> Method:
        method.also_answers = {status: OpenApiResponse(answer, description=description)}  # type: ignore[attr-defined]
        return method

    return describe
