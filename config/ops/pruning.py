"""Forgetting what nobody needs any more, a bounded batch at a time.

Every table has an end or is kept on purpose: the app that owns it says which in its `ready()`, and a test fails for a
table of which nobody says anything.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from django.apps import apps
from django.db import models

from config.api.idempotency import KEEP_HOURS
from config.api.models import IdempotencyRecord, RateCounter, UnreadableValue
from config.api.rate_limits import WINDOW_SECONDS

BATCH = 2_000  # rows per statement: short locks, however much there is to forget

Rows = Callable[[datetime], "models.QuerySet[Any]"]
Task = Callable[..., dict[str, int]]

_rules: dict[type[models.Model], tuple[str, Rows]] = {}
_kept: dict[type[models.Model], str] = {}
_tasks: list[Task] = []


def register(model: type[models.Model], name: str, rows: Rows) -> None:
    """Have `prune` delete what `rows(now)` selects of a table, and count it under `name`; in order of registration."""
    _rules[model] = (name, rows)


def keeps(model: type[models.Model], why: str) -> None:
    """Say that a table's rows are not for `prune` to delete, and why."""
    _kept[model] = why


def register_task(task: Task) -> None:
    """Have `prune` call `task(now=…)`, which does what falls due with time and returns its counts by name."""
    _tasks.append(task)


def tables_without_rule() -> list[str]:
    """Return the names of installed models of which neither is said."""
    return [model._meta.label for model in apps.get_models() if model not in _rules and model not in _kept]


def delete_in_batches(rows: "models.QuerySet[Any]") -> int:
    """Delete every row of a queryset, BATCH at a time, each batch a transaction of its own; return how many."""
    total = 0
    while chosen := list(rows.values_list("pk", flat=True)[:BATCH]):
        deleted, by_model = rows.model._default_manager.filter(pk__in=chosen).delete()
        total += by_model.get(rows.model._meta.label, deleted)
        if len(chosen) < BATCH:
            break
    return total


def prune(*, now: datetime) -> dict[str, int]:
    """Delete what every rule selects, then do what else falls due; return the counts by name."""
    counts = {name: delete_in_batches(rows(now)) for name, rows in list(_rules.values())}
    for task in _tasks:
        counts |= task(now=now)
    return counts


def register_own() -> None:
    register(
        IdempotencyRecord,
        "idempotency_records",
        lambda now: IdempotencyRecord.objects.filter(permanent=False, created_at__lt=now - timedelta(hours=KEEP_HOURS)),
    )
    register(
        RateCounter,
        "rate_counters",
        lambda now: RateCounter.objects.filter(window__lt=int(now.timestamp() // WINDOW_SECONDS) - 1),
    )
    keeps(UnreadableValue, "config.ops.unreadable.look_again takes off what opens again")
