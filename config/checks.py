"""Start-up checks: what would otherwise be found out by a caller, or by an attacker.

`manage.py check` runs them, and so does every command that starts a server or migrates. Ids begin with `platform.`.
"""

from collections.abc import Iterator
from ipaddress import ip_address
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, register
from django.urls import URLPattern, URLResolver, get_resolver

from config.api.credentials import ANY_CALLER, FIRST_PARTY, PUBLIC
from config.api.declarations import Endpoint
from config.api.views import ApiViewSet
from config.core.errors import ApiError
from identity.access.scopes import SCOPES

ACCESS_WORDS = frozenset({PUBLIC, ANY_CALLER, FIRST_PARTY, *SCOPES})
_OWN_TAG = "platform"


def _routes(patterns: list[Any], prefix: str = "") -> Iterator[tuple[str, URLPattern]]:
    for pattern in patterns:
        route = f"{prefix}{pattern.pattern}"
        if isinstance(pattern, URLResolver):
            yield from _routes(pattern.url_patterns, route)
        elif isinstance(pattern, URLPattern):
            yield route, pattern


def endpoint_problems(patterns: list[Any]) -> list[CheckMessage]:
    """Return what is wrong with the declarations of the API's methods behind some URL patterns.

    E001: a method without a declaration, which would answer anybody. E002: an access word that no credential can have.
    E003: a rate limit that the settings do not name.
    """
    problems: list[CheckMessage] = []
    for route, pattern in _routes(patterns):
        view = getattr(pattern.callback, "cls", None)
        if view is None or not issubclass(view, ApiViewSet):
            continue
        for method, action in getattr(pattern.callback, "actions", {}).items():
            where = f"{method.upper()} /{route} ({view.__module__}.{view.__name__}.{action})"
            declared: Endpoint | None = getattr(getattr(view, action, None), "endpoint", None)
            if declared is None:
                hint = "Put @endpoint(access=...) on the method: who may call it is never left open."
                problems.append(Error(f"{where} declares no endpoint.", hint=hint, id="platform.E001"))
                continue
            if declared.access not in ACCESS_WORDS:
                text = f"{where} asks for {declared.access!r}, which no credential carries."
                hint = f"Use one of: {', '.join(sorted(ACCESS_WORDS))}."
                problems.append(Error(text, hint=hint, id="platform.E002"))
            if declared.limit is not None and declared.limit not in settings.RATE_LIMITS:
                text = f"{where} names the rate limit {declared.limit!r}, which RATE_LIMITS does not have."
                hint = "Add it to RATE_LIMITS in config/settings.py, or leave `limit` out."
                problems.append(Error(text, hint=hint, id="platform.E003"))
    return problems


@register(Tags.urls, _OWN_TAG)
def check_endpoints(**_options: Any) -> list[CheckMessage]:
    return endpoint_problems(get_resolver().url_patterns)


@register(Tags.security, _OWN_TAG)
def check_trusted_proxies(**_options: Any) -> list[CheckMessage]:
    """Check that each trusted proxy is one address.

    E004: the peer's address is compared with the list as text, so a name or a network would never match, and `*`
    would be read by gunicorn as everybody.
    """
    problems: list[CheckMessage] = []
    for proxy in sorted(settings.TRUSTED_PROXIES):
        try:
            ip_address(proxy)
        except ValueError:
            text = f"TRUSTED_PROXIES holds {proxy!r}, which is not an IP address."
            hint = "List the address of each proxy, joined by commas; names and networks are not understood."
            problems.append(Error(text, hint=hint, id="platform.E004"))
    return problems


@register(Tags.security, _OWN_TAG)
def check_replicas(**_options: Any) -> list[CheckMessage]:
    """Check that the processes can tell each other who has just written.

    E006: without a memory in common, somebody who wrote through one process would read an old copy through another.
    """
    if not settings.DATABASE_REPLICAS or settings.REDIS_URL:
        return []
    text = "DATABASE_REPLICA_URLS is set, and REDIS_URL is not: nothing is read from the replicas."
    hint = "Set REDIS_URL: the processes remember there who has just written, and who reads from the primary."
    return [Error(text, hint=hint, id="platform.E006")]


@register(_OWN_TAG)
def check_errors(**_options: Any) -> list[CheckMessage]:
    """Check that every error class can be rendered.

    E005: a class without a slug, an `E` number, a message, or a status of its own.
    """
    return [
        Error(
            f"{error.__module__}.{error.__name__} is not a whole error.",
            hint="Give it `status`, `error`, `code` and `message`.",
            id="platform.E005",
        )
        for error in ApiError.registry.values()
        if not (error.error and error.message and 400 <= error.status < 600 and error.code[1:].isdigit())
    ]
