"""The base of every endpoint: REST framework's viewset, with what the method's `@endpoint` declares.

    class OfferViewSet(ApiViewSet):
        @endpoint(access="offers:write", body=OfferRequest, answer=Offer, status=201, idempotent=True)
        def create(self, request: ApiRequest, body: dict[str, Any]) -> models.Offer:
            return services.create_offer(owner=request.user, **body)

The order of a request is REST framework's: negotiation, authentication, permission (the scope), throttle; then media
type, size, parsing, validation; then the Idempotency-Key; then the method, in a transaction when the endpoint changes
something.
"""

from collections.abc import Callable
from functools import cached_property, partial, wraps
from typing import Any

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.utils import timezone
from rest_framework.authentication import BaseAuthentication
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import ViewSet

from config.api import idempotency, rate_limits
from config.api.credentials import ANY_CALLER, KEY_EXPIRY_NOTICE, PUBLIC, SAFE_METHODS
from config.api.declarations import Endpoint, Method
from config.api.middleware import client_address
from config.api.renderers import OrjsonRenderer, renderer_for
from config.api.serializers import ResponseSerializer
from config.core import replicas
from config.core.errors import ApiError, MalformedJSON, UserMismatch
from config.core.json_text import render_json, rfc3339


class ApiRequest(Request):
    user: Any
    auth: Any


def endpoint(**declaration: Any) -> Callable[[Method], Method]:
    declared = Endpoint(**declaration)

    def decorate(method: Method) -> Method:
        @wraps(method)
        def handle(view: "ApiViewSet", request: ApiRequest, **arguments: Any) -> HttpResponseBase:
            document = _read_document(request, declared)
            if declared.body is not None:
                arguments["body"] = declared.body.read(document)
            key = idempotency.ReservableKey.of(request, document) if declared.idempotent else None
            if declared.reserves:
                outcome: idempotency.Outcome = method(view, request, key=key, **arguments)
                return outcome.response()
            if declared.ahead is not None:
                stored = None if key is None else key.stored()
                if stored is not None:
                    return stored.response()
                arguments["fetched"] = declared.ahead(view, request, **arguments)
            work = partial(_call, declared, method, view, request, arguments)
            if declared.idempotent:
                return idempotency.run_once(key, work).response()
            if request.auth is not None and request.method in SAFE_METHODS:
                return _respond(declared, replicas.answer(request.auth.user_id, work))
            return _respond(declared, work())

        handle.endpoint = declared  # type: ignore[attr-defined]
        return handle

    return decorate


def _call(
    declared: Endpoint, method: Method, view: "ApiViewSet", request: ApiRequest, arguments: dict[str, Any]
) -> Any:
    # New at each call: a method may take them apart, and be called again.
    if declared.body is not None:
        arguments = {**arguments, "body": dict(arguments["body"])}
    if declared.parameters is not None:
        query = declared.parameters.read(request.query_params)
        if declared.filters is not None:
            view.filter_values = {name: query.pop(name) for name in declared.filters.base_filters if name in query}
        arguments["query"] = query
    result = method(view, request, **arguments)
    if declared.answer is not None and not isinstance(result, HttpResponseBase):
        represent = declared.answer.represent
        result = [represent(member) for member in result] if declared.many else represent(result)
    if declared.idempotent:
        return idempotency.Outcome(declared.status, b"" if result is None else render_json(result))
    return result


def _respond(declared: Endpoint, result: Any) -> HttpResponseBase:
    if isinstance(result, HttpResponseBase):
        return result
    return HttpResponse(status=declared.status) if result is None else Response(result, status=declared.status)


def _read_document(request: ApiRequest, declared: Endpoint) -> Any:
    """Return the parsed body; raises MalformedJSON where there is none and one is needed."""
    if declared.body is None:
        return None
    if request.META.get("CONTENT_LENGTH") not in {None, "", "0"}:
        return request.data
    if declared.body_optional:
        return {}
    raise MalformedJSON("The body is empty.")


class ApiViewSet(ViewSet):
    # The rate limit of methods that change something, where an endpoint names none.
    write_limit = "write"
    filter_values: dict[str, Any]  # by name, those that the request gives

    @cached_property
    def declared(self) -> Endpoint:
        """Return what the called method declares; one that does not exist is public where one of its siblings is."""
        action = getattr(self, "action", None) or self.action_map.get(str(self.request.method).lower(), "")
        declared: Endpoint | None = getattr(getattr(self, action, None), "endpoint", None)
        if declared is not None:
            return declared
        siblings = [getattr(self, action).endpoint.access for action in self.action_map.values()]
        return Endpoint(access=PUBLIC if PUBLIC in siblings else ANY_CALLER)

    def get_authenticators(self) -> list[BaseAuthentication]:
        return [] if self.declared.access == PUBLIC else super().get_authenticators()

    def get_renderers(self) -> list[BaseRenderer]:
        """Return the renderers of the endpoint's media types, and the one of errors, which are JSON everywhere."""
        others = [one for one in self.declared.media_types if one != OrjsonRenderer.media_type]
        return [OrjsonRenderer(), *(renderer_for(one)() for one in others)]

    def get_parsers(self) -> list[BaseParser]:
        """Return the parser that the endpoint declares, by default the one of JSON."""
        parser = self.declared.parser
        return super().get_parsers() if parser is None else [parser()]

    def initial(self, request: Any, *args: Any, **kwargs: Any) -> None:
        try:
            super().initial(request, *args, **kwargs)
        except ApiError as refusal:
            if refusal.status == 401:
                # Guessing costs us a look-up each, so it counts like every other call of nobody in particular.
                rate_limits.consume("anonymous", client_address(request))
            raise

    def filter_queryset(self, queryset: Any) -> Any:
        """Return those rows of a list that the given filters ask for."""
        filters = self.declared.filters
        return filters(self.filter_values, queryset).qs if filters and self.filter_values else queryset

    def dispatch(self, request: Any, *args: Any, **kwargs: Any) -> Any:
        """Answer a request, with a notice of a key that ends soon, and let go of it.

        REST framework's request, view and response refer to each other: with these, a large body would stay until the
        collector comes by, which it does after so many objects, not bytes.
        """
        response = super().dispatch(request, *args, **kwargs)
        expires_at = getattr(getattr(request, "auth", None), "expires_at", None)
        if expires_at is not None and expires_at - timezone.now() <= KEY_EXPIRY_NOTICE:
            response.headers["X-Key-Expires"] = rfc3339(expires_at)
        self.request.parser_context.clear()
        if isinstance(response, Response):
            response.renderer_context = {}  # type: ignore[attr-defined]
        del self.request, self.response
        return response

    def options(self, request: Any, *_args: Any, **_kwargs: Any) -> Any:  # noqa: ARG002
        return HttpResponse(status=200)


def page_of(rows: Any, query: dict[str, Any], member: str, answer: type[ResponseSerializer]) -> dict[str, Any]:
    """Return the page of a queryset that `limit` and `offset` ask for, its rows under the name `member`."""
    offset, total = query["offset"], rows.count()
    shown = [answer.represent(row) for row in rows[offset : offset + query["limit"]]]
    return {member: shown, "total": total, "has_more": offset + len(shown) < total}


def require_self(request: ApiRequest, user_id: str | int, *, member: str = "user_id") -> None:
    """Raise UserMismatch, naming the member, unless `user_id` (text in its one spelling, or a number) is the caller."""
    if str(user_id) != str(request.user.pk):
        raise UserMismatch(member)
