"""Middleware for every request: HTTPS, the host, the format of errors, and unread or chunked bodies."""

import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from http import HTTPStatus
from io import BytesIO
from typing import Any
from urllib.parse import urlsplit

import orjson
from django.conf import settings
from django.core.exceptions import DisallowedHost
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.cache import get_conditional_response

from config.core.errors import PROBLEM, ApiError, HttpsRequired, InvalidHost, MalformedJSON, as_problem
from config.core.media_types import prefers
from config.core.registration import declared

GetResponse = Callable[[HttpRequest], HttpResponseBase]
_LENGTH = re.compile(r"[0-9]{1,18}", re.ASCII)
_HEALTH_PATHS = {"/health", "/v1/health"}


class TransportMiddleware:
    """Rejects unknown hosts and, in production, plain HTTP. Adds the Content-Security-Policy."""

    def __init__(self, get_response: GetResponse) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        try:
            check_transport(request)
            response = self._get_response(request)
            # A browser would apply the policy of a 304 response to its cached page.
            if response.status_code != HTTPStatus.NOT_MODIFIED:
                response.headers.setdefault("Content-Security-Policy", settings.CONTENT_SECURITY_POLICY)
        except ApiError as refusal:
            response = refusal.response()
        if response.status_code >= 400 and isinstance(response, HttpResponse):
            if prefers(PROBLEM, request.META.get("HTTP_ACCEPT", "")):
                _write_as_problem(response)
            for write in declared("error_forms"):
                write(request, response)
        if "ETag" in response.headers and "HTTP_IF_NONE_MATCH" in request.META:
            # Django accepts a FileResponse here, but its type stubs do not.
            any_response: Any = response
            etag = response.headers["ETag"]
            response = get_conditional_response(request, etag=etag, response=any_response) or response
        if isinstance(response, HttpResponse):
            response.headers.setdefault("Content-Length", str(len(response.content)))
        if response.status_code >= 400 and request.META.get("REMOTE_ADDR") in settings.TRUSTED_PROXIES:
            # Read the rest of a rejected body. Otherwise, the proxy would respond with 502.
            with suppress(OSError):
                while request.read(65_536):
                    pass
        return response


def _write_as_problem(response: HttpResponse) -> None:
    """Convert an error, which may be a stored response, to RFC 9457."""
    if response.headers.get("Content-Type") == "application/json":
        body = orjson.loads(response.content)
        if isinstance(body, dict) and "code" in body and "message" in body:
            response.content = orjson.dumps(as_problem(response.status_code, body))
            response.headers["Content-Type"] = PROBLEM
            response.headers["Content-Length"] = str(len(response.content))


def check_transport(request: HttpRequest) -> None:
    meta = request.META
    if settings.PRODUCTION and not is_https(request):
        raise HttpsRequired
    host = meta.get("HTTP_HOST")
    target = meta.get("RAW_URI", "/")
    try:
        own_host = "" if target.startswith("/") else urlsplit(target).netloc
    except ValueError as error:
        raise InvalidHost from error
    if own_host not in {"", host}:
        # The host in an absolute request target has precedence over the `Host` header (RFC 9112, 3.2.2).
        raise InvalidHost
    if not _LENGTH.fullmatch(meta.get("CONTENT_LENGTH") or "0"):
        raise MalformedJSON("`Content-Length` must be a number of bytes.")
    if host is None and request.path_info in _HEALTH_PATHS and meta.get("SERVER_PROTOCOL") == "HTTP/1.0":
        meta["HTTP_HOST"] = urlsplit(settings.HOST_ROOT).netloc  # health checks of load balancers send no `Host`
        return
    # HTTP/1.1 requires the header, but gunicorn accepts requests without the header.
    if host is None and "gunicorn.socket" in meta and meta.get("SERVER_PROTOCOL") == "HTTP/1.1":
        raise InvalidHost
    try:
        request.get_host()
    except DisallowedHost as error:
        raise InvalidHost from error


def is_https(request: HttpRequest) -> bool:
    """Check whether the caller used HTTPS, according to the connection or to the headers of a trusted proxy."""
    meta = request.META
    if meta.get("wsgi.url_scheme") == "https":
        return True
    return (
        meta.get("REMOTE_ADDR") in settings.TRUSTED_PROXIES
        and meta.get("HTTP_X_FORWARDED_PROTO") == "https"
        and meta.get("HTTP_X_FORWARDED_SSL", "on") == "on"
    )


Application = Callable[..., Iterable[bytes]]


class ChunkedBodies:
    """A WSGI application that reads a chunked body, up to a limit, and then sets `CONTENT_LENGTH`."""

    def __init__(self, application: Application, *, limit: int) -> None:
        self._application = application
        self._limit = limit

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        if "HTTP_TRANSFER_ENCODING" in environ and not environ.get("CONTENT_LENGTH"):
            try:
                body = environ["wsgi.input"].read(self._limit + 1)
                length = len(body)
            except Exception:  # noqa: BLE001  each server raises its own errors for malformed chunks
                body, length = b"", 1  # longer than the body, so the body is rejected as truncated
            environ["wsgi.input"], environ["CONTENT_LENGTH"] = BytesIO(body), str(length)
        return self._application(environ, start_response)
