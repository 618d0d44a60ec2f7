"""Start-up check: every endpoint declares its access. `manage.py check` and every server's start run it.

E001: a method without a declaration, which every caller could use. E002: an unknown scope or access constant. E003: a
rate limit that is not in RATE_LIMITS. E004: a sandbox operation in production.
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
                hint = "Leave it out of production: it bypasses the rules for real records."
                yield Error(f"{where} is of the sandbox.", hint=hint, id="platform.E004")
            declared: Endpoint | None = getattr(getattr(view, action, None), "endpoint", None)
            if declared is None:
                hint = "Put @endpoint(access=...) on the method: each operation must declare its callers."
                yield Error(f"{where} declares no endpoint.", hint=hint, id="platform.E001")
                continue
            if declared.access not in ACCESS_WORDS:
                text = f"{where} asks for {declared.access!r}, which no credential carries."
                yield Error(text, hint=f"Use one of: {', '.join(sorted(ACCESS_WORDS))}.", id="platform.E002")
            if declared.limit is not None and declared.limit not in settings.RATE_LIMITS:
                text = f"{where} names the rate limit {declared.limit!r}, which RATE_LIMITS does not have."
                hint = "Add it to RATE_LIMITS in config/settings.py, or leave `limit` out."
                yield Error(text, hint=hint, id="platform.E003")


@register(Tags.urls, "platform")
def check_endpoints(**_options: Any) -> list[CheckMessage]:
    return list(endpoint_problems(get_resolver().url_patterns))
