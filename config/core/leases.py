"""Claim due rows of a queue, and contain the error of one item.

`due_at` is the moment at which a row may be claimed next: the end of a lease, or of a wait.
"""

import logging
import traceback
from datetime import datetime, timedelta
from typing import TypeVar

from django.db import ProgrammingError, transaction
from django.db.models import Model, QuerySet

from config.core.databases import is_away
from config.core.ids import uuid7

logger = logging.getLogger("platform.worker")

Row = TypeVar("Row", bound=Model)

_TOOK_TOO_LONG = frozenset({"55P03", "57014"})  # lock_not_available, query_canceled


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


def contain(error: Exception, kind: str, key: object) -> str:
    """Log the fault of one item of a queue; return its type's name. Raises the error if it is the database's.

    A database that answers that a lock or a statement took too long is not away: other items may fare better.

    The log has the type and the frames. It lacks the message, which may quote personal data.
    """
    took_too_long = getattr(error.__cause__, "sqlstate", "") in _TOOK_TOO_LONG
    if (is_away(error) and not took_too_long) or isinstance(error, ProgrammingError):
        raise error
    name = type(error).__name__
    frames = "".join(traceback.format_tb(error.__traceback__))
    logger.error("%s %s failed: %s\n%s", kind, key, name, frames)
    return name
