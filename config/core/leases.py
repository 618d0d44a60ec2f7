"""Claim due rows of a queue, and contain the error of one item.

`due_at` is the moment at which a row may be claimed next: the end of a lease, or of a wait.
"""

from datetime import datetime, timedelta
from typing import TypeVar

from django.db import transaction
from django.db.models import Model, Q, QuerySet

from config.core.ids import uuid7

Row = TypeVar("Row", bound=Model)

SKEW_MAX = timedelta(minutes=1)


def due(field: str, *, now: datetime, within: timedelta) -> Q:
    """Select rows whose moment has come, or lies much further ahead than `within`, the longest that anybody waits."""
    return Q(**{f"{field}__lte": now}) | Q(**{f"{field}__gt": now + within + SKEW_MAX})


def is_due(moment: datetime, *, now: datetime, within: timedelta) -> bool:
    return moment <= now or moment > now + within + SKEW_MAX


def claim_due(queue: QuerySet[Row], *, limit: int, now: datetime, lease: timedelta) -> QuerySet[Row]:
    """Take up to `limit` due rows of a queue, the longest waiting first; return the taken rows.

    The rows have `due_at`, which moves to the end of the lease, and `claim`, with which alone a result can be stored:
    who was paused for longer than the lease finds another claim there.
    """
    claim, due_rows = uuid7(), queue.filter(due_at__lte=now)
    with transaction.atomic():
        waiting = due_rows.order_by("due_at").select_for_update(skip_locked=True)
        chosen = list(waiting.values_list("pk", flat=True)[:limit])
        if not chosen:
            return queue.none()
        due_rows.filter(pk__in=chosen).update(claim=claim, due_at=now + lease)
    return queue.model._default_manager.filter(pk__in=chosen, claim=claim)
