"""Deletion of expired data, a bounded batch at a time.

The app that owns a table declares what of it has an end (`Declarations.prune_rules`). A table without a rule is kept.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import models

from config.api.idempotency import KEEP_HOURS
from config.api.models import IdempotencyRecord, RateCounter
from config.api.rate_limits import WINDOW_SECONDS
from config.core.registration import declared

BATCH = 2_000  # rows per statement: short locks, however much there is to forget

Rows = Callable[[datetime], "models.QuerySet[Any]"]
Task = Callable[..., dict[str, int]]


@dataclass(frozen=True, slots=True)
class Rule:
    """Rows of a table that have an end: `rows(now)` selects them, `name` labels their count."""

    model: type[models.Model]
    name: str
    rows: Rows


def delete_in_batches(rows: "models.QuerySet[Any]") -> int:
    total = 0
    while chosen := list(rows.values_list("pk", flat=True)[:BATCH]):
        deleted, by_model = rows.model._default_manager.filter(pk__in=chosen).delete()
        total += by_model.get(rows.model._meta.label, deleted)
        if len(chosen) < BATCH:
            break
    return total


def prune(*, now: datetime) -> dict[str, int]:
    counts = {rule.name: delete_in_batches(rule.rows(now)) for rule in declared("prune_rules")}
    for task in declared("prune_tasks"):
        counts |= task(now=now)
    return counts


def _answers(now: datetime) -> "models.QuerySet[Any]":
    return IdempotencyRecord.objects.filter(permanent=False, created_at__lt=now - timedelta(hours=KEEP_HOURS))


def _counters(now: datetime) -> "models.QuerySet[Any]":
    return RateCounter.objects.filter(window__lt=int(now.timestamp() // WINDOW_SECONDS) - 1)


# `config.api` and `failed_items` know nothing of pruning.
ANSWERS = Rule(IdempotencyRecord, "idempotency_records", _answers)
COUNTERS = Rule(RateCounter, "rate_counters", _counters)
