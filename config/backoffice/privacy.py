"""The personal data in the tables of this app. `config.core.privacy` defines the terms."""

from config.core.privacy import (
    AUDIT_LOG,
    LEGAL_OBLIGATION,
    LEGITIMATE_INTEREST,
    REPLACE,
    about_staff,
    none,
    personal,
    table,
)

TABLES = {
    "backoffice.DataAccess": table(
        personal("reason", erase=REPLACE, keep=AUDIT_LOG),
        personal("details", masked=False, keep=AUDIT_LOG),
        about_staff("viewer"),
        none("kind", "record_id", "id", "provider", "subject", "action", "was_masked", "request_id", "at"),
        subject="subject",
        purpose="the audit log of accesses to personal data",
        ground=LEGAL_OBLIGATION,
    ),
    "backoffice.Assignment": table(
        about_staff("assignee", "assigned_by"),
        none("kind", "record_id", "id", "provider", "assigned_at"),
    ),
    "backoffice.Note": table(
        personal("text", erase=REPLACE),
        about_staff("author", "mentioned"),
        none("kind", "record_id", "id", "provider", "at"),
        subject="record_id",
        purpose="notes of reviewers about a record",
        only_subject=True,
        ground=LEGITIMATE_INTEREST,
        by_value=True,
    ),
    "backoffice.ReplyTemplate": table(
        none("id", "provider", "use", "name", "text"),
    ),
    "backoffice.SavedView": table(
        about_staff("owner", "name", "query"),
        none("id", "kind"),
    ),
    "admin.LogEntry": table(
        personal("change_message", "object_repr", erase=REPLACE, secret=True),
        about_staff("user"),
        none("id", "action_time", "content_type", "object_id", "action_flag"),
        subject="object_id",
        purpose="the log of changes by staff",
        ground=LEGITIMATE_INTEREST,
        by_value=True,
    ),
}  # fmt: skip
