"""Endpoints: a declaration, a method, and everything around the method that is the same for all.

    class OfferViewSet(ApiViewSet):
        @endpoint(access="offers:write", body=OfferBody, answer=OfferAnswer, status=201, idempotent=True)
        def create(self, request: ApiRequest, body: dict[str, Any]) -> Offer:
            return services.create_offer(owner=request.user, **body)

The order of a request is: negotiation, authentication, scope, rate limit, media type, size, parsing, validation; then
the Idempotency-Key; then the method, in a transaction when the endpoint changes something.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import wraps
from typing import Any, ClassVar

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils import timezone
from rest_framework.authentication import BaseAuthentication
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.request import Request
from rest_framework.views import APIView
from rest_framework.viewsets import ViewSetMixin

from config import own_writes, replicas
from config.api import idempotency, throttling
from config.api.credentials import ANY_CALLER, KEY_EXPIRY_NOTICE, PUBLIC, SAFE_METHODS, AuthenticationRequired
from config.api.errors import ApiError, MalformedJSON, NotAcceptable, render_exception
from config.api.middleware import client_address
from config.api.parsers import BODY_MAX_BYTES, check_media_type, is_form, parse_form, parse_json, read_body
from config.api.renderers import render_json, rfc3339
from config.api.serializers import Answer, Strict, StrictQuery


class InsufficientScope(ApiError):
    """The credential does not carry the scope that the endpoint asks for."""

    status, error, code = 403, "insufficient_scope", "E2005"
    message = "The credential lacks the scope for this."


@dataclass(frozen=True)
class Endpoint:
    """What an endpoint declares; see `endpoint`."""

    access: str
    body: type[Strict] | None = None
    query: type[StrictQuery] | None = None
    answer: type[Answer] | None = None
    many: bool = False
    status: int = 200
    errors: tuple[type[ApiError], ...] = ()
    also: Mapping[int, type[Answer] | None] | None = None
    idempotent: bool = False
    ahead: Callable[..., Any] | None = None
    limit: str | None = None
    body_max_bytes: int = BODY_MAX_BYTES
    media_type: str = "application/json"
    forms: bool = False
    body_optional: bool = False
    reserves: bool = False
    from_replica: bool = False


class ApiRequest(Request):
    """REST framework's request with the types that our authenticator gives it."""

    user: Any
    auth: Any


Method = Callable[..., Any]


def endpoint(**declaration: Any) -> Callable[[Method], Method]:
    """Declare an endpoint.

    `access` is a scope or a word of `credentials`. `body` and `query` are read and handed to the method under those
    names. `answer` renders what the method returns (`many`: a list of it); without it the method returns what
    `render_json` takes, None for an empty body, or a response of its own. `errors` are the errors that the method may
    raise beyond those that follow from the declaration, `also` further statuses that are no errors and what they carry.
    `idempotent` endpoints honour an Idempotency-Key and run in one transaction with the stored answer. `limit` names a
    rate limit other than the one of the method's kind. With `body_optional` a request without a body stands for `{}`.

    `ahead` is for an idempotent endpoint that asks a provider, because no transaction waits for one. It is called
    first, like the method and outside any transaction, unless an answer is stored already; what it returns is handed
    to the method as `fetched`. Nothing that it raises is stored, and requests with the same key may each call it, so
    what it asks of the provider must be the same thing each time, under a key that the provider knows.

    `reserves` is for work that must never be done twice and cannot run in one transaction: the method gets the
    request's `idempotency.ReservableKey` (or None) as `key`, and returns an `idempotency.Outcome`.

    `from_replica` is for a GET that only reads what is the caller's own, or public: it may be answered from a replica
    (`config.replicas`), and is then called a second time when the replica cannot answer.
    """
    declared = Endpoint(**declaration)

    def decorate(method: Method) -> Method:
        @wraps(method)
        def handle(view: "ApiViewSet", request: ApiRequest, **path: Any) -> HttpResponseBase:
            return _handle(declared, method, view, request, path)

        handle.endpoint = declared  # type: ignore[attr-defined]
        return handle

    return decorate


