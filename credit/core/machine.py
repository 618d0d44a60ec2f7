"""The statuses of an application, and the transitions that each role is allowed (specification section 3.1)."""

from config.core.lifecycle import Machine, Role

DRAFT, SUBMITTED, UNDER_REVIEW, PENDING_DOCUMENTS = "draft", "submitted", "under_review", "pending_documents"
APPROVED, REJECTED, WITHDRAWN, EXPIRED = "approved", "rejected", "withdrawn", "expired"

_WAYS_OUT = {WITHDRAWN: Role.OWNER, EXPIRED: Role.SYSTEM}
_REVIEWED = dict.fromkeys((APPROVED, REJECTED, PENDING_DOCUMENTS), Role.REVIEWER)
MACHINE = Machine(
    {
        DRAFT: {SUBMITTED: Role.OWNER, **_WAYS_OUT},
        SUBMITTED: {UNDER_REVIEW: Role.REVIEWER, PENDING_DOCUMENTS: Role.REVIEWER, **_WAYS_OUT},
        UNDER_REVIEW: {**_REVIEWED, **_WAYS_OUT},
        PENDING_DOCUMENTS: {UNDER_REVIEW: Role.EITHER, REJECTED: Role.REVIEWER, **_WAYS_OUT},
        APPROVED: {**_WAYS_OUT, UNDER_REVIEW: Role.REVIEWER},
        REJECTED: {UNDER_REVIEW: Role.REVIEWER},
        WITHDRAWN: {},
        EXPIRED: {},
    }
)
COUNTEROFFER = "counteroffer"  # an action of reviewers that leaves the status unchanged
IN_REVIEW = (SUBMITTED, UNDER_REVIEW)
DECIDED = frozenset({APPROVED, REJECTED})
# Under four-eyes approval, these actions require two reviewers.
JUDGEMENTS = DECIDED | {COUNTEROFFER}
# In these statuses, `application_data` is frozen, because a decision is based on it or the application has ended.
FROZEN = frozenset({APPROVED, REJECTED, WITHDRAWN, EXPIRED})
# If reviewers decide, a new application must have one of these statuses.
INITIAL_STATUSES = frozenset({DRAFT, SUBMITTED})
