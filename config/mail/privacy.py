"""The personal data in the tables of this app. `config.core.privacy` defines the terms."""

from config.core.privacy import REPLACE, none, personal, table

TABLES = {
    "mail.OutgoingMail": table(
        personal("recipient", "context", erase=REPLACE),
        personal("recipient_index", secret=True),
        none("id", "template", "language", "status", "attempts", "last_error", "due_at", "claim", "created_at"),
        subject="recipient",
        purpose="mail to the account",
        retention="30 days",
        by_value=True,
    ),
}  # fmt: skip
