"""The edge: what happens to a request before any view, and the two ways it can go from there.

Pages for people (admin, docs, consent) pass through Django's own middleware. Everything else is API, passes through
this class alone, and gets an error body in JSON whatever happens to it.
"""

import re
import time
from collections.abc import Callable
from typing import Any, ClassVar, cast
from urllib.parse import urlsplit

from django.conf import settings
from django.core.exceptions import DisallowedHost
from django.core.handlers.base import BaseHandler
from django.core.handlers.exception import convert_exception_to_response
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import ResolverMatch, get_resolver
from uuid_utils import uuid4

from config.api.access import record_request
from config.api.context import request_id
from config.api.errors import ApiError, HttpsRequired, InvalidHost
from config.api.routing import index_of

GetResponse = Callable[[HttpRequest], HttpResponseBase]

_UUID = re.compile(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}", re.ASCII)


class _ApiHandler(BaseHandler):
    """Django's own way from a request to its view, without any middleware."""

    _view_middleware: ClassVar[list[Any]] = []
    _template_response_middleware: ClassVar[list[Any]] = []
    _exception_middleware: ClassVar[list[Any]] = []

    def resolve_request(self, request: HttpRequest) -> ResolverMatch:
        """Find the view in the index of routes, or else Django's way."""
        match = index_of(get_resolver()).find(request.path_info)
        if match is None:
            return cast("ResolverMatch", cast("Any", super()).resolve_request(request))
        request.resolver_match = match
        return match

    def chain(self) -> GetResponse:
        """Return the function that answers a request; exceptions outside views become answers too."""
        return cast("GetResponse", convert_exception_to_response(cast("Any", self)._get_response))  # noqa: SLF001


class EdgeMiddleware:
    """Request id, HTTPS gate and host check for all; then API or page, by path."""

    def __init__(self, get_response: GetResponse) -> None:
        """Build the API's way once; `get_response` is the pages' way."""
        self._page = get_response
        self._api = _ApiHandler().chain()
        self._known_hosts: set[str] = set()

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer one request, and record it."""
        began = time.perf_counter()
        given = request.META.get("HTTP_X_REQUEST_ID", "")
        identifier = given.lower() if _UUID.fullmatch(given) else str(uuid4())
        token = request_id.set(identifier)
        status = 500  # of what leaves here without an answer
        try:
            response = self._answer(request, identifier)
            status = response.status_code
        finally:
            record_request(request, status, began)
            request_id.reset(token)
        return response

    def _answer(self, request: HttpRequest, identifier: str) -> HttpResponseBase:
        """Answer one request as API or page, with the headers that every answer has."""
        is_page = request.path_info.startswith(settings.PAGE_PREFIXES)
        try:
            self._check(request)
        except ApiError as refusal:
            response: HttpResponseBase = refusal.response()
        else:
            response = self._page(request) if is_page else self._api(request)
        headers = response.headers
        headers["X-Request-Id"] = identifier
        if not is_page:
            headers["X-Content-Type-Options"] = "nosniff"
            if "Cache-Control" not in headers:
                headers["Cache-Control"] = "no-store"
            if settings.PRODUCTION:
                headers["Strict-Transport-Security"] = f"max-age={settings.SECURE_HSTS_SECONDS}; includeSubDomains"
            if isinstance(response, HttpResponse) and response.status_code != 304:
                # Without it the server sends the answer in chunks, in three writes for one.
                headers["Content-Length"] = str(len(response.content))
                if request.method == "HEAD":
                    response.content = b""
        return response

    def _check(self, request: HttpRequest) -> None:
        """Raise HttpsRequired or InvalidHost for a request that is not to be answered."""
        meta = request.META
        if settings.PRODUCTION and not is_https(request):
            raise HttpsRequired
        host = meta.get("HTTP_HOST")
        target = meta.get("RAW_URI", "/")
        if not target.startswith("/") and urlsplit(target).netloc not in {"", host}:
            # A target in absolute form names its own host, which counts more than the header (RFC 9112, 3.2.2).
            raise InvalidHost
        if host is None:
            # HTTP/1.1 demands the header; gunicorn lets its absence pass.
            if "gunicorn.socket" in meta and meta.get("SERVER_PROTOCOL") == "HTTP/1.1":
                raise InvalidHost
        elif host in self._known_hosts:
            return
        try:
            request.get_host()
        except DisallowedHost as error:
            raise InvalidHost from error
        if host is not None and len(self._known_hosts) < 64:
            self._known_hosts.add(host)


def is_https(request: HttpRequest) -> bool:
    """Say whether the caller spoke HTTPS, to us or to a proxy on the trusted list.

    The proxy's word counts only when it says exactly `https` and nothing else contradicts it.
    """
    meta = request.META
    if meta.get("wsgi.url_scheme") == "https":
        return True
    return (
        meta.get("REMOTE_ADDR") in settings.TRUSTED_PROXIES
        and meta.get("HTTP_X_FORWARDED_PROTO") == "https"
        and meta.get("HTTP_X_FORWARDED_SSL", "on") == "on"
    )


def client_address(request: HttpRequest) -> str:
    """Return the caller's address: the peer's, or what the nearest trusted proxy saw."""
    meta = request.META
    peer = str(meta.get("REMOTE_ADDR", ""))
    if peer in settings.TRUSTED_PROXIES:
        for hop in reversed([hop.strip() for hop in meta.get("HTTP_X_FORWARDED_FOR", "").split(",")]):
            if hop and hop not in settings.TRUSTED_PROXIES:
                return str(hop)
    return peer


class ContentSecurityPolicyMiddleware:
    """Puts the Content-Security-Policy of `settings` on every page that has none of its own."""

    def __init__(self, get_response: GetResponse) -> None:
        """Keep the rest of the chain."""
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer, and add the header."""
        response = self._get_response(request)
        response.headers.setdefault("Content-Security-Policy", settings.CONTENT_SECURITY_POLICY)
        return response
