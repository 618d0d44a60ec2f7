"""The statuses of a crypto payment.

    awaiting_signature ──> broadcasting ──> submitted ──> confirmed
        │        ^              │               └──────> failed
        │        └──────────────┘ the node refused
        └──> expired

`broadcasting` is committed before a signed transaction is sent. An interrupted payment has this status, and is resumed
by the transaction's hash. A payment keeps this status while it is unknown whether the network has the transaction.
"""

from config.core.lifecycle import Machine, Role

AWAITING_SIGNATURE, BROADCASTING, SUBMITTED = "awaiting_signature", "broadcasting", "submitted"
CONFIRMED, FAILED, EXPIRED = "confirmed", "failed", "expired"

MACHINE = Machine(
    {
        AWAITING_SIGNATURE: {BROADCASTING: Role.EITHER, EXPIRED: Role.SYSTEM},
        BROADCASTING: {SUBMITTED: Role.EITHER, AWAITING_SIGNATURE: Role.EITHER, FAILED: Role.SYSTEM},
        SUBMITTED: {CONFIRMED: Role.SYSTEM, FAILED: Role.SYSTEM},
        CONFIRMED: {},
        FAILED: {},
        EXPIRED: {},
    }
)
# Statuses for which the account gets an event.
EMITTED = frozenset({SUBMITTED, CONFIRMED, FAILED, EXPIRED})
