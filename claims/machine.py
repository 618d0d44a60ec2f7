"""The statuses of a claim and who may move it between them (specification section 3.2, completed)."""

from config.core.lifecycle import Machine, Role

DRAFT, PENDING, APPROVED, REVOKED, DISPUTED = "draft", "pending", "approved", "revoked", "disputed"

MACHINE = Machine(
    {
        DRAFT: {PENDING: Role.OWNER, APPROVED: Role.REVIEWER, REVOKED: Role.OWNER},
        PENDING: {APPROVED: Role.REVIEWER, DRAFT: Role.OWNER, DISPUTED: Role.EITHER, REVOKED: Role.EITHER},
        APPROVED: {DISPUTED: Role.EITHER, REVOKED: Role.EITHER},
        REVOKED: {},
        # However a dispute ends, somebody else than the one who claims decides it.
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
# What somebody may say about a claim of their own; the others say that somebody else has looked.
OWN_LEVELS = frozenset({SELF_ASSERTED, EVIDENCE_PROVIDED})
