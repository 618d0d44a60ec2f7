"""The statuses of an application and who may move it between them (specification section 3.1, completed)."""

from config.core.lifecycle import Machine, Role

DRAFT, SUBMITTED, UNDER_REVIEW, PENDING_DOCUMENTS = "draft", "submitted", "under_review", "pending_documents"
APPROVED, REJECTED, WITHDRAWN, EXPIRED = "approved", "rejected", "withdrawn", "expired"

MACHINE = Machine(
    {
        DRAFT: {SUBMITTED: Role.OWNER, WITHDRAWN: Role.OWNER, EXPIRED: Role.SYSTEM},
        SUBMITTED: {
            UNDER_REVIEW: Role.REVIEWER,
            PENDING_DOCUMENTS: Role.REVIEWER,
            WITHDRAWN: Role.OWNER,
            EXPIRED: Role.SYSTEM,
        },
        UNDER_REVIEW: {
            APPROVED: Role.REVIEWER,
            REJECTED: Role.REVIEWER,
            PENDING_DOCUMENTS: Role.REVIEWER,
            WITHDRAWN: Role.OWNER,
            EXPIRED: Role.SYSTEM,
        },
        PENDING_DOCUMENTS: {
            UNDER_REVIEW: Role.EITHER,
            REJECTED: Role.REVIEWER,
            WITHDRAWN: Role.OWNER,
            EXPIRED: Role.SYSTEM,
        },
        APPROVED: {WITHDRAWN: Role.OWNER, EXPIRED: Role.SYSTEM, UNDER_REVIEW: Role.REVIEWER},
        REJECTED: {UNDER_REVIEW: Role.REVIEWER},
        WITHDRAWN: {},
        EXPIRED: {},
    }
)
IN_REVIEW = (SUBMITTED, UNDER_REVIEW)
DECIDED = frozenset({APPROVED, REJECTED})
# In these `application_data` no longer changes: a decision stands on it, or nobody will look at it again.
FROZEN = frozenset({APPROVED, REJECTED, WITHDRAWN, EXPIRED})
# How an application may begin where decisions are made by reviewers.
INITIAL_STATUSES = frozenset({DRAFT, SUBMITTED})
