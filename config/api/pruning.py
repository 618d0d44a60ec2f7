"""Forgetting what the interface no longer promises to remember, a bounded batch at a time."""

from datetime import datetime, timedelta

from django.db import models

from config.api.idempotency import KEEP_HOURS
from config.api.models import IdempotencyRecord, RateCounter
from config.api.throttling import WINDOW_SECONDS

BATCH = 2_000  # rows per statement: short locks, however much there is to forget


def delete_in_batches(rows: "models.QuerySet[models.Model]") -> int:
    """Delete every row of a queryset, BATCH at a time, each batch a transaction of its own; return how many."""
    total = 0
    while chosen := list(rows.values_list("pk", flat=True)[:BATCH]):
        deleted, _ = rows.model._default_manager.filter(pk__in=chosen).delete()
        total += deleted
        if len(chosen) < BATCH:
            break
    return total


def prune(*, now: datetime) -> dict[str, int]:
    """Forget stored answers after their 72 hours, and counters of minutes gone by."""
    answers = IdempotencyRecord.objects.filter(permanent=False, created_at__lt=now - timedelta(hours=KEEP_HOURS))
    window = int(now.timestamp() // WINDOW_SECONDS)
    return {
        "idempotency_records": delete_in_batches(answers),
        "rate_counters": delete_in_batches(RateCounter.objects.filter(window__lt=window - 1)),
    }