def _handle(
    declared: Endpoint, method: Method, view: "ApiViewSet", request: ApiRequest, path: dict[str, Any]
) -> HttpResponseBase:
    """Read what the endpoint declares, run its method, render what it returns."""
    arguments: dict[str, Any] = dict(path)
    document: Any = None
    if declared.query is not None:
        arguments["query"] = declared.query.read_query(request._request.GET)
    if declared.body is not None:
        document = _read_document(declared, request._request)
        view.screen(document)
        arguments["body"] = declared.body.read(document)
    elif request._request.method == "POST" and type(view).screen is not ApiViewSet.screen:
        _screen_ignored_body(view, request._request, declared.body_max_bytes)
    if declared.reserves:
        key = idempotency.read_key(request._request)
        fingerprint = idempotency.fingerprint_of(request._request, document)
        arguments["key"] = key and idempotency.ReservableKey(request.auth.user_id, key, fingerprint)
        return _respond_to(method(view, request, **arguments))
    if declared.idempotent:
        return _respond_to(_run_idempotently(declared, method, view, request, arguments, document))

    def respond() -> HttpResponseBase:
        # Perhaps for the second time: what is left of the query after the first is not the query.
        given = {**arguments, "query": {**arguments["query"]}} if "query" in arguments else arguments
        result = method(view, request, **given)
        return result if isinstance(result, HttpResponseBase) else _respond(declared.status, _render(declared, result))

    return replicas.answer(request.auth.user_id, respond) if declared.from_replica else respond()


def _run_idempotently(
    declared: Endpoint,
    method: Method,
    view: "ApiViewSet",
    request: ApiRequest,
    arguments: dict[str, Any],
    document: Any,
) -> idempotency.Outcome:
    """Run an idempotent endpoint's method in a transaction, once for each Idempotency-Key."""
    key = idempotency.read_key(request._request)
    fingerprint = idempotency.fingerprint_of(request._request, document) if key is not None else ""
    if declared.ahead is not None:
        stored = idempotency.find_answer(request.auth.user_id, key, fingerprint) if key is not None else None
        if stored is not None:
            return stored
        arguments["fetched"] = declared.ahead(view, request, **arguments)

    def work() -> idempotency.Outcome:
        return idempotency.Outcome(declared.status, _render(declared, method(view, request, **arguments)))

    if key is None:
        return idempotency.run_in_transaction(work)
    return idempotency.run_once(owner_id=request.auth.user_id, key=key, fingerprint=fingerprint, work=work)


def _read_document(declared: Endpoint, request: HttpRequest) -> Any:
    """Return the parsed body, of a media type that the endpoint reads; no body stands for `{}` where it may."""
    if declared.body_optional and not read_body(request, limit=declared.body_max_bytes):
        return {}
    if declared.forms and is_form(request):
        return parse_form(read_body(request, limit=declared.body_max_bytes))
    check_media_type(request)
    return parse_json(read_body(request, limit=declared.body_max_bytes))


def _screen_ignored_body(view: "ApiViewSet", request: HttpRequest, limit: int) -> None:
    """Screen a body that was sent to an endpoint which takes none; what is not JSON is ignored as ever."""
    raw = read_body(request, limit=limit)
    if raw:
        with suppress(MalformedJSON):
            view.screen(parse_json(raw))


def _respond_to(outcome: idempotency.Outcome) -> HttpResponse:
    """Build the response of an idempotent endpoint."""
    response = _respond(outcome.status, outcome.body)
    if outcome.replayed:
        response.headers["Idempotent-Replayed"] = "true"
    return response


def _render(declared: Endpoint, result: Any) -> bytes:
    """Return the body for what a method returned."""
    if declared.answer is not None:
        represent = declared.answer.represent
        return render_json([represent(member) for member in result] if declared.many else represent(result))
    return b"" if result is None else render_json(result)


def _respond(status: int, body: bytes) -> HttpResponse:
    """Build the response; an empty body has no content type."""
    return HttpResponse(body, status=status, content_type="application/json" if body else None)


class _FixedNegotiation(DefaultContentNegotiation):
    """JSON, whatever is asked for: `initial` refuses those who cannot take it."""

    def select_parser(self, request: Any, parsers: Any) -> Any:  # noqa: ARG002
        """Return the one parser."""
        return parsers[0]

    def select_renderer(self, request: Any, renderers: Any, format_suffix: Any = None) -> Any:  # noqa: ARG002
        """Return the one renderer."""
        return renderers[0], renderers[0].media_type


def accepts(header: str, media_type: str) -> bool:
    """Say whether an Accept header admits `media_type`."""
    main = media_type.partition("/")[0]
    admitted = {media_type, f"{main}/*", "*/*"}
    for part in header.split(","):
        name, _, parameters = part.partition(";")
        if name.strip().lower() in admitted and parameters.replace(" ", "") not in {"q=0", "q=0.0"}:
            return True
    return False


class _SchemaOnDemand:
    """What the OpenAPI document is written with, loaded when it is: most processes never write it."""

    def __get__(self, view: Any, _owner: Any) -> Any:
        """Return the schema of a view."""
        from config.api.openapi import EndpointSchema

        schema = EndpointSchema()
        schema.view = view
        return schema


