"""Which database a model is read from and written to, where there is more than one."""

from typing import Any

from django.conf import settings
from django.db import connections
from django.db.models import Model

from config import replicas

# Rooms whose records a replica may answer for. Not among them: identity and Django's own (who may do what), the kit's
# (idempotency, rate limits), webhooks (a queue and a feed).
_READ_FROM_REPLICAS = frozenset({"credit", "claims", "payments", "staging"})


class ReplicaRouter:
    """Sends what an endpoint reads to the replica that was chosen for its request, and everything else to `default`.

    See Note [What a replica answers]. The ledger is not its business.
    """

    def db_for_read(self, model: type[Model], **hints: Any) -> str | None:
        """Return the replica, or `default`; records that belong to one that was read come from where that came from."""
        if model._meta.app_label == "ledger":
            return None
        alias = replicas.reading_from()
        if alias is None or model._meta.app_label not in _READ_FROM_REPLICAS or connections["default"].in_atomic_block:
            return "default"
        instance = hints.get("instance")
        return alias if instance is None or instance._state.db == alias else "default"

    def db_for_write(self, model: type[Model], **_hints: Any) -> str | None:
        """Return `default`, from which the rest of the request is read too."""
        replicas.leave()
        return None if model._meta.app_label == "ledger" else "default"

    def allow_relation(self, _one: Model, _other: Model, **_hints: Any) -> bool:
        """Let records of a replica refer to those of the primary: they are the same data."""
        return True

    def allow_migrate(self, db: str, _app_label: str, **_hints: Any) -> bool | None:
        """Keep migrations away from replicas."""
        return False if db in settings.DATABASE_REPLICAS else None


class LedgerRouter:
    """Sends the `ledger` app to the database `ledger` (`LEDGER_DATABASE_URL`), and everything else to `default`."""

    def db_for_read(self, model: type[Model], **_hints: Any) -> str:
        """Return the alias that holds `model`."""
        return "ledger" if model._meta.app_label == "ledger" else "default"

    db_for_write = db_for_read

    def allow_migrate(self, db: str, app_label: str, **_hints: Any) -> bool:
        """Keep each database to its own tables."""
        return (db == "ledger") == (app_label == "ledger")
