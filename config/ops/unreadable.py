"""Encrypted values that no key opens: set aside, named, and looked at again, while everything else goes on.

Whoever meets one calls `set_aside`. The list stands in the database: `/metrics` counts it, the back office shows it,
`prune` takes off it what opens again or is gone.
"""

import logging
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from django.apps import apps
from django.db import DatabaseError, models, transaction
from django.utils import timezone

from config.api.models import UnreadableValue
from config.core.encryption import EncryptedTextField, Unreadable, UnreadableSecret, encrypted_fields, kind_of
from config.ops.doctor import Failed
from config.ops.readings import Reading

logger = logging.getLogger("platform.encryption")

_SAMPLE_ROWS = 3
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
    del now
    done = [row.pk for row in UnreadableValue.objects.order_by("pk")[:LISTED_MAX] if not _is_unreadable(row)]
    UnreadableValue.objects.filter(pk__in=done).delete()
    return {"unreadable_values_resolved": len(done)}


def _is_unreadable(row: UnreadableValue) -> bool:
    label, _, column = row.kind.rpartition(".")
    try:
        rows: Any = apps.get_model(label)._default_manager.filter(pk=row.record_id)
    except LookupError:
        return False  # of a version of this program that had such a table
    return isinstance(rows.values_list(column, flat=True).first(), Unreadable)


def _opens(model: type[models.Model], field: EncryptedTextField) -> tuple[int, int]:
    rows = model._default_manager.filter(**{f"{field.name}__isnull": False}).values_list(field.name, flat=True)
    found = [*rows.order_by("pk")[:_SAMPLE_ROWS], *rows.order_by("-pk")[:_SAMPLE_ROWS]]
    return len(found), sum(not isinstance(value, Unreadable) for value in found)


def check_keys() -> str:
    """Open stored values of each encrypted column: the oldest ones and the newest.

    One row that does not open is set aside when it is needed. A column of which nothing opens was written with other
    keys, unless all that it holds is that one row and the keys fit everywhere else.
    """
    closed, opened, alone = [], 0, True
    for model, field in encrypted_fields():
        seen, readable = _opens(model, field)
        opened += readable
        if seen and not readable:
            closed.append(kind_of(model, field))
            alone = alone and seen <= 2  # one row is seen from both ends
    if closed and not (alone and opened):
        raise Failed(
            f"FIELD_ENCRYPTION_KEYS does not open what is stored in {', '.join(closed)}: "
            "add the key that it was encrypted with."
        )
    return f"{opened} stored values opened"


def measure(*, using: str, now: datetime) -> Iterator[Reading]:
    del now
    yield Reading(
        "platform_unreadable_values",
        f"Encrypted values that were asked for and that no key opens. Counted up to {LISTED_MAX}.",
        UnreadableValue.objects.using(using).all()[: LISTED_MAX + 1].count(),
    )
