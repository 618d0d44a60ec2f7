"""Handling of a queue's items that fail, so that they can't end or block the worker.

A worker creates a `FailedItems` for its queue, and calls `review` before each batch. An exception of an item is stored
as a `FailedItem`, and the item is retried with increasing delays.

An item can also kill the process, so a `WorkMark` row lists the items of a batch during its processing. If the lease of
the mark ends, the items become suspects, which are processed one by one. After the deaths of three processes, an item
becomes a dead letter. A dead letter waits until an operator retries it in the back office.

A worker that processes single rows needs only `process`:

    items = FailedItems("erasure", Erasure.objects.filter(status=DUE).order_by("id"), lease=timedelta(minutes=5))
    failed = items.process(erase, now=now)

Other workers use the single methods: `review`, `takeable`, `suspects`, `mark`, `attempt`.
"""

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from itertools import chain, islice
from typing import Any, Generic, TypeVar

from django.core import checks
from django.db import transaction
from django.db.models import F, Model, QuerySet

from config.core.leases import contain
from config.ops.checks import DOCTOR, register
from config.ops.models import FailedItem, WorkMark
from config.ops.readings import COUNT_MAX, Reading

Row = TypeVar("Row", bound=Model)

KILLS_MAX = 3
FIRST_WAIT, LONGEST_WAIT = timedelta(minutes=1), timedelta(hours=6)
KILLED = "killed"  # replaces an exception's type if a process died
# At most this number of failed items per kind is loaded. If more items fail, the items are not the cause.
ROWS_MAX = 10_000
KEEP = timedelta(days=30)
STOP = object()  # an item's function returns STOP if all further items would fail


def _keys(rows: "QuerySet[Any]") -> "QuerySet[Any, Any]":
    return rows.values_list("pk", flat=True)


class FailedItems(Generic[Row]):
    """The failed items of one kind. `queue` selects the waiting rows in order.

    A batch must end before `lease` ends. After `failures_max` exceptions, an item becomes a dead letter. Omit
    `failures_max` if the worker limits the attempts itself.
    """

    def __init__(self, kind: str, queue: "QuerySet[Row]", *, lease: timedelta, failures_max: int | None = None) -> None:
        self.kind, self.queue = kind, queue
        self._lease, self._failures_max = lease, failures_max
        self._failed: dict[str, FailedItem] = {}

    def review(self, *, now: datetime) -> None:
        """Convert the marks of dead processes to suspects, and load the failed items.

        Call this before every batch, or at least between the end of a mark's lease and the next claim of its rows. The
        failures of items that left the queue are deleted. Without marks and failures, two statements are sent.
        """
        self._reviewed_at, self._reviewed = now, time.monotonic()
        marks = WorkMark.objects.filter(ends_at__lte=now, kind=self.kind)
        for mark in marks:
            self._note_death(mark, now)
        rows = FailedItem.objects.filter(kind=self.kind).order_by("retry_at")
        self._failed = {row.key: row for row in rows[:ROWS_MAX]}
        if self._failed:
            queued = self.queue.filter(pk__in=list(self._failed)).values_list("pk", flat=True)
            self._forget(self._failed.keys() - {str(key) for key in queued})

    def takeable(self, *, now: datetime) -> "QuerySet[Row]":
        """Return the queue without dead letters, suspects, and items that must still wait for a retry."""
        rows = self._failed.values()
        blocked = [row.key for row in rows if row.dead_at is not None or row.kills or row.retry_at > now]
        return self.queue.exclude(pk__in=blocked) if blocked else self.queue

    def suspects(self, *, now: datetime) -> list[str]:
        """Return the keys of the suspects whose retry is due.

        Process the suspects one by one, each with a separate mark. The suspects with the fewest deaths come first, so
        that they do not wait for the item that causes the deaths.
        """
        rows = [row for row in self._failed.values() if row.kills and row.dead_at is None and row.retry_at <= now]
        return [row.key for row in sorted(rows, key=lambda row: row.kills)]

    def begin(self, keys: Iterable[object]) -> WorkMark:
        """Mark a batch whose processing begins now, with one statement."""
        in_hand: Any = [str(key) for key in keys]
        # The lease begins now, because other batches were processed since `review`.
        began_at = self._reviewed_at + timedelta(seconds=time.monotonic() - self._reviewed)
        return WorkMark.objects.create(kind=self.kind, keys=in_hand, ends_at=began_at + self._lease)

    def end(self, marks: Collection[WorkMark]) -> None:
        """Delete the marks of finished batches, in one statement."""
        if marks:
            WorkMark.objects.filter(pk__in=[mark.pk for mark in marks]).delete()

    @contextmanager
    def mark(self, keys: Iterable[object]) -> Iterator[None]:
        """Mark a batch while the block processes it, with two statements."""
        mark = self.begin(keys)
        try:
            yield
        finally:
            self.end([mark])

    @contextmanager
    def attempt(self, key: object, *, now: datetime) -> Iterator[list[str]]:
        """Store an exception of the block as the item's failure. After a success, delete the item's earlier failures.

        The block gets a list, to which this method appends the name of the exception's type.

        Re-raises errors that the item did not cause: the database is unavailable, or a statement does not match the
        tables.
        """
        errors: list[str] = []
        try:
            yield errors
        except Exception as error:  # noqa: BLE001  any exception of an item is stored as its failure
            errors.append(self.fail(key, error, now=now))
        else:
            self.succeed([key])

    def fail(self, key: object, error: Exception, *, now: datetime) -> str:
        """Store an exception as an item's failure. Return the name of its type."""
        name = contain(error, self.kind, key)
        times = {"first_failed_at": now, "last_failed_at": now, "retry_at": now}
        with transaction.atomic():
            rows = FailedItem.objects.select_for_update()
            row, _ = rows.get_or_create(kind=self.kind, key=str(key), defaults=times)
            row.failures += 1
            row.error, row.last_failed_at = name[:64], now
            row.retry_at = now + min(FIRST_WAIT * 2 ** min(row.failures - 1, 16), LONGEST_WAIT)
            if self._failures_max is not None and row.failures >= self._failures_max:
                row.dead_at = row.dead_at or now
            row.save()
        self._failed[row.key] = row
        return name

    def succeed(self, keys: Iterable[object]) -> None:
        """Delete the failures of items that succeeded. Without failures, no statement is sent."""
        self._forget(self._failed.keys() & {str(key) for key in keys})

    def process(
        self,
        do: Callable[[Row], Any],
        *,
        now: datetime,
        choose: "Callable[[QuerySet[Row]], Iterable[Any]]" = _keys,
        batch: int = 1,
    ) -> int:
        """Call `review`, then `do` for each processable row and each suspect. Return the number of failures.

        `choose` selects the keys to process now. A mark covers up to `batch` keys. `do` manages its own transaction.
        Rows that left the queue are skipped. If `do` returns STOP, the remaining rows wait for the next call.
        """
        self.review(now=now)
        keys, failed = iter(choose(self.takeable(now=now))), 0
        batches = iter(lambda: list(islice(keys, batch)), [])
        for chosen in chain(batches, ([key] for key in self.suspects(now=now))):
            with self.mark(chosen):
                for key in chosen:
                    with self.attempt(key, now=now) as errors:
                        row = self.queue.filter(pk=key).first()
                        result = None if row is None else do(row)
                    failed += len(errors)
                    if not errors and result is STOP:
                        return failed
        return failed

    def _note_death(self, mark: WorkMark, now: datetime) -> None:
        with transaction.atomic():
            if not WorkMark.objects.filter(pk=mark.pk).delete()[0]:
                return  # another process has already stored that the worker died
            times = {"first_failed_at": now, "last_failed_at": now, "retry_at": now}
            rows = [FailedItem(kind=self.kind, key=key, **times) for key in mark.keys]
            FailedItem.objects.bulk_create(rows, ignore_conflicts=True)
            items = FailedItem.objects.filter(kind=self.kind, key__in=mark.keys)
            items.update(kills=F("kills") + 1, error=KILLED, last_failed_at=now, retry_at=now)
            items.filter(kills__gte=KILLS_MAX, dead_at=None).update(dead_at=now)

    def _forget(self, keys: Collection[str]) -> None:
        if keys:
            FailedItem.objects.filter(kind=self.kind, key__in=keys).delete()
            for key in list(keys):
                del self._failed[key]


