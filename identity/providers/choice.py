"""The open-banking vendor that `OPEN_BANKING` selects: `sandbox` (built in, offline), `plaid`, or an adapter."""

from django.conf import settings

from config.core.adapters import load_adapter
from identity.providers.base import OpenBanking
from identity.providers.plaid import Plaid
from identity.providers.sandbox import Sandbox

PROVIDERS = ("sandbox", "plaid")


def open_banking() -> OpenBanking:
    """Return the vendor's adapter for one request. Its deadline for all calls starts now."""
    if settings.OPEN_BANKING in PROVIDERS:
        return Plaid() if settings.OPEN_BANKING == "plaid" else Sandbox()
    adapter: OpenBanking = load_adapter(settings.OPEN_BANKING)
    return adapter
