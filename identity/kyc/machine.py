from config.core.lifecycle import Machine, Role

REQUIRES_INPUT, PROCESSING, VERIFIED, FAILED = "requires_input", "processing", "verified", "failed"
PENDING_REVIEW, EXPIRED, CANCELED = "pending_review", "expired", "canceled"

MACHINE = Machine(
    {
        REQUIRES_INPUT: {PROCESSING: Role.SYSTEM, EXPIRED: Role.SYSTEM, CANCELED: Role.EITHER},
        PROCESSING: {VERIFIED: Role.SYSTEM, FAILED: Role.SYSTEM, PENDING_REVIEW: Role.SYSTEM},
        PENDING_REVIEW: {VERIFIED: Role.EITHER, FAILED: Role.EITHER},  # reviewer or vendor, the first decides
        VERIFIED: {},
        FAILED: {},
        EXPIRED: {VERIFIED: Role.SYSTEM, FAILED: Role.SYSTEM, PENDING_REVIEW: Role.SYSTEM},  # finished late
        CANCELED: {VERIFIED: Role.SYSTEM, FAILED: Role.SYSTEM, PENDING_REVIEW: Role.SYSTEM},  # finished in another tab
    }
)
# The colors of statuses, including those of API keys.
TONES = {
    "good": (VERIFIED, "active"),
    "bad": (FAILED, "revoked"),
    "wait": (PROCESSING, PENDING_REVIEW),
    "ask": (REQUIRES_INPUT,),
}
REVIEW_PERMISSION = "identity.review_kycverification"
# The person can still continue, so a new attempt cancels these.
OPEN = frozenset({REQUIRES_INPUT, PROCESSING})
# The vendor's result may still change.
UNDECIDED = OPEN | {PENDING_REVIEW, EXPIRED, CANCELED}
# The person submitted nothing, so these do not count as attempts.
UNUSED = frozenset({REQUIRES_INPUT, EXPIRED, CANCELED})
# Decisions. A reviewer must state a reason for each.
DECISIONS = frozenset({VERIFIED, FAILED})
