"""The simulated chain for installations without one, marked as such in every answer (specification section 4.1).

The payload is a placeholder without a transfer: signing and sending it moves nothing.
"""

from hashlib import sha256
from typing import Any
from uuid import UUID

from payments.chain.addresses import chain_id_of

_GAS = 21_000


def placeholder_transaction(payment_id: UUID, *, network: str, to_address: str) -> dict[str, Any]:
    return {
        "to": to_address,
        "data": "0x" + f"simulated:{payment_id}".encode().hex(),
        "value": 0,
        "chain_id": chain_id_of(network),
        "nonce": 0,
        "gas": _GAS,
        "max_fee_per_gas": 0,
        "max_priority_fee_per_gas": 0,
    }


def simulated_hash(payment_id: UUID) -> str:
    """Return the one hash that a simulated payment gets; no transaction has it."""
    return "0x" + sha256(f"simulated:{payment_id}".encode()).hexdigest()
