"""The personal data in the tables of this app. `config.core.privacy` defines the terms."""

from config.core.privacy import DELETE_ROW, none, personal, table

TABLES = {
    "api.IdempotencyRecord": table(
        personal("body", erase=DELETE_ROW, masked=False),
        personal("fingerprint", erase=DELETE_ROW, masked=False),
        none("id", "owner", "key", "status", "created_at", "subject", "permanent"),
        subject="owner",
        purpose="repeated requests",
        retention="72 hours, except for card payments",
    ),
    "api.RateCounter": table(
        none("id", "bucket", "window", "used"),
    ),
}  # fmt: skip
