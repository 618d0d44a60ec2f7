"""Moving an account's clock: the columns that wait for a moment, and the workers that act once it has come.

The app that owns a table declares which columns move with the clock (`Declarations.sandbox`); the others do not change.

Every moment that the code compares with the present moves, and so does what one row compares with it. Evidence does not
move: histories, the inputs of hashes, and sent notices.
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
# The clock advances in steps: a key is announced 14 days before it ends, and a worker has to run in between.
STEP_MAX = timedelta(days=7)
# An account's clock can't be moved forever: databases have no time before the year 1.
BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Timer:
    """Columns of a table that move together, and the look-ups from a row to its account."""

    model: type[Model]
    columns: tuple[str, ...]
    owners: tuple[str, ...]

    def of(self, account_id: int) -> Q:
        return reduce(or_, (Q(**{owner: account_id}) for owner in self.owners))


@dataclass(frozen=True, slots=True)
class SandboxRecords:
    """An app's declaration (`Declarations.sandbox`).

    `workers` are called with `now` after each step of a clock; each processes due items, and returns its counts by
    name.
    """

    timers: tuple[Timer, ...] = ()
    workers: tuple[Callable[..., dict[str, int]], ...] = ()


def timers() -> list[Timer]:
    answers = Timer(IdempotencyRecord, ("created_at",), ("owner",))
    return [answers, *(timer for records in declared("sandbox") for timer in records.timers)]


def advance(account_id: int, *, seconds: int) -> Counter[str]:
    """Advance an account's clock by `seconds`: its times move, and the workers process due items.

    Return what they did, by name. Raises ValidationFailed when the clock was moved too often already.
    """
    left = timedelta(seconds=seconds)
    _check_room(account_id, left)
    # A key that ends in less than a step has to be announced as well.
    done = run_workers(now=timezone.now(), deletes=False)
    while left:
        step = min(left, STEP_MAX)
        retry_deadlocks(partial(move, account_id, step))
        left -= step
        done.update(run_workers(now=timezone.now(), deletes=not left))
    return done


def _check_room(account_id: int, by: timedelta) -> None:
    """Raise ValidationFailed if the account's creation would move before BEGINNING."""
    joined = get_user_model().objects.values_list("date_joined", flat=True).get(pk=account_id)
    if joined - by < BEGINNING:
        message = f"The account can't be older than {BEGINNING:%Y}. Use a new account."
        raise ValidationFailed.of_member("advance_seconds", message)


@transaction.atomic
def move(account_id: int, by: timedelta) -> None:
    """Move everything of an account that waits into the past. One move of an account at a time."""
    get_user_model().objects.select_for_update(no_key=True).only("pk").get(pk=account_id)
    for timer in timers():
        moved: dict[str, Any] = {column: F(column) - by for column in timer.columns}
        timer.model._default_manager.filter(timer.of(account_id)).update(**moved)


def run_workers(*, now: datetime, deletes: bool = True) -> Counter[str]:
    """Process due items for all accounts; return the counts by name. `deletes`: whether expired rows are deleted.

    Each worker tolerates a concurrent run of itself. Where two of them wait for each other the database ends one, which
    begins again.
    """
    done: Counter[str] = Counter()
    workers = [worker for records in declared("sandbox") for worker in records.workers]
    # Deletions take 5 times as long as the rest, and only those of the last step are visible.
    for worker in (*workers, pruning.prune if deletes else pruning.run_tasks):
        try:
            done.update(retry_deadlocks(partial(worker, now=now)))
        except Exception as error:  # noqa: BLE001  one worker stops no other
            contain(error, "worker", worker.__name__)
    return done
