"""The statuses of a staged item (based on specification section 3.4)."""

from config.core.lifecycle import Machine, Role

STAGED, APPROVED, REJECTED, EXPIRED = "staged", "approved", "rejected", "expired"

MACHINE = Machine(
    {
        STAGED: {APPROVED: Role.OWNER, REJECTED: Role.OWNER, EXPIRED: Role.SYSTEM},
        APPROVED: {},
        REJECTED: {},
        EXPIRED: {},
    }
)
TONES = {"good": (APPROVED,), "bad": (REJECTED,), "wait": (STAGED,)}
