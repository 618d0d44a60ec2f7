"""A deterministic offline custody vendor. All balances are zero."""

from hashlib import sha256
from uuid import UUID, uuid5

from payments.chain.addresses import checksum_address

_NAMESPACE = UUID("5d1f0b0e-8f43-4b63-9a35-6f1a7f0f2c11")
USDC_DECIMALS = 6


class SandboxCustody:
    """A custody vendor that derives each account from the idempotency key. The addresses have no private keys."""

    name = "sandbox"

    def supports(self, network: str) -> bool:  # noqa: ARG002  custody adapters have this signature
        return True

    def provision(self, *, reference: UUID, key: UUID, network: str, retried: bool) -> tuple[str, str]:  # noqa: ARG002
        digest = sha256(b"custody-sandbox:" + key.bytes).digest()
        return str(uuid5(_NAMESPACE, str(key))), checksum_address(digest[:20])

    def balance(self, account_id: str) -> tuple[int, int]:  # noqa: ARG002
        return 0, USDC_DECIMALS
