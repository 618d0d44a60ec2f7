"""Middleware for pages only (sessions, visitors, messages). API operations skip it."""

import time
from collections.abc import Callable, Sequence
from typing import Any

from django.conf import settings
from django.contrib.auth import user_logged_in
from django.contrib.auth.middleware import AuthenticationMiddleware
from django.contrib.auth.models import AnonymousUser
from django.dispatch import receiver
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.functional import SimpleLazyObject
from django.utils.module_loading import import_string

from config.core.registration import declared

PAGES_OF_THE_API = ("/v1/docs", "/v1/kyc/sandbox/")


class PageMiddleware:
    """Runs the middleware of `PAGE_MIDDLEWARE` in order for pages, and skips it for API operations."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response
        self._chain: list[Any] = []
        handler: Any = get_response
        for path in reversed(settings.PAGE_MIDDLEWARE):
            handler = import_string(path)(handler)
            self._chain.insert(0, handler)
        self._get_page = handler

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        path = request.path_info
        is_page = not path.startswith("/v1/") or path.startswith(PAGES_OF_THE_API)
        request.page_chain = self._chain if is_page else []  # type: ignore[attr-defined]
        response: HttpResponseBase = self._get_page(request) if is_page else self._get_response(request)
        return response

    def process_view(self, request: Any, *view: Any) -> HttpResponseBase | None:
        return _first_response("process_view", request.page_chain, request, *view) if request.page_chain else None

    def process_exception(self, request: Any, error: Exception) -> HttpResponseBase | None:
        return _first_response("process_exception", request.page_chain[::-1], request, error)


def _first_response(hook: str, chain: Sequence[Any], request: HttpRequest, *arguments: Any) -> HttpResponseBase | None:
    for middleware in chain:
        run = getattr(middleware, hook, None)
        response: HttpResponseBase | None = run and run(request, *arguments)
        if response is not None:
            return response
    return None


SESSION_SECONDS_MAX = 12 * 3600  # the maximum age of a session in use; SESSION_COOKIE_AGE ends an idle session
_BEGAN = "began"


@receiver(user_logged_in, dispatch_uid="note-when-a-session-began")
def _note_begin(*, request: HttpRequest, **_signal: Any) -> None:
    request.session[_BEGAN] = int(time.time())


class VisitorMiddleware(AuthenticationMiddleware):
    """Ends sessions after SESSION_SECONDS_MAX, and sets the visitor's ID for the access log.

    The visitor is loaded when a page first uses `request.user`.
    """

    def process_request(self, request: HttpRequest) -> None:
        super().process_request(request)
        visitor = request.user

        def look() -> Any:
            if time.time() - request.session.get(_BEGAN, time.time()) > SESSION_SECONDS_MAX:
                request.session.flush()
            elif visitor.is_authenticated and any(ended(request, visitor) for ended in declared("session_ends")):
                request.session.flush()
                request.visitor_id = None  # type: ignore[attr-defined]
                return AnonymousUser()
            request.visitor_id = visitor.pk  # type: ignore[attr-defined]
            return visitor

        request.user = SimpleLazyObject(look)  # type: ignore[assignment]
