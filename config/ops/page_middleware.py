"""Sessions, visitors, messages and the like are for pages: API operations need none of them."""

import time
from typing import Any

from django.contrib.auth import user_logged_in
from django.contrib.auth.middleware import AuthenticationMiddleware
from django.contrib.messages import middleware as messages
from django.contrib.sessions import middleware as sessions
from django.dispatch import receiver
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.functional import SimpleLazyObject


class _ForPages:
    get_response: Any

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        path = request.path_info
        is_operation = path.startswith("/v1/") and not path.startswith("/v1/docs")
        answer: HttpResponseBase = self.get_response(request) if is_operation else super().__call__(request)  # type: ignore[misc]
        return answer


class SessionMiddleware(_ForPages, sessions.SessionMiddleware):
    pass


SESSION_SECONDS_MAX = 12 * 3600  # a working day; SESSION_COOKIE_AGE ends one that is left alone
_BEGAN = "began"


@receiver(user_logged_in, dispatch_uid="note-when-a-session-began")
def _note_begin(*, request: HttpRequest, **_signal: Any) -> None:
    request.session[_BEGAN] = int(time.time())


class VisitorMiddleware(_ForPages, AuthenticationMiddleware):
    """Ends an expired session even if it is in use, and passes a page's visitor to the access log once the page has
    identified them.
    """

    def process_request(self, request: HttpRequest) -> None:
        super().process_request(request)
        visitor = request.user

        def look() -> Any:
            if time.time() - request.session.get(_BEGAN, time.time()) > SESSION_SECONDS_MAX:
                request.session.flush()
            request.visitor_id = visitor.pk  # type: ignore[attr-defined]
            return visitor

        request.user = SimpleLazyObject(look)  # type: ignore[assignment]


class MessageMiddleware(_ForPages, messages.MessageMiddleware):
    pass
