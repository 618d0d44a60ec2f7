"""The sandbox clock of an account: it moves the account's times into the past, and runs the workers for due items.

The app that owns a table declares the columns that move with the clock (`Declarations.sandbox`); other columns do not.

Every time that the code compares with the current time moves, and so do the times of the same row with which it is
compared. Evidence does not move: histories, the inputs of hashes, and sent notices.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial, reduce
from operator import or_
from typing import Any

from django.contrib.auth import get_user_model
from django.db import transaction
from django.db.models import F, Model, Q
from django.utils import timezone

from config.api.models import IdempotencyRecord
from config.core.databases import retry_deadlocks
from config.core.errors import ValidationFailed
from config.core.leases import contain
from config.core.registration import declared
from config.ops import pruning

ADVANCE_MAX = timedelta(days=400)
# The clock advances in steps, because a key's expiry is announced 14 days before, and a worker must run in that time.
STEP_MAX = timedelta(days=7)
# The limit for an account's creation time, because databases have no time before the year 1.
BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Timer:
    """Columns of a table that move together, and the lookups from a row to its account."""

    model: type[Model]
    columns: tuple[str, ...]
    owners: tuple[str, ...]

    def of(self, account_id: int) -> Q:
        return reduce(or_, (Q(**{owner: account_id}) for owner in self.owners))


@dataclass(frozen=True, slots=True)
class SandboxRecords:
    """An app's declaration (`Declarations.sandbox`).

    After each step of a clock, `workers` are called with `now`. Each worker processes due items, and returns counts by
    name.
    """

    timers: tuple[Timer, ...] = ()
    workers: tuple[Callable[..., dict[str, int]], ...] = ()


def timers() -> list[Timer]:
    answers = Timer(IdempotencyRecord, ("created_at",), ("owner",))
    return [answers, *(timer for records in declared("sandbox") for timer in records.timers)]


def advance(account_id: int, *, seconds: int) -> Counter[str]:
    """Advance an account's clock by `seconds`: its times move, and the workers process due items.

    Return the workers' counts by name. Raises ValidationFailed if the account's creation would be before BEGINNING.
    """
    left = timedelta(seconds=seconds)
    joined = get_user_model().objects.values_list("date_joined", flat=True).get(pk=account_id)
    if joined - left < BEGINNING:
        message = f"The account can't be older than {BEGINNING:%Y}. Use a new account."
        raise ValidationFailed.of_member("advance_seconds", message)
    # A key that expires within the first step must be announced, too.
    done = run_workers(now=timezone.now(), deletes=False)
    while left:
        step = min(left, STEP_MAX)
        retry_deadlocks(partial(move, account_id, step))
        left -= step
        done.update(run_workers(now=timezone.now(), deletes=not left))
    return done


@transaction.atomic
def move(account_id: int, by: timedelta) -> None:
    """Move all timers of an account into the past; a lock serializes the moves of an account."""
    get_user_model().objects.select_for_update(no_key=True).only("pk").get(pk=account_id)
    for timer in timers():
        moved: dict[str, Any] = {column: F(column) - by for column in timer.columns}
        timer.model._default_manager.filter(timer.of(account_id)).update(**moved)


def run_workers(*, now: datetime, deletes: bool = True) -> Counter[str]:
    """Process due items for all accounts; return counts by name. `deletes` also deletes expired rows.

    Each worker tolerates a concurrent run of itself. In a deadlock of two workers, the database aborts one, which is
    retried.
    """
    done: Counter[str] = Counter()
    workers = [worker for records in declared("sandbox") for worker in records.workers]
    # Deletions take 5 times as long as all other work, and only deletions of the last step are visible.
    for worker in (*workers, pruning.prune if deletes else pruning.run_tasks):
        try:
            done.update(retry_deadlocks(partial(worker, now=now)))
        except Exception as error:  # noqa: BLE001  one worker stops no other
            contain(error, "worker", worker.__name__)
    return done
