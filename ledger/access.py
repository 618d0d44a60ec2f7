"""Who may call service B: anybody in development; in production a credential writes, and reads what is somebody's."""

from typing import Any

from django.conf import settings
from rest_framework.authentication import BaseAuthentication
from rest_framework.permissions import BasePermission
from rest_framework.throttling import BaseThrottle

from config.api import rate_limits
from config.api.credentials import PUBLIC, AuthenticationRequired
from config.api.permissions import InsufficientScope
from config.api.views import ApiViewSet
from ledger.credentials import ANYBODY, Caller, identify

# Key of RATE_LIMITS: writes per minute and credential, in production. Reads of the log have none.
WRITE_LIMIT = "ledger_write"


class LedgerAuthentication(BaseAuthentication):
    """A token of service A, or one of the ledger's own keys."""

    def authenticate(self, request: Any) -> tuple[None, Caller] | None:
        """Return the caller; None in development, or when no credential was sent. Raises InvalidToken and its kin."""
        caller = identify(request.META) if settings.ENVIRONMENT == "production" else None
        return None if caller is None else (None, caller)


class MayUseLedger(BasePermission):
    """Asks for a credential in production, and for the right to anchor where something is written."""

    def has_permission(self, request: Any, view: Any) -> bool:
        if view.declared.access == PUBLIC or settings.ENVIRONMENT != "production":
            return True
        if request.auth is None:
            raise AuthenticationRequired
        if view.declared.body is not None and not request.auth.allows(view.declared.access):
            raise InsufficientScope.lacking(view.declared.access)
        return True


class WriteLimit(BaseThrottle):
    def allow_request(self, request: Any, view: Any) -> bool:
        if request.auth is not None and view.declared.body is not None:
            rate_limits.consume(WRITE_LIMIT, request.auth.label)
        return True


class LedgerViewSet(ApiViewSet):
    """An endpoint with service B's callers instead of service A's."""

    tag = "ledger"
    authentication_classes = [LedgerAuthentication]
    permission_classes = [MayUseLedger]
    throttle_classes = [WriteLimit]

    @property
    def caller(self) -> Caller:
        credential: Any = self.request.auth
        return credential or ANYBODY
