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
from contextlib import suppress
from typing import Any

from django.conf import settings
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
from config.api.declarations import Endpoint, Method, endpoint
from config.api.middleware import client_address
from config.api.parsers import StrictFormParser, StrictJSONParser, parse_json, read_body
from config.api.renderers import OrjsonRenderer, render_json, renderer_for, rfc3339
from config.core import replicas
from config.core.errors import ApiError, MalformedJSON

__all__ = ["ApiRequest", "ApiViewSet", "endpoint"]


class ApiRequest(Request):
    """REST framework's request with the types that our authenticator gives it."""

    user: Any
    auth: Any


class ApiViewSet(ViewSet):
    """A viewset whose methods are declared with `@endpoint`."""

    # The rate limit of methods that change something, where an endpoint names none.
    write_limit = "write"
    # What this request was authenticated with, from then on.
    credential: Any = None

    def screen(self, document: Any) -> None:
        """Refuse a body for any of its members, known or not, before it is validated; a base of endpoints may."""

    @property
    def declared(self) -> Endpoint | None:
        """Return the declaration of the method that answers this request; None when the address has no such method."""
        action = getattr(self, "action", None) or self.action_map.get(str(self.request.method).lower(), "")
        return getattr(getattr(self, action, None), "endpoint", None)

    @property
    def access(self) -> str:
        """Return what the called method asks for; a method that does not exist asks for what its siblings do."""
        if self.declared is not None:
            return self.declared.access
        siblings = [getattr(getattr(self, action), "endpoint", None) for action in self.action_map.values()]
        return PUBLIC if any(one is not None and one.access == PUBLIC for one in siblings) else ANY_CALLER

    def get_authenticators(self) -> list[BaseAuthentication]:
        """Return the authenticators; a public endpoint asks nobody who they are."""
        return [] if self.access == PUBLIC else super().get_authenticators()

    def get_parsers(self) -> list[BaseParser]:
        """Return the parsers of the media types that the endpoint reads."""
        return [StrictJSONParser(), *([StrictFormParser()] if self.declared and self.declared.forms else [])]

    def get_renderers(self) -> list[BaseRenderer]:
        """Return the renderers of the media types that the endpoint answers in; errors are JSON everywhere."""
        media_type = self.declared.media_type if self.declared else OrjsonRenderer.media_type
        others = [] if media_type == OrjsonRenderer.media_type else [renderer_for(media_type)()]
        return [OrjsonRenderer(), *others]

    def initial(self, request: Any, *args: Any, **kwargs: Any) -> None:
        """Do what comes before any method; raises what refuses the request."""
        try:
            super().initial(request, *args, **kwargs)
        except ApiError as refusal:
            if refusal.status == 401:
                # Guessing costs us a look-up each, so it counts like every other call of nobody in particular.
                rate_limits.consume("anonymous", client_address(request))
            raise

    def dispatch(self, request: Any, *args: Any, **kwargs: Any) -> Any:
        """Answer a request, and let go of it.

        REST framework's request, view and response refer to each other: with these, a large body would stay until the
        collector comes by, which it does after so many objects, not bytes.
        """
        response = super().dispatch(request, *args, **kwargs)
        self.request.parser_context.clear()
        del self.request, self.response
        return response

    def perform_authentication(self, request: Any) -> None:
        """Find out who calls."""
        self.credential = request.auth

    def answer(self, method: Method, request: ApiRequest, path: dict[str, Any]) -> HttpResponseBase:
        """Validate what the endpoint declares, run its method, represent what it returns."""
        declared = self.declared
        assert declared is not None, "only declared methods come here"  # noqa: S101
        arguments: dict[str, Any] = dict(path)
        document: Any = None
        if declared.query is not None:
            arguments["query"] = declared.query.read(request.query_params)
        if declared.body is not None:
            document = self.read_document(request)
            self.screen(document)
            arguments["body"] = declared.body.read(document)
        elif request.method not in SAFE_METHODS and type(self).screen is not ApiViewSet.screen:
            raw = read_body(request, limit=declared.body_max_bytes)
            with suppress(MalformedJSON):  # what is not JSON is ignored as ever
                self.screen(parse_json(raw))
        if declared.reserves:
            key = idempotency.read_key(request)
            fingerprint = idempotency.fingerprint_of(request, document)
            arguments["key"] = key and idempotency.ReservableKey(request.auth.user_id, key, fingerprint)
            return _respond_to(method(self, request, **arguments))
        if declared.idempotent:
            return _respond_to(self._run_idempotently(declared, method, request, arguments, document))
        if settings.DATABASE_REPLICAS and request.method in SAFE_METHODS and request.auth is not None:
            return replicas.answer(request.auth.user_id, lambda: self._run(declared, method, request, arguments))
        return self._run(declared, method, request, arguments)

    def read_document(self, request: ApiRequest) -> Any:
        """Return the parsed body; none at all stands for `{}` where it may. Raises MalformedJSON for none elsewhere."""
        if request.META.get("CONTENT_LENGTH") in {None, "", "0"}:
            if self.declared is not None and self.declared.body_optional:
                return {}
            raise MalformedJSON("The body is empty.")
        return request.data

    def _run(
        self, declared: Endpoint, method: Method, request: ApiRequest, arguments: dict[str, Any]
    ) -> HttpResponseBase:
        """Run a method that has no Idempotency-Key."""
        # Perhaps for the second time: what is left of the query after the first is not the query.
        given = {**arguments, "query": {**arguments["query"]}} if "query" in arguments else arguments
        result = method(self, request, **given)
        if isinstance(result, HttpResponseBase):
            return result
        if result is None:
            return HttpResponse(status=declared.status)
        return Response(_represent(declared, result), status=declared.status)

    def _run_idempotently(
        self, declared: Endpoint, method: Method, request: ApiRequest, arguments: dict[str, Any], document: Any
    ) -> idempotency.Outcome:
        """Run an idempotent endpoint's method in a transaction, once for each Idempotency-Key."""
        key = idempotency.read_key(request)
        fingerprint = idempotency.fingerprint_of(request, document) if key is not None else ""
        if declared.ahead is not None:
            stored = idempotency.find_answer(request.auth.user_id, key, fingerprint) if key is not None else None
            if stored is not None:
                return stored
            arguments["fetched"] = declared.ahead(self, request, **arguments)

        def work() -> idempotency.Outcome:
            content = _represent(declared, method(self, request, **arguments))
            return idempotency.Outcome(declared.status, b"" if content is None else render_json(content))

        if key is None:
            return idempotency.run_in_transaction(work)
        return idempotency.run_once(owner_id=request.auth.user_id, key=key, fingerprint=fingerprint, work=work)

    def options(self, request: Any, *_args: Any, **_kwargs: Any) -> Any:  # noqa: ARG002
        """Answer OPTIONS with the methods of this address."""
        return HttpResponse(status=200)

    def finalize_response(self, request: Any, response: Any, *args: Any, **kwargs: Any) -> Any:
        """Add the credential's expiry notice, and remember a writer."""
        credential = self.credential
        if credential is not None:
            if settings.DATABASE_REPLICAS and request.method not in SAFE_METHODS:
                # Whatever the answer says: an error may come after something was stored.
                replicas.remember_writers([credential.user_id])
            expires_at = getattr(credential, "expires_at", None)
            if expires_at is not None and expires_at - timezone.now() <= KEY_EXPIRY_NOTICE:
                response.headers["X-Key-Expires"] = rfc3339(expires_at)
        return super().finalize_response(request, response, *args, **kwargs)


def _represent(declared: Endpoint, result: Any) -> Any:
    """Return what the renderer is given for what a method returned."""
    if declared.answer is None:
        return result
    represent: Callable[[Any], Any] = declared.answer.represent
    return [represent(member) for member in result] if declared.many else represent(result)


def _respond_to(outcome: idempotency.Outcome) -> HttpResponse:
    """Build the response of an idempotent endpoint from its stored form; an empty body has no content type."""
    content_type = "application/json" if outcome.body else None
    response = HttpResponse(outcome.body, status=outcome.status, content_type=content_type)
    if outcome.replayed:
        response.headers["Idempotent-Replayed"] = "true"
    return response
