"""What the tests of this app share."""

from config.core.lifecycle import Role

# From, to, whose move it is: written out, so that the table in the code has something to differ from.
TABLE = {
    ("draft", "submitted"): Role.OWNER, ("draft", "withdrawn"): Role.OWNER, ("draft", "expired"): Role.SYSTEM,
    ("submitted", "under_review"): Role.REVIEWER, ("submitted", "pending_documents"): Role.REVIEWER,
    ("submitted", "withdrawn"): Role.OWNER, ("submitted", "expired"): Role.SYSTEM,
    ("under_review", "approved"): Role.REVIEWER, ("under_review", "rejected"): Role.REVIEWER,
    ("under_review", "pending_documents"): Role.REVIEWER, ("under_review", "withdrawn"): Role.OWNER,
    ("under_review", "expired"): Role.SYSTEM, ("pending_documents", "under_review"): Role.EITHER,
    ("pending_documents", "rejected"): Role.REVIEWER, ("pending_documents", "withdrawn"): Role.OWNER,
    ("pending_documents", "expired"): Role.SYSTEM, ("approved", "withdrawn"): Role.OWNER,
    ("approved", "expired"): Role.SYSTEM, ("approved", "under_review"): Role.REVIEWER,
    ("rejected", "under_review"): Role.REVIEWER,
}  # fmt: skip
STATUSES = (
    "draft", "submitted", "under_review", "pending_documents", "approved", "rejected", "withdrawn", "expired",
)  # fmt: skip
# What a rejection says where reviewers decide.
BECAUSE = {"reasons": ["no_credit_file"]}
EVERY_MOVE = [(start, to) for start in STATUSES for to in STATUSES]


def requestable(status):
    """Return the statuses that a request may ask for next."""
    return {to for (start, to), role in TABLE.items() if start == status and role is not Role.SYSTEM}
