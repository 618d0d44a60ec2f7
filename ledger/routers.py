"""Where the log's tables are when `LEDGER_DATABASE_URL` names a database of their own."""

from typing import Any

from django.db.models import Model


class LedgerRouter:
    """Sends the log's records to the database `ledger`; of other records it says nothing.

    Which kind of installation a database belongs to (`ops`), each says for itself.
    """

    def db_for_read(self, model: type[Model], **_hints: Any) -> str | None:
        return "ledger" if model._meta.app_label == "ledger" else None

    db_for_write = db_for_read

    def allow_migrate(self, db: str, app_label: str, **_hints: Any) -> bool | None:
        if app_label == "ops":
            return True
        return db == app_label if "ledger" in {db, app_label} else None