def failures_at(now: datetime) -> int:
    """Return the number of items that have failed since a command began at `now`."""
    return FailedItem.objects.filter(last_failed_at=now).count()


def read_each(rows: "QuerySet[Row]", fail: Callable[[object, Exception], Any]) -> list[Row]:
    """Return the readable rows. If the query fails, read each row separately, and call `fail` for unreadable rows."""
    try:
        return list(rows)
    except Exception as error:  # noqa: BLE001  any row may have raised it
        contain(error, rows.model._meta.model_name or "", "batch")
    results: list[Row] = []
    for key in list(rows.values_list("pk", flat=True)):
        try:
            results += rows.filter(pk=key)
        except Exception as error:  # noqa: BLE001  this row raised it
            fail(key, error)
    return results


def dead_letters() -> "QuerySet[FailedItem]":
    return FailedItem.objects.filter(dead_at__isnull=False)


def check_dead_letters(**_options: Any) -> list[checks.CheckMessage]:
    kinds = Counter(dead_letters().values_list("kind", flat=True)[: COUNT_MAX + 1])
    if not kinds:
        return [checks.Info("none")]
    counts = ", ".join(f"{kind} {count}" for kind, count in sorted(kinds.items()))
    return [checks.Warning(f"Dead letters: {counts}. Find the cause, then retry them in the back office.")]


def retry(item: FailedItem, *, now: datetime) -> None:
    """Make an item due now. An item that killed a process is processed alone, and at most twice more."""
    FailedItem.objects.filter(pk=item.pk).update(kills=min(item.kills, 1), failures=0, dead_at=None, retry_at=now)


def measure(*, using: str, now: datetime) -> Iterator[Reading]:  # noqa: ARG001  all `measure` functions have this signature
    yield Reading(
        "platform_dead_letters",
        f"Dead letters, which wait for an operator. Counted up to {COUNT_MAX}.",
        dead_letters().using(using)[: COUNT_MAX + 1].count(),
    )


READING = (FailedItem, measure)
register(check_dead_letters, DOCTOR)
