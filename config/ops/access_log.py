"""The outermost middleware, which assigns the request ID and records each request.

It writes a log line, counts the request for `/metrics`, and adds a line to the caller's request log
(`config.ops.request_log`).

Records contain IDs and the template of the path. Paths and query strings are excluded, because they can contain
personal data and secrets.
"""

import logging
import re
import time
from collections.abc import Callable
from functools import cache
from logging import LogRecord
from typing import Any
from uuid import uuid4

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase

from config.core.context import request_id
from config.ops.logs import ACCESS_LOGGER
from config.ops.request_counts import counts_of_process
from config.ops.request_log import LOG

logger = logging.getLogger(ACCESS_LOGGER)

# Requests without a route, or with an error before routing, have this template.
UNMATCHED = "unmatched"
# Callers can send any method, so all other methods share one count.
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT"})
OTHER_METHOD = "OTHER"

_ARGUMENT = re.compile(r"<(?:\w+:)?(\w+)>")
_NAMED_GROUP = re.compile(r"\(\?P<(\w+)>(?:[^()]|\([^()]*\))*\)")
_ANCHORS = re.compile(r"\\Z|[\^$]")
_CODE = re.compile(rb'"code":"(E\d{4})"')
_UUID = re.compile(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}", re.ASCII)


class RequestIdMiddleware:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response
        self._counts = counts_of_process()

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        began = time.perf_counter()
        sent_id = request.META.get("HTTP_X_REQUEST_ID", "")
        identifier = sent_id.lower() if _UUID.fullmatch(sent_id) else str(uuid4())
        token = request_id.set(identifier)
        if self._counts:
            self._counts.in_flight.inc()
        response = None
        try:
            response = self._get_response(request)
        finally:
            if self._counts:
                self._counts.in_flight.dec()
            self._record(request, response, time.perf_counter() - began)
            request_id.reset(token)
        response.headers["X-Request-Id"] = identifier
        response.headers.setdefault("Cache-Control", "no-store")
        if request.method == "HEAD" and isinstance(response, HttpResponse):
            response.content = b""  # `Content-Length` was set before
        return response

    def _record(self, request: HttpRequest, response: HttpResponseBase | None, seconds: float) -> None:
        status = 500 if response is None else response.status_code
        method = request.method if request.method in METHODS else OTHER_METHOD
        if request.resolver_match is not None:
            route = template_of(request.resolver_match.route)
        else:
            route = "/static/{path}" if request.path_info.startswith(settings.STATIC_URL) else UNMATCHED
        if self._counts:
            self._counts.count(method, route, status, seconds)
        credential = getattr(request, "auth", None)
        if credential is not None and route.startswith("/v1/"):
            LOG.add(
                credential,
                method=method,
                route=route,
                status=status,
                code=_code_of(response) if status >= 400 else "",
                failed_fields=getattr(response, "failed_fields", None),
                seconds=seconds,
                request_id=request_id.get(),
            )
        if not settings.ACCESS_LOG or not logger.isEnabledFor(logging.INFO):
            return
        caller, user_id = _caller_of(request)
        duration_ms = round(seconds * 1000, 3)
        text = f"{method} {route} {status} in {duration_ms:.1f} ms by {_who(caller, user_id)}"
        # `logger.info` would look up the calling line, which takes as long as all other work of the middleware.
        line = LogRecord(logger.name, logging.INFO, "", 0, text, None, None)
        line.__dict__.update(
            service=settings.SERVICE,
            method=method,
            route=route,
            status=status,
            duration_ms=duration_ms,
            caller=caller,
            user_id=user_id,
        )
        logger.handle(line)


@cache
def template_of(route: str) -> str:
    """Return the template of a route: `/v1/applications/{application_id}`."""
    template = _ARGUMENT.sub(r"{\1}", _NAMED_GROUP.sub(r"{\1}", route))
    return "/" + _ANCHORS.sub("", template).lstrip("/")


def _code_of(response: HttpResponseBase | None) -> str:
    """Return the error's code, or "". A stored response contains its code only in the body."""
    code: str | None = getattr(response, "error_code", None)
    if code is None and isinstance(response, HttpResponse) and (match := _CODE.search(response.content)):
        code = match[1].decode()
    return code or ""


def _who(caller: str | None, user_id: Any) -> str:
    if caller is None:
        return "nobody"
    return caller if user_id is None else f"{caller} (user {user_id})"


def _caller_of(request: HttpRequest) -> tuple[str | None, Any]:
    """Return the caller's credential (kind and public id) and account id, without a database query."""
    credential = getattr(request, "auth", None)
    if credential is not None:
        return credential.label, credential.user_id
    visitor_id = getattr(request, "visitor_id", None)
    return (None, None) if visitor_id is None else ("session", visitor_id)
