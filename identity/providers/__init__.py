"""The open-banking provider, chosen by `OPEN_BANKING`: `sandbox` (built in, offline) or `plaid`."""

from django.conf import settings

from identity.providers.base import OpenBanking


def open_banking() -> OpenBanking:
    """Return the provider for one request: its deadline for all that it is asked begins now."""
    if settings.OPEN_BANKING == "plaid":
        from identity.providers.plaid import Plaid

        return Plaid.from_settings()
    from identity.providers.sandbox import Sandbox

    return Sandbox()
