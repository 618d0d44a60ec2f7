"""Which database a model lives in, when the ledger has one of its own (`LEDGER_DATABASE_URL`)."""

from typing import Any

from django.db.models import Model


class LedgerRouter:
    """Sends the `ledger` app to the database `ledger`, and everything else to `default`."""

    def db_for_read(self, model: type[Model], **_hints: Any) -> str:
        """Return the alias that holds `model`."""
        return "ledger" if model._meta.app_label == "ledger" else "default"

    db_for_write = db_for_read

    def allow_migrate(self, db: str, app_label: str, **_hints: Any) -> bool:
        """Keep each database to its own tables."""
        return (db == "ledger") == (app_label == "ledger")
