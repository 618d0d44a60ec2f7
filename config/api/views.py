"""The base class of every endpoint: a viewset that enforces the `@endpoint` declaration of a method.

    class OfferViewSet(ApiViewSet):
        @endpoint(access="offers:write", body=OfferRequest, answer=Offer, status=201, idempotent=True)
        def create(self, request: ApiRequest, body: dict[str, Any]) -> models.Offer:
            return services.create_offer(owner=request.user, **body)

A request is processed in REST framework's order: negotiation, authentication, permission (the scope), throttle. Media
type, size, parsing, and validation follow, then the Idempotency-Key. The method runs last, in a transaction if the
endpoint is idempotent.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial, wraps
from typing import Any

from django.db.models import QuerySet
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.utils import timezone
from drf_spectacular.utils import OpenApiResponse
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import ListSerializer
from rest_framework.viewsets import GenericViewSet

from config.api import idempotency, rate_limits, unread_names
from config.api.pagination import FittingPagination
from config.api.renderers import OrjsonRenderer
from config.api.serializers import QuerySerializer, RequestSerializer, ResponseSerializer
from config.core.credentials import ANY_CALLER, CALLER_ERRORS, KEY_EXPIRY_NOTICE, PUBLIC
from config.core.errors import ApiError, MalformedJSON, UserMismatch
from config.core.json_text import render_json, rfc3339

Method = Callable[..., Any]


class ApiRequest(Request):
    user: Any
    auth: Any


@dataclass(frozen=True)
class Endpoint:
    """The arguments of `@endpoint`.

    `access` is a scope or a constant of `config.core.credentials`. `body` and `query` are validated, and passed to the
    method as the arguments `body` and `query`. `page` is validated, and applied to the queryset that the method
    returns. `answer` serializes the method's result (`OfferSerializer(many=True)` serializes a list). Without `answer`,
    the method returns data for the renderer, None for an empty body, or a response. `errors` lists the method's own
    errors. Other errors follow from the declaration. `caller_errors` lists the errors of the authentication. `limit` is
    the name of a rate limit that replaces the default limit for reads or writes.

    `idempotent` endpoints accept an Idempotency-Key, and run in one transaction with the stored response. A transaction
    must not wait for a vendor, a file, or a scanner. So for such work, a `leased` method manages its own transactions,
    and a lease reserves the key. With `reserves_key`, the method itself reserves the key. The method receives the
    request's `idempotency.ReservableKey` (or None) as `key`, and returns an `idempotency.Outcome`.

    Options that few views need are decorators above `@endpoint`: REST framework's `parser_classes` and
    `renderer_classes` (or on the view), `heavy.operation` (a large body), `also_answers`.
    """

    access: str
    body: type[RequestSerializer] | None = None
    query: type[QuerySerializer] | None = None
    page: type[QuerySerializer] | None = None
    answer: type[ResponseSerializer] | ListSerializer[Any] | None = None
    status: int = 200
    errors: tuple[type[ApiError], ...] = ()
    caller_errors: tuple[type[ApiError], ...] = CALLER_ERRORS
    idempotent: bool = False
    leased: bool = False
    reserves_key: bool = False
    limit: str | None = None

    @cached_property
    def parameters(self) -> type[QuerySerializer] | None:
        return self.query or self.page


def also_answers(status: int, answer: type[ResponseSerializer] | None, description: str) -> Callable[[Method], Method]:
    """Document another success status of a method. The decorator can be repeated."""

    def describe(method: Method) -> Method:
        others = getattr(method, "also_answers", {})
        other = OpenApiResponse(answer, description=description)
        method.also_answers = {**others, status: other}  # type: ignore[attr-defined]
        return method

    return describe


def endpoint(**declaration: Any) -> Callable[[Method], Method]:
    declared = Endpoint(**declaration)

    def decorate(method: Method) -> Method:
        @wraps(method)
        def handle(view: "ApiViewSet", request: ApiRequest, **arguments: Any) -> HttpResponseBase:
            document = None if declared.body is None else _read_document(request, declared.body)
            view.ignored = unread_names.unread_in(request.query_params, document, declared)
            if declared.body is not None:
                arguments["body"] = declared.body.read(document)
            key = idempotency.ReservableKey.of(request, document) if declared.idempotent else None
            if declared.reserves_key:
                outcome: idempotency.Outcome = method(view, request, key=key, **arguments)
                return outcome.response()
            view.query, view.filter_values = {}, {}
            if declared.parameters is not None:
                view.query = declared.parameters.read(request.query_params)
                names = [name for name in declared.parameters.filters() if name in view.query]
                view.filter_values = {name: view.query.pop(name) for name in names}
            if declared.query is not None:
                arguments["query"] = view.query
            work = partial(_call, declared, method, view, request, arguments)
            if not declared.idempotent:
                return work()  # type: ignore[no-any-return]
            run = idempotency.run_leased if declared.leased else idempotency.run_once
            outcome = run(key, work)
            if outcome.replayed and key is not None and isinstance(declared.answer, type):
                outcome = replace(outcome, body=declared.answer.opened(outcome.body, key.place))
            return outcome.response()

        handle.endpoint = declared  # type: ignore[attr-defined]
        return handle

    return decorate


def _call(
    declared: Endpoint, method: Method, view: "ApiViewSet", request: ApiRequest, arguments: dict[str, Any]
) -> Any:
    # A method may modify its arguments and run again, so each call gets a new dictionary.
    if declared.body is not None:
        arguments = {**arguments, "body": dict(arguments["body"])}
    result = method(view, request, **arguments)
    if isinstance(result, Response) and declared.idempotent:
        return _outcome(declared, result.status_code, result.data, result.data)
    if isinstance(result, HttpResponseBase):
        return result
    if isinstance(result, QuerySet):
        return view.get_paginated_response(view.paginate_queryset(view.filter_queryset(result)))
    thing = result
    if isinstance(declared.answer, type):
        result = declared.answer.represent(thing)
    if declared.idempotent:
        return _outcome(declared, declared.status, thing, result)
    return HttpResponse(status=declared.status) if result is None else Response(result, status=declared.status)


def _outcome(declared: Endpoint, status: int, thing: Any, shown: Any) -> idempotency.Outcome:
    """Return the outcome to store under the request's key. `shown` is the rendered `thing`."""
    body = b"" if shown is None else render_json(shown)
    seal = declared.answer.seal_of(thing) if isinstance(declared.answer, type) else None
    return idempotency.Outcome(status, body, seal=seal)


