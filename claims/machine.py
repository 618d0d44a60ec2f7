"""The statuses of a claim, and the role that each transition requires (based on specification section 3.2)."""

from config.core.lifecycle import Machine, Role

DRAFT, PENDING, APPROVED, REVOKED, DISPUTED = "draft", "pending", "approved", "revoked", "disputed"

MACHINE = Machine(
    {
        DRAFT: {PENDING: Role.OWNER, APPROVED: Role.REVIEWER, REVOKED: Role.OWNER},
        PENDING: {APPROVED: Role.REVIEWER, DRAFT: Role.OWNER, DISPUTED: Role.EITHER, REVOKED: Role.EITHER},
        APPROVED: {DISPUTED: Role.EITHER, REVOKED: Role.EITHER},
        REVOKED: {},
        # The claimant can't resolve a dispute about the claim.
        DISPUTED: {APPROVED: Role.REVIEWER, PENDING: Role.REVIEWER, REVOKED: Role.REVIEWER},
    }
)
TONES = {"good": (APPROVED,), "bad": (REVOKED, DISPUTED), "wait": (PENDING,)}

REVIEW_PERMISSION = "claims.review_claim"

PRIVATE, CONDITIONAL, SHARED = "private", "conditional", "shared"
VISIBILITIES = (PRIVATE, CONDITIONAL, SHARED)

SELF_ASSERTED, EVIDENCE_PROVIDED = "self_asserted", "evidence_provided"
SOURCE_VERIFIED, INSTITUTION_VERIFIED = "source_verified", "institution_verified"
LEVELS = (SELF_ASSERTED, EVIDENCE_PROVIDED, SOURCE_VERIFIED, INSTITUTION_VERIFIED)
# The owner can set these levels. Only reviewers can set the other levels.
OWN_LEVELS = frozenset({SELF_ASSERTED, EVIDENCE_PROVIDED})
