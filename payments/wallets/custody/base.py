"""What every custody provider speaks in."""

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