def _read_document(request: ApiRequest, body: type[RequestSerializer]) -> Any:
    """Return the parsed body. Raises MalformedJSON for a missing required body."""
    if request.META.get("CONTENT_LENGTH") not in {None, "", "0"}:
        return request.data
    if body.is_optional:
        return {}
    raise MalformedJSON("The body is empty.")


class ApiViewSet(GenericViewSet):  # type: ignore[type-arg]  # the view may have no model
    pagination_class = FittingPagination
    write_limit = "write"
    query: dict[str, Any]  # the parsed query, without `filter_values`
    declared: Endpoint  # the declaration of the called method
    filter_values: dict[str, Any]  # the values of the request's filters, by name
    ignored: Sequence[str] = ()  # the names in the query and the body that no code uses

    def initialize_request(self, request: Any, *args: Any, **kwargs: Any) -> Any:
        """Apply the declaration of the called method.

        An unsupported method is public if a supported method is public. The JSON renderer, which errors need, precedes
        the `@renderer_classes` of the method or the view.
        """
        method: Any = getattr(self, self.action_map.get(str(request.method).lower(), ""), None)
        if hasattr(method, "endpoint"):
            self.declared = method.endpoint
        else:
            siblings = [getattr(self, action).endpoint.access for action in self.action_map.values()]
            self.declared = Endpoint(access=PUBLIC if PUBLIC in siblings else ANY_CALLER)
        if self.declared.access == PUBLIC:
            self.authentication_classes = ()
        self.parser_classes = getattr(method, "parser_classes", self.parser_classes)
        renderers = getattr(method, "renderer_classes", self.renderer_classes)
        self.renderer_classes = (
            OrjsonRenderer,
            *(renderer for renderer in renderers if renderer is not OrjsonRenderer),
        )
        return super().initialize_request(request, *args, **kwargs)

    def initial(self, request: Any, *args: Any, **kwargs: Any) -> None:
        try:
            super().initial(request, *args, **kwargs)
        except ApiError as refusal:
            if refusal.status == 401:
                # Checking an invalid credential needs a database query, so the call counts as anonymous.
                rate_limits.consume_by_address("anonymous", request)
            raise

    def filter_queryset(self, queryset: Any) -> Any:
        parameters = self.declared.parameters
        filters = None if parameters is None else parameters.filterset_class
        return filters(self.filter_values, queryset).qs if filters and self.filter_values else queryset

    def dispatch(self, request: Any, *args: Any, **kwargs: Any) -> Any:
        """Respond to a request, and add the headers `X-Key-Expires` and `X-Ignored` if they apply.

        REST framework's request, view, and response reference each other. Without `del`, a large body would stay in
        memory until the garbage collector runs.
        """
        response = super().dispatch(request, *args, **kwargs)
        expires_at = getattr(getattr(request, "auth", None), "expires_at", None)
        if expires_at is not None and expires_at - timezone.now() <= KEY_EXPIRY_NOTICE:
            response.headers["X-Key-Expires"] = rfc3339(expires_at)
        if self.ignored:
            response.headers[unread_names.HEADER] = unread_names.listed(self.ignored)
        self.request.parser_context.clear()
        if isinstance(response, Response):
            response.renderer_context = {}  # type: ignore[attr-defined]
            response.add_post_render_callback(_discard_data)
        del self.request, self.response
        return response

    def options(self, request: Any, *_args: Any, **_kwargs: Any) -> Any:  # noqa: ARG002
        return HttpResponse(status=200)


def _discard_data(response: Any) -> None:
    """Discard the rendered data, which is part of a reference cycle in the response."""
    response.renderer_context, response.data = {}, None


def require_self(request: ApiRequest, user_id: str | int, *, member: str = "user_id") -> None:
    """Raise UserMismatch if `user_id` is not the caller's id. `user_id` is a number or its canonical string."""
    if str(user_id) != str(request.user.pk):
        raise UserMismatch(member)
