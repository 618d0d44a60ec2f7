"""Select the open-banking adapter from `OPEN_BANKING`: `sandbox` (built in, offline), `plaid`, or another adapter."""

from django.conf import settings

from config.core.adapters import load_adapter
from identity.providers.base import OpenBanking
from identity.providers.checked import CheckedAdapter
from identity.providers.plaid import Plaid
from identity.providers.sandbox import Sandbox

PROVIDERS = ("sandbox", "plaid")


def open_banking() -> OpenBanking:
    """Create the vendor's adapter for a request. The time limit for all calls to the vendor starts now."""
    if settings.OPEN_BANKING in PROVIDERS:
        return Plaid() if settings.OPEN_BANKING == "plaid" else Sandbox()
    return CheckedAdapter(load_adapter(settings.OPEN_BANKING))
