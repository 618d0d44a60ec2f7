from config.core.lifecycle import Machine, Role

REQUIRES_INPUT, PROCESSING, VERIFIED, FAILED = "requires_input", "processing", "verified", "failed"
PENDING_REVIEW, EXPIRED, CANCELED = "pending_review", "expired", "canceled"

MACHINE = Machine(
    {
        REQUIRES_INPUT: {PROCESSING: Role.SYSTEM, EXPIRED: Role.SYSTEM, CANCELED: Role.EITHER},
        PROCESSING: {VERIFIED: Role.SYSTEM, FAILED: Role.SYSTEM, PENDING_REVIEW: Role.SYSTEM},
        # The first decision, by a reviewer or by the vendor, is final.
        PENDING_REVIEW: {VERIFIED: Role.EITHER, FAILED: Role.EITHER},
        VERIFIED: {},
        FAILED: {},
        # The applicant finished after the deadline.
        EXPIRED: {VERIFIED: Role.SYSTEM, FAILED: Role.SYSTEM, PENDING_REVIEW: Role.SYSTEM},
        # The applicant finished in another tab.
        CANCELED: {VERIFIED: Role.SYSTEM, FAILED: Role.SYSTEM, PENDING_REVIEW: Role.SYSTEM},
    }
)
# The colors of the statuses of verifications and API keys.
TONES = {
    "good": (VERIFIED, "active"),
    "bad": (FAILED, "revoked"),
    "wait": (PROCESSING, PENDING_REVIEW),
    "ask": (REQUIRES_INPUT,),
}
REVIEW_PERMISSION = "identity.review_kycverification"
# The applicant can still continue these verifications. A new attempt cancels them.
OPEN = frozenset({REQUIRES_INPUT, PROCESSING})
# The vendor's result of these verifications may still change.
UNDECIDED = OPEN | {PENDING_REVIEW, EXPIRED, CANCELED}
# The applicant submitted nothing, so these verifications do not count as attempts.
UNUSED = frozenset({REQUIRES_INPUT, EXPIRED, CANCELED})
# The decisions. A reviewer must state a reason for each decision.
DECISIONS = frozenset({VERIFIED, FAILED})
