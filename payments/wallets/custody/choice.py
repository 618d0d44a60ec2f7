"""Who holds accounts for people: the custody provider that `CUSTODY` names.

A provider has a `name` and three methods. `supports` says whether it knows a network; `provision` makes the account of
a `CustodyAccount` row, or finds the one that an earlier try has made; `balance` says what an account holds. The last
two raise `provider.ProviderError`.
"""

from django.conf import settings

from payments.wallets.custody.circle import CircleCustody
from payments.wallets.custody.sandbox import SandboxCustody

CustodyProvider = SandboxCustody | CircleCustody


def custody_provider(name: str = "") -> CustodyProvider:
    """Return the provider named; the one of the settings when none is."""
    return CircleCustody() if (name or settings.CUSTODY) == CircleCustody.name else SandboxCustody()
