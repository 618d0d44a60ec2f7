"""Which kind of installation a database belongs to: what was tried out never turns into what counts, nor back.

A sandbox's clocks were moved and its decisions played; production's people never asked to be played with; and in
development whoever reaches the server may decide. So none of them opens a database of another, not even to migrate it.
"""

from collections.abc import Sequence

from django.conf import settings
from django.core import checks
from django.db import connections

from config.ops.models import Installation


def check_installation(databases: Sequence[str]) -> list[checks.CheckMessage]:
    """Look for a database of another kind of installation than this process is of."""
    kinds = {alias: _kind_of(alias) for alias in databases}
    found: list[checks.CheckMessage] = [
        checks.Error(
            f"The database {alias!r} is one of ENVIRONMENT={kind}, and this is ENVIRONMENT={settings.ENVIRONMENT}. "
            "Each kind of installation has a database of its own, which is what ENVIRONMENT was at its first "
            "`migrate`. Set DATABASE_URL or LEDGER_DATABASE_URL to another one."
        )
        for alias, kind in kinds.items()
        if kind not in {settings.ENVIRONMENT, None}
    ]
    return found or [checks.Info(settings.ENVIRONMENT)]


def _kind_of(alias: str) -> str | None:
    """Return what a database says that it is; None before its first migration."""
    if Installation._meta.db_table not in connections[alias].introspection.table_names():
        return None
    return Installation.objects.using(alias).values_list("kind", flat=True).first()
