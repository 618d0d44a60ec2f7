"""The database router that sends the log's tables to the separate database in `LEDGER_DATABASE_URL`."""

from typing import Any

from django.db.models import Model


class LedgerRouter:
    """Routes the log's tables to the database `ledger`, and makes no decision about other tables.

    Each database has separate `ops` tables, which store the kind of the installation.
    """

    def db_for_read(self, model: type[Model], **_hints: Any) -> str | None:
        return "ledger" if model._meta.app_label == "ledger" else None

    db_for_write = db_for_read

    def allow_migrate(self, db: str, app_label: str, **_hints: Any) -> bool | None:
        if app_label == "ops":
            return True
        return db == app_label if "ledger" in {db, app_label} else None
