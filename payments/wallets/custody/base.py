"""What every custody provider speaks in.

A provider has a `name` and three methods. `supports` says whether it knows a network; `provision` makes the account of
a `CustodyAccount` row, or finds the one that an earlier try has made; `balance` says what an account holds. The last
two raise `provider.ProviderError`.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ProvisionedAccount:
    """An account that a provider has made: its id there, and its address (EIP-55)."""

    account_id: str
    address: str


@dataclass(frozen=True, slots=True)
class CustodyBalance:
    """What an account holds of USDC, in the token's smallest units, of which 10**decimals make one."""

    amount: int
    decimals: int
