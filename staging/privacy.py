"""The personal data in the tables of this app. `config.core.privacy` describes the format."""

from config.core.privacy import DELETE_ROW, REPLACE, about_staff, none, personal, table

TABLES = {
    "staging.StagedItem": table(
        personal("payload", erase=REPLACE),
        personal("payload_sha256", erase=REPLACE, masked=False),
        about_staff("decided_by", "credential"),
        none("id", "user", "kind", "status", "source", "staged_at", "decided_at"),
        subject="user",
        purpose="data that the account has not approved yet",
    ),
    "staging.Approval": table(
        none("item", "stored_id"),
    ),
    "staging.Note": table(
        personal("title", "text", erase=DELETE_ROW),
        none("id", "user", "created_at"),
        subject="user",
        purpose="notes of the account",
    ),
}  # fmt: skip
