"""Check at startup that every endpoint declares its access. `manage.py check` and all servers run this check.

- E001: A method has no declaration, so every caller could use it.
- E002: The declared access is neither a scope nor an access constant.
- E003: The declared rate limit is not in RATE_LIMITS.
- E004: A sandbox operation is served in production.
"""

from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, register
from django.urls import get_resolver

from config.api.openapi import routes
from config.api.views import Endpoint
from config.core.credentials import ANY_CALLER, FIRST_PARTY, LOG_IN, PUBLIC
from config.sandbox.views import SandboxViewSet
from identity.access.scopes import SCOPES

ACCESS_WORDS = frozenset({PUBLIC, ANY_CALLER, FIRST_PARTY, LOG_IN, *SCOPES})


def endpoint_problems(patterns: list[Any]) -> Iterator[CheckMessage]:
    for route, pattern in routes(patterns):
        for method, action in getattr(pattern.callback, "actions", {}).items():
            view: Any = getattr(pattern.callback, "cls", None)
            where = f"{method.upper()} /{route} ({view.__module__}.{view.__name__}.{action})"
            if view is not None and issubclass(view, SandboxViewSet) and settings.ENVIRONMENT == "production":
                hint = "Remove the URL in production, because the operation bypasses the rules for real records."
                yield Error(f"{where} is a sandbox operation.", hint=hint, id="platform.E004")
            declared: Endpoint | None = getattr(getattr(view, action, None), "endpoint", None)
            if declared is None:
                hint = "Add @endpoint(access=...) to the method. Each operation must declare its callers."
                yield Error(f"{where} declares no access.", hint=hint, id="platform.E001")
                continue
            if declared.access not in ACCESS_WORDS:
                text = f"{where} requires the unknown access {declared.access!r}."
                yield Error(text, hint=f"Use one of: {', '.join(sorted(ACCESS_WORDS))}.", id="platform.E002")
            if declared.limit is not None and declared.limit not in settings.RATE_LIMITS:
                text = f"{where} uses the rate limit {declared.limit!r}, which is not in RATE_LIMITS."
                hint = "Add it to RATE_LIMITS in config/settings.py, or remove `limit`."
                yield Error(text, hint=hint, id="platform.E003")


@register(Tags.urls, "platform")
def check_endpoints(**_options: Any) -> list[CheckMessage]:
    return list(endpoint_problems(get_resolver().url_patterns))
