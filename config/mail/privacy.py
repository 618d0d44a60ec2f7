"""Personal data in the tables of this app; `config.core.privacy` explains the terms."""

from config.core.privacy import DELETE_ROW, none, personal, table

TABLES = {
    "mail.OutgoingMail": table(
        personal("recipient", "context", erase=DELETE_ROW),
        none("id", "template", "language", "status", "attempts", "last_error", "due_at", "claim", "created_at"),
        subject="recipient",
        purpose="mail to the account",
    ),
}
