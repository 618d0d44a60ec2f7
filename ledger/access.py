"""Access to service B. In development, it is unrestricted. In production, a user's entries require a credential."""

from typing import Any

from django.conf import settings
from django.db import DatabaseError
from rest_framework.authentication import BaseAuthentication
from rest_framework.permissions import BasePermission
from rest_framework.throttling import BaseThrottle

from config.api import rate_limits
from config.api.views import ApiViewSet
from config.core.credentials import PUBLIC, AuthenticationRequired, InsufficientScope
from ledger.credentials import ANCHOR_SCOPE, ANYBODY, Caller, identify, listed

# Keys of RATE_LIMITS. WRITE_LIMIT limits the entries per minute of a listed key, or of an address in development.
# TOKEN_LIMIT limits the entries of a token's account.
WRITE_LIMIT, TOKEN_LIMIT = "ledger_write", "ledger_token"


class LedgerAuthentication(BaseAuthentication):
    def authenticate(self, request: Any) -> tuple[None, Caller] | None:
        """Return the caller, or None without a credential. In development, also return None for an unlisted key.

        Raises InvalidToken and related errors.
        """
        # In development, all callers may write. The platform's key also permits its own report types.
        meta = request.META
        caller = identify(meta) if settings.PRODUCTION else listed(meta.get("HTTP_X_API_KEY", ""))
        return None if caller is None else (None, caller)


class MayUseLedger(BasePermission):
    """Requires a credential in production. Writes also require the scope to anchor."""

    def has_permission(self, request: Any, view: Any) -> bool:
        if view.declared.access == PUBLIC or not settings.PRODUCTION:
            return True
        if request.auth is None:
            raise AuthenticationRequired
        if view.declared.body is not None and not request.auth.allows(view.declared.access):
            raise InsufficientScope.lacking(view.declared.access)
        return True


class HasListedKey(BasePermission):
    """Requires a key in `LEDGER_API_KEYS` for writes that could flood the log. Development requires no key."""

    def has_permission(self, request: Any, view: Any) -> bool:  # noqa: ARG002
        if request.auth is not None and request.auth.user_id is not None:
            raise InsufficientScope("Only keys in LEDGER_API_KEYS can anchor batches. Anchor one report at a time.")
        return True


class LedgerLimit(BaseThrottle):
    """Consumes one permit of the rate limit per request.

    For a batch, `take_permits` then consumes a permit for each further entry.
    """

    def allow_request(self, request: Any, view: Any) -> bool:
        view.take_permits(request, 1)
        return True


class LedgerViewSet(ApiViewSet):
    """The base class of endpoints that authenticate callers of service B."""

    tag = "ledger"
    authentication_classes = [LedgerAuthentication]
    permission_classes = [MayUseLedger]
    throttle_classes = [LedgerLimit]

    @property
    def caller(self) -> Caller:
        credential: Any = self.request.auth
        return credential or ANYBODY

    def take_permits(self, request: Any, permits: int) -> None:
        """Consume rate limit permits of an address, a token's account, or a listed key. Raises RateLimited.

        Reads with a listed key have no limit. If the database rejects writes, reads are not counted.
        """
        caller, writes = request.auth, self.declared.access == ANCHOR_SCOPE
        if not writes and listed(request.META.get("HTTP_X_API_KEY", "")):
            return
        if caller is None:
            limit = self.declared.limit or (WRITE_LIMIT if writes else "anonymous")
        else:
            limit = "read" if not writes else WRITE_LIMIT if caller.user_id is None else TOKEN_LIMIT
        try:
            if caller is None:
                rate_limits.consume_by_address(limit, request, permits=permits)
            else:
                rate_limits.consume(limit, caller.label, permits=permits)
        except DatabaseError:
            if writes:
                raise
