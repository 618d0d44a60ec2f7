from config.core.lifecycle import Machine, Role

REQUIRES_INPUT, PROCESSING, VERIFIED, FAILED = "requires_input", "processing", "verified", "failed"
PENDING_REVIEW, EXPIRED, CANCELED = "pending_review", "expired", "canceled"

MACHINE = Machine(
    {
        REQUIRES_INPUT: {PROCESSING: Role.SYSTEM, EXPIRED: Role.SYSTEM, CANCELED: Role.EITHER},
        PROCESSING: {VERIFIED: Role.SYSTEM, FAILED: Role.SYSTEM, PENDING_REVIEW: Role.SYSTEM},
        PENDING_REVIEW: {VERIFIED: Role.EITHER, FAILED: Role.EITHER},  # the first one wins: a reviewer or the vendor
        VERIFIED: {},
        FAILED: {},
        EXPIRED: {VERIFIED: Role.SYSTEM, FAILED: Role.SYSTEM, PENDING_REVIEW: Role.SYSTEM},  # finished late
        CANCELED: {},
    }
)
# How statuses look, those of API keys among them.
TONES = {
    "good": (VERIFIED, "active"),
    "bad": (FAILED, "revoked"),
    "wait": (PROCESSING, PENDING_REVIEW),
    "ask": (REQUIRES_INPUT,),
}
REVIEW_PERMISSION = "identity.review_kycverification"
# The person may still do something, so a new attempt takes these back.
OPEN = frozenset({REQUIRES_INPUT, PROCESSING})
# The provider may still have news.
UNDECIDED = OPEN | {PENDING_REVIEW, EXPIRED}
# The person submitted nothing, so these do not count as attempts.
UNUSED = frozenset({REQUIRES_INPUT, EXPIRED, CANCELED})
# Decisions. A reviewer gives a reason for each.
DECISIONS = frozenset({VERIFIED, FAILED})
