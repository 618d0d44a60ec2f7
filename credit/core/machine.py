"""The statuses of an application and who may move it between them (specification section 3.1, completed)."""

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
# What who decides may do instead of deciding: the status stays.
COUNTEROFFER = "counteroffer"
IN_REVIEW = (SUBMITTED, UNDER_REVIEW)
DECIDED = frozenset({APPROVED, REJECTED})
# What two reviewers do together, where two decide.
JUDGEMENTS = DECIDED | {COUNTEROFFER}
# In these `application_data` no longer changes: a decision stands on it, or nobody will look at it again.
FROZEN = frozenset({APPROVED, REJECTED, WITHDRAWN, EXPIRED})
# How an application may begin where decisions are made by reviewers.
INITIAL_STATUSES = frozenset({DRAFT, SUBMITTED})
