"""How often an endpoint may be called: REST framework's view of `rate_limits`."""

from typing import Any

from rest_framework.throttling import BaseThrottle

from config.api import rate_limits
from config.api.credentials import SAFE_METHODS
from config.api.middleware import client_address


class RateLimit(BaseThrottle):
    """One permit of the endpoint's limit per request: for the credential, or for the address where there is none."""

    def allow_request(self, request: Any, view: Any) -> bool:
        """Return True; raises RateLimited."""
        declared = view.declared
        if request.auth is None:
            rate_limits.consume((declared and declared.limit) or "anonymous", client_address(request))
        elif declared is not None:  # else REST framework answers 405 next
            limit = declared.limit or ("read" if request.method in SAFE_METHODS else view.write_limit)
            rate_limits.consume(limit, request.auth.label)
        return True
