"""Forgetting what nobody needs any more, a bounded batch at a time.

The app that owns a table says in its `ready()` what of it has an end; tests/config/test_prune.py lists the tables that
are kept on purpose, and fails for one of which neither is said.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from django.db import models

from config.api.idempotency import KEEP_HOURS
from config.api.models import IdempotencyRecord, RateCounter
from config.api.rate_limits import WINDOW_SECONDS

BATCH = 2_000  # rows per statement: short locks, however much there is to forget

Rows = Callable[[datetime], "models.QuerySet[Any]"]
Task = Callable[..., dict[str, int]]

# By table: under which name `prune` counts what it deletes, and which rows that is.
rules: dict[type[models.Model], tuple[str, Rows]] = {
    IdempotencyRecord: (
        "idempotency_records",
        lambda now: IdempotencyRecord.objects.filter(permanent=False, created_at__lt=now - timedelta(hours=KEEP_HOURS)),
    ),
    RateCounter: (
        "rate_counters",
        lambda now: RateCounter.objects.filter(window__lt=int(now.timestamp() // WINDOW_SECONDS) - 1),
    ),
}
_tasks: list[Task] = []


def register(model: type[models.Model], name: str, rows: Rows) -> None:
    """Have `prune` delete what `rows(now)` selects of a table, and count it under `name`; in order of registration."""
    rules[model] = (name, rows)


def register_task(task: Task) -> None:
    """Have `prune` call `task(now=…)`, which does what falls due with time and returns its counts by name."""
    _tasks.append(task)


def delete_in_batches(rows: "models.QuerySet[Any]") -> int:
    total = 0
    while chosen := list(rows.values_list("pk", flat=True)[:BATCH]):
        deleted, by_model = rows.model._default_manager.filter(pk__in=chosen).delete()
        total += by_model.get(rows.model._meta.label, deleted)
        if len(chosen) < BATCH:
            break
    return total


def prune(*, now: datetime) -> dict[str, int]:
    counts = {name: delete_in_batches(rows(now)) for name, rows in rules.values()}
    for task in _tasks:
        counts |= task(now=now)
    return counts
