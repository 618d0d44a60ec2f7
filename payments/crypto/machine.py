"""The statuses of a crypto payment.

    awaiting_signature ──> broadcasting ──> submitted ──> confirmed
        │        ^              │               └──────> failed
        │        └──────────────┘ the node refused
        └──> expired

`broadcasting` is committed before a signed transaction is sent. A payment keeps this status until the platform knows
whether the network has the transaction. The worker resumes interrupted payments by the transaction's hash.
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
# A change to these statuses emits an event.
EMITTED = frozenset({SUBMITTED, CONFIRMED, FAILED, EXPIRED})
