"""Encrypted values that no key opens: set aside, named, and looked at again, while everything else goes on.

Whoever meets one calls `set_aside`. The list stands in the database: `/metrics` counts it, the back office shows it,
`prune` takes off it what opens again or is gone.
"""

import logging
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from django.apps import apps
from django.db import DatabaseError, transaction
from django.utils import timezone

from config.api.models import UnreadableValue
from config.core.encryption import Unreadable, UnreadableSecret
from config.ops.readings import Reading

logger = logging.getLogger("platform.encryption")

LISTED_MAX = 10_000  # a longer list says nothing more: the keys are wrong


def set_aside(found: UnreadableSecret) -> None:
    """Put a value on the list, and name it in the log when it was not there yet."""
    try:
        with transaction.atomic():
            _, is_new = UnreadableValue.objects.get_or_create(
                kind=found.kind, record_id=found.record_id, defaults={"found_at": timezone.now()}
            )
    except DatabaseError:
        is_new = True  # a database that takes no writes now: what was asked for must not fail for a note about it
    if is_new:
        logger.error("no key of FIELD_ENCRYPTION_KEYS opens %s of %s", found.kind, found.record_id)


def look_again(*, now: datetime) -> dict[str, int]:
    """Take off the list what a key opens by now, and what is gone; return how many."""
    del now
    done = [row.pk for row in UnreadableValue.objects.order_by("pk")[:LISTED_MAX] if not _is_unreadable(row)]
    UnreadableValue.objects.filter(pk__in=done).delete()
    return {"unreadable_values_resolved": len(done)}


def _is_unreadable(row: UnreadableValue) -> bool:
    """Say whether the value is still there and still closed."""
    label, _, column = row.kind.rpartition(".")
    try:
        rows: Any = apps.get_model(label)._default_manager.filter(pk=row.record_id)
    except LookupError:
        return False  # of a version of this program that had such a table
    return isinstance(rows.values_list(column, flat=True).first(), Unreadable)


def measure(*, using: str, now: datetime) -> Iterator[Reading]:
    """Count the list."""
    del now
    yield Reading(
        "platform_unreadable_values",
        f"Encrypted values that were asked for and that no key opens. Counted up to {LISTED_MAX}.",
        UnreadableValue.objects.using(using).all()[: LISTED_MAX + 1].count(),
    )
