"""The open-banking provider, chosen by `OPEN_BANKING`: `sandbox` (built in, offline) or `plaid`."""

from django.conf import settings

from identity.providers.plaid import Plaid
from identity.providers.sandbox import Sandbox

PROVIDERS = ("sandbox", "plaid")


OpenBanking = Plaid | Sandbox


def open_banking() -> OpenBanking:
    """Return the provider for one request: its deadline for all calls begins now."""
    return Plaid() if settings.OPEN_BANKING == "plaid" else Sandbox()
