"""What an endpoint declares: one decorator on its method, read by views, permissions, throttles, parsers and schema."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any

from config.api.parsers import BODY_MAX_BYTES
from config.api.serializers import QuerySerializer, RequestSerializer, ResponseSerializer
from config.core.errors import ApiError

if TYPE_CHECKING:
    from config.api.views import ApiRequest, ApiViewSet

Method = Callable[..., Any]


@dataclass(frozen=True)
class Endpoint:
    """A method's declaration; see `endpoint`."""

    access: str
    body: type[RequestSerializer] | None = None
    query: type[QuerySerializer] | None = None
    answer: type[ResponseSerializer] | None = None
    many: bool = False
    status: int = 200
    errors: tuple[type[ApiError], ...] = ()
    also: Mapping[int, type[ResponseSerializer] | None] | None = None
    idempotent: bool = False
    ahead: Method | None = None
    limit: str | None = None
    body_max_bytes: int = BODY_MAX_BYTES
    media_type: str = "application/json"
    forms: bool = False
    body_optional: bool = False
    reserves: bool = False

    @property
    def honours_keys(self) -> bool:
        """Say whether an Idempotency-Key counts here."""
        return self.idempotent or self.reserves


def endpoint(**declaration: Any) -> Callable[[Method], Method]:
    """Declare an endpoint.

    `access` is a scope or a word of `credentials`. `body` and `query` are validated and handed to the method under
    those names. `answer` represents what the method returns (`many`: a list of it); without it the method returns what
    the renderer takes, None for an empty body, or a response of its own. `errors` are those that the method may raise
    beyond what follows from the declaration, `also` further statuses that are no errors and what they carry. `limit`
    names a rate limit other than the one of the method's kind. `forms` takes HTML forms, too. With `body_optional` a
    request without a body stands for `{}`.

    `idempotent` endpoints honour an Idempotency-Key and run in one transaction with the stored answer. `ahead` is for
    those that ask a provider, because no transaction waits for one: it is called first, like the method, outside any
    transaction and unless an answer is stored already; what it returns is handed to the method as `fetched`. Nothing
    that it raises is stored, and requests with the same key may each call it, so what it asks of the provider must be
    the same thing each time, under a key that the provider knows.

    `reserves` is for work that must never be done twice and cannot run in one transaction: the method gets the
    request's `idempotency.ReservableKey` (or None) as `key`, and returns an `idempotency.Outcome`.

    A GET of an account may be answered from a replica, and is called a second time when the replica cannot answer; see
    `config/core/replicas.py`.
    """
    declared = Endpoint(**declaration)

    def decorate(method: Method) -> Method:
        @wraps(method)
        def answer(view: "ApiViewSet", request: "ApiRequest", **path: Any) -> Any:
            return view.answer(method, request, path)

        answer.endpoint = declared  # type: ignore[attr-defined]
        return answer

    return decorate