class ApiViewSet(ViewSetMixin, APIView):
    """The base of every endpoint: REST framework's viewset with its per-request set-up done once per class."""

    schema = _SchemaOnDemand()
    http_method_names = ["get", "post", "put", "patch", "delete", "head", "options"]
    content_negotiation_class = _FixedNegotiation
    action: str
    action_map: dict[str, str]
    _authenticators: ClassVar[list[BaseAuthentication]]
    _parsers: ClassVar[list[BaseParser]]
    _negotiator: ClassVar[_FixedNegotiation] = _FixedNegotiation()
    # The rate limit of methods that change something, where an endpoint names none.
    write_limit: ClassVar[str] = "write"

    def screen(self, document: Any) -> None:
        """Refuse a body for any of its members, known or not, before it is validated; a base of endpoints may."""

    def __init_subclass__(cls) -> None:
        """Forget what a base class has built: a subclass may name other classes."""
        super().__init_subclass__()
        cls._authenticators = []

    def get_authenticators(self) -> list[BaseAuthentication]:
        """Return this class's authenticators; they keep no state."""
        cls = type(self)
        if not cls._authenticators:
            cls._authenticators = [made() for made in cls.authentication_classes]
        return cls._authenticators

    def get_exception_handler(self) -> Any:
        """Return ours, without asking the settings."""
        return render_exception

    def initialize_request(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Request:  # noqa: ARG002
        """Wrap the request; parsing is the endpoint's own."""
        self.action = self.action_map.get((request.method or "").lower(), "")
        return ApiRequest(request, authenticators=self.get_authenticators(), negotiator=self._negotiator)

    def dispatch(self, request: HttpRequest, *_args: Any, **path: Any) -> Any:
        """Answer a request: REST framework's order, without what it sets up for renderers of its own."""
        wrapped = self.request = self.initialize_request(request)
        try:
            self.initial(wrapped)
            response = (self._handler_of(request) or self.http_method_not_allowed)(wrapped, **path)
        except Exception as error:  # noqa: BLE001  every exception becomes an answer
            response = self.handle_exception(error)
        return self.finalize_response(wrapped, response)

    def _handler_of(self, request: HttpRequest) -> Any:
        """Return the method that answers this request, or None."""
        name = (request.method or "").lower()
        return getattr(self, name, None) if name in self.http_method_names else None

    def initial(self, request: Any, *_args: Any, **_kwargs: Any) -> None:
        """Run what comes before any method: negotiation, authentication, scope, rate limit."""
        declared: Endpoint | None = getattr(self._handler_of(request._request), "endpoint", None)
        accept = request._request.META.get("HTTP_ACCEPT")
        if (
            accept
            and not accepts(accept, "application/json")
            and not (declared is not None and accepts(accept, declared.media_type))
        ):
            raise NotAcceptable
        access = self._access_of(declared)
        if access == PUBLIC:
            limit = declared.limit if declared is not None and declared.limit else "anonymous"
            throttling.spend(limit, client_address(request))
            return
        try:
            credential = request.auth
            if credential is None:
                raise AuthenticationRequired
        except ApiError:
            # Guessing costs us a look-up each, so it counts like every other call of nobody in particular.
            throttling.spend("anonymous", client_address(request))
            raise
        if declared is None:
            return  # REST framework answers 405 next
        if not credential.allows(access):
            raise InsufficientScope(f"This needs the scope {access}.", details={"required": access})
        limit = declared.limit or ("read" if request._request.method in SAFE_METHODS else self.write_limit)
        throttling.spend(limit, credential.label)

    def _access_of(self, declared: Endpoint | None) -> str:
        """Return what the called method asks for; a method that does not exist asks for what its siblings do."""
        if declared is not None:
            return declared.access
        for action in self.action_map.values():
            sibling: Endpoint | None = getattr(getattr(self, action), "endpoint", None)
            if sibling is not None and sibling.access == PUBLIC:
                return PUBLIC
        return ANY_CALLER

    def options(
        self,
        request: Any,  # noqa: ARG002
        *_args: Any,
        **_kwargs: Any,
    ) -> Any:
        """Answer OPTIONS with the methods of this address."""
        return HttpResponse(status=200, headers={"Allow": ", ".join(self.allowed_methods)})

    def finalize_response(self, request: Any, response: HttpResponseBase, *_args: Any, **_kwargs: Any) -> Any:
        """Add the credential's expiry notice, and remember a writer; everything else is in the response already."""
        credential = getattr(request, "_auth", None)
        if credential is not None and settings.DATABASE_REPLICAS and request.method not in SAFE_METHODS:
            # Whatever the answer says: an error may come after something was stored.
            own_writes.remember([credential.user_id])
        expires_at = getattr(credential, "expires_at", None)
        if expires_at is not None and expires_at - timezone.now() <= KEY_EXPIRY_NOTICE:
            response.headers["X-Key-Expires"] = rfc3339(expires_at)
        return response
