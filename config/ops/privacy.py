"""The personal data in the tables of this app. `config.core.privacy` defines the terms."""

from config.core.privacy import DELETE_ROW, LEGITIMATE_INTEREST, none, personal, table

TABLES = {
    "ops.Installation": table(
        none("id", "kind", "encryption"),
    ),
    "ops.RequestLine": table(
        personal(
            "credential", "method", "route", "status", "code", "failed_fields", "duration_ms", "request_id", "at",
            erase=DELETE_ROW, masked=False,
        ),
        none("id", "account_id"),
        subject="account_id",
        purpose="the request log of the account",
        ground=LEGITIMATE_INTEREST,
        retention="7 days",
    ),
    "ops.WorkMark": table(
        none("id", "kind", "keys", "ends_at"),
    ),
    "ops.FailedItem": table(
        none(
            "id", "kind", "key", "failures", "kills", "error", "first_failed_at", "last_failed_at", "retry_at",
            "dead_at",
        ),
    ),
}  # fmt: skip
