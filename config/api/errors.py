"""Conversion of exceptions to API errors, and the error handlers for Django and REST framework."""

import logging
import sys
from typing import Any

from django.core.exceptions import DisallowedHost
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import is_valid_path
from django.utils.encoding import iri_to_uri
from django.utils.http import escape_leading_slashes
from rest_framework import exceptions as drf

from config.core import errors
from config.core.databases import is_away, log_away
from config.core.media_types import prefers

logger = logging.getLogger("platform.errors")

# This maps the status of REST framework's errors to errors of the API.
_BY_STATUS: dict[int, type[errors.ApiError]] = {
    error_class.status: error_class
    for error_class in (errors.NotFound, errors.MethodNotAllowed, errors.NotAcceptable, errors.UnsupportedMediaType)
}


def as_api_error(error: Exception) -> errors.ApiError:
    """Return the API error for an exception. Unexpected exceptions are logged."""
    if isinstance(error, errors.ApiError):
        return error
    if isinstance(error, drf.APIException):
        return _BY_STATUS.get(error.status_code, errors.ValidationFailed)()
    if isinstance(error, Http404):
        return errors.NotFound()
    if isinstance(error, DisallowedHost):
        return errors.InvalidHost()
    if is_away(error):
        log_away(error)
        return errors.Unavailable()
    logger.error("unhandled %s", type(error).__name__, exc_info=error)
    return errors.InternalError()


def log_unhandled(**_signal: Any) -> None:
    """Log the current exception of a page's view, or of code outside of a view."""
    error = sys.exc_info()[1]
    logger.error("unhandled %s", type(error).__name__, exc_info=error)


def render_exception(error: Exception, context: dict[str, Any]) -> HttpResponse:  # noqa: ARG001
    return as_api_error(error).response()


def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:  # noqa: ARG001
    """Respond to a path that no route matches (`handler404`).

    A browser is redirected if the path exists with or without a final slash. An API client gets a message about a
    superfluous slash. The message excludes the path.
    """
    path = request.path_info
    other = path.removesuffix("/") if path.endswith("/") else f"{path}/"
    exists = is_valid_path(other)
    reads_html = request.method in {"GET", "HEAD"} and prefers("text/html", request.headers.get("Accept", ""))
    if exists and reads_html and not path.startswith("/v1/"):
        query = request.META.get("QUERY_STRING", "")
        return HttpResponseRedirect(escape_leading_slashes(iri_to_uri(other) + (f"?{query}" if query else "")))
    if exists and path.endswith("/"):
        return errors.NotFound("No resource has this path. Send the request without the slash at the end.").response()
    return errors.NotFound().response()


def bad_request(_request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return (errors.InvalidHost() if isinstance(exception, DisallowedHost) else errors.ValidationFailed()).response()


def permission_denied(_request: HttpRequest, exception: Exception | None = None) -> HttpResponse:  # noqa: ARG001
    return HttpResponse(
        "Your account lacks the permission for this operation.", status=403, content_type="text/plain; charset=utf-8"
    )


def server_error(_request: HttpRequest) -> HttpResponse:
    """Respond to an exception of a page's view, or of code outside of a view (`handler500`).

    `log_unhandled` logs the exception.
    """
    return (errors.Unavailable() if is_away(sys.exception()) else errors.InternalError()).response()
