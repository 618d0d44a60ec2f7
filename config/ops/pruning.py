"""Deletion of expired data in batches.

The app that owns a table declares its expired rows (`Declarations.prune_rules`). Tables without a rule are not pruned.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from django.db import models

from config.api.idempotency import KEEP_HOURS
from config.api.models import IdempotencyRecord, RateCounter
from config.api.rate_limits import WINDOW_SECONDS
from config.core.registration import declared
from config.ops.failed_items import KEEP, FailedItems
from config.ops.models import FailedItem, RequestLine, WorkMark
from config.ops.request_log import KEPT_DAYS, first_id_at

_LEASE = timedelta(minutes=1)
BATCH = 2_000  # rows per statement; a small number shortens locks


def delete_in_batches(rows: "models.QuerySet[Any]", *, fail: Callable[[Any, Exception], Any]) -> int:
    """Delete rows. Return the number of deleted rows.

    If a batch fails, its rows are deleted one by one, and `fail` is called for each row that can't be deleted.
    """
    total, left = 0, list[Any]()
    while chosen := list((rows.exclude(pk__in=left) if left else rows).values_list("pk", flat=True)[:BATCH]):
        try:
            total += _delete(rows.model, chosen)
        except Exception:  # noqa: BLE001  any row of the batch may have raised it
            for pk in chosen:
                try:
                    total += _delete(rows.model, [pk])
                except Exception as error:  # noqa: BLE001  this row raised it
                    fail(pk, error)
                    left.append(pk)
        if len(chosen) < BATCH:
            break
    return total


def _delete(model: type[models.Model], keys: list[Any]) -> int:
    deleted, by_model = model._default_manager.filter(pk__in=keys).delete()
    return by_model.get(model._meta.label, deleted)


def prune(*, now: datetime) -> dict[str, int]:
    """Delete the rows that the rules select, and run every task. Return the counts by name.

    An error of a row, rule, or task is stored as a failed item, and the remaining work continues.
    """
    counts: dict[str, int] = {}
    items = _failed_items()
    for name, rows in declared("prune_rules"):
        fail = partial(_fail, items, name, now)
        try:
            counts[name] = delete_in_batches(rows(now), fail=fail)
        except Exception as error:  # noqa: BLE001  a failed rule must not stop other rules
            fail("", error)
    counts |= run_tasks(now=now)
    # These items failed in an earlier run, but not in this run.
    FailedItem.objects.filter(kind=items.kind, last_failed_at__lt=now).delete()
    return counts


def run_tasks(*, now: datetime) -> dict[str, int]:
    """Run every task, but no pruning rule. Return the counts by name. A failed task does not stop the other tasks."""
    counts: dict[str, int] = {}
    for task in declared("prune_tasks"):
        try:
            counts |= task(now=now)
        except Exception as error:  # noqa: BLE001  a failed task must not stop other tasks
            _fail(_failed_items(), task.__name__, now, "", error)
    return counts


def _failed_items() -> "FailedItems[Any]":
    return FailedItems("prune", FailedItem.objects.none(), lease=_LEASE)


def _fail(items: "FailedItems[Any]", name: str, now: datetime, pk: Any, error: Exception) -> None:
    items.fail(f"{name} {pk}".strip()[:64], error, now=now)


# This module imports `config.api`, `failed_items`, and `request_log`, so their rules are here.
RULES = {
    "idempotency_records": lambda now: IdempotencyRecord.objects.filter(
        permanent=False, created_at__lt=now - timedelta(hours=KEEP_HOURS)
    ),
    "rate_counters": lambda now: RateCounter.objects.filter(window__lt=int(now.timestamp() // WINDOW_SECONDS) - 1),
    "request_lines": lambda now: RequestLine.objects.filter(
        id__lt=first_id_at(now - timedelta(days=KEPT_DAYS))
    ).order_by("id"),
    "failed_items": lambda now: FailedItem.objects.filter(dead_at=None, last_failed_at__lt=now - KEEP),
    "work_marks": lambda now: WorkMark.objects.filter(ends_at__lt=now - KEEP),
}
