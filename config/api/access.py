"""One record of every request, written at the edge: a log line, and the counts that `/metrics` shows.

A record holds ids and the address's template, never an address: paths and query strings name people and carry secrets.
"""

import logging
import re
import time
from functools import cache
from logging import LogRecord
from typing import Any

from django.conf import settings
from django.http import HttpRequest

from config.api import counters

logger = logging.getLogger("platform.access")

# Stands for every path that no route matches, and for requests that were refused before a route was looked for.
UNMATCHED = "unmatched"
# Everything else is one method to us: a method is any word that a caller likes.
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT"})
OTHER_METHOD = "OTHER"

_ARGUMENT = re.compile(r"<(?:\w+:)?(\w+)>")
_NAMED_GROUP = re.compile(r"\(\?P<(\w+)>(?:[^()]|\([^()]*\))*\)")
_ANCHORS = re.compile(r"\\Z|[\^$]")


def record_request(request: HttpRequest, status: int, began: float) -> None:
    """Record a request that ends with `status`; `began` is `time.perf_counter()` at its beginning."""
    match = request.resolver_match
    if match is not None:
        route = template_of(match.route)
    else:
        route = "/static/{path}" if request.path_info.startswith(settings.STATIC_URL) else UNMATCHED
    caller, user_id = _caller_of(request)
    record(request.method or "", route, status, time.perf_counter() - began, caller=caller, user_id=user_id)


def record(
    method: str, route: str, status: int, seconds: float, *, caller: str | None = None, user_id: int | str | None = None
) -> None:
    """Record one request: `caller` is the credential's kind and public id, `user_id` whose it is."""
    if method not in _METHODS:
        method = OTHER_METHOD
    counters.count_request(method, route, status, seconds)
    if not settings.ACCESS_LOG or not logger.isEnabledFor(logging.INFO):
        return
    duration_ms = round(seconds * 1000, 3)
    text = f"{method} {route} {status} in {duration_ms} ms by {caller or '-'}"
    # Made by hand: finding out which line of the program logs costs as much as all the rest.
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
    """Return a route of the URLconf as people write it: `/v1/applications/{application_id}`."""
    template = _ARGUMENT.sub(r"{\1}", _NAMED_GROUP.sub(r"{\1}", route))
    return "/" + _ANCHORS.sub("", template).lstrip("/")


def _caller_of(request: HttpRequest) -> tuple[str | None, Any]:
    """Return the label of who called and the id of the account; nothing is asked of the database for it."""
    credential = getattr(request, "auth", None)
    if credential is not None:
        return credential.label, credential.user_id
    # A page's visitor, if a page has looked who it is.
    visitor = getattr(request, "_cached_user", None)
    if visitor is not None and visitor.pk is not None:
        return "session", visitor.pk
    return None, None
