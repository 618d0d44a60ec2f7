"""Personal data in the tables of this app; `config.core.privacy` explains the terms."""

from config.core.privacy import AUDIT_LOG, LEGAL_OBLIGATION, REPLACE, about_staff, none, personal, table

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
        about_staff("author", "mentioned"),
        none("kind", "record_id", "id", "provider", "text", "at"),
    ),
    "backoffice.ReplyTemplate": table(
        none("id", "provider", "use", "name", "text"),
    ),
    "backoffice.SavedView": table(
        about_staff("owner", "name", "query"),
        none("id", "kind"),
    ),
    "admin.LogEntry": table(
        about_staff("user", "change_message", "object_repr"),
        none("id", "action_time", "content_type", "object_id", "action_flag"),
    ),
}  # fmt: skip
