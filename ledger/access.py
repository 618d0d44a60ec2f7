"""What comes before every method of service B: negotiation, and in production caller and write limit."""

from typing import Any

from django.conf import settings

from config.api import throttling
from config.api.credentials import PUBLIC, AuthenticationRequired
from config.api.errors import NotAcceptable
from config.api.views import ApiViewSet, Endpoint, InsufficientScope, accepts
from ledger.credentials import ANYBODY, Caller, identify

# Key of RATE_LIMITS: writes per minute and credential, in production. Reads of the log have none.
WRITE_LIMIT = "ledger_write"


class LedgerViewSet(ApiViewSet):
    """The kit's endpoint with service B's callers instead of service A's."""

    tag = "ledger"
    caller: Caller = ANYBODY

    def get_authenticators(self) -> list[Any]:
        """None of service A's: B has no accounts, and `initial` asks `credentials`."""
        return []

    def initial(self, request: Any, *_args: Any, **_kwargs: Any) -> None:
        """Refuse who cannot take the answer, and in production who may not ask."""
        declared: Endpoint | None = getattr(getattr(self, str(request.method).lower(), None), "endpoint", None)
        accept = request.META.get("HTTP_ACCEPT")
        taken = {"application/json", declared.media_type if declared else "application/json"}
        if accept and not any(accepts(accept, media_type) for media_type in taken):
            raise NotAcceptable
        if declared is None or declared.access == PUBLIC or settings.ENVIRONMENT != "production":
            return
        caller = identify(request.META)
        if caller is None:
            raise AuthenticationRequired
        self.caller = caller
        request._request.auth = caller  # where the record of the request looks for it
        if not caller.allows(declared.access) and declared.body is not None:
            raise InsufficientScope(f"This needs the scope {declared.access}.", details={"required": declared.access})
        if declared.body is not None:
            throttling.spend(WRITE_LIMIT, caller.label)
