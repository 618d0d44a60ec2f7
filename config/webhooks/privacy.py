"""The personal data in the tables of this app. `config.core.privacy` defines the terms."""

from config.core.privacy import DELETE_ROW, REPLACE, none, personal, table

TABLES = {
    "webhooks.EventFeed": table(
        none("account", "last_sequence"),
    ),
    "webhooks.Endpoint": table(
        personal("url", "description", erase=REPLACE, masked=False),
        personal("secret", erase=REPLACE, secret=True),
        personal("previous_secret", secret=True),
        none(
            "id", "account", "client_id", "event_types", "status", "disabled_reason", "disabled_at",
            "previous_secret_until", "secret_version", "secret_proven", "failing_since", "created_at", "updated_at",
            "deleted_at",
        ),
        subject="account",
        purpose="webhooks",
    ),
    "webhooks.Delivery": table(
        personal("attempts", erase=DELETE_ROW, masked=False),
        none(
            "id", "account", "endpoint", "event", "event_type", "status", "due_at", "claim", "is_redelivery",
            "created_at",
        ),
        subject="account",
        purpose="deliveries of webhooks",
    ),
    "webhooks.Event": table(
        personal("object", erase=DELETE_ROW, masked=False),
        none("id", "account", "type", "request_id", "created_at", "sequence"),
        subject="account",
        purpose="events for webhooks",
    ),
}  # fmt: skip
