"""The sandbox clock of an account. It moves the account's times into the past, and runs the workers for due items.

The app that owns a table declares the columns that the clock moves (`Declarations.sandbox_timers`). These columns
contain the times that code compares with the current time or with each other. The clock does not move evidence:
histories, inputs of hashes, and sent notices.
"""

from collections import Counter
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
# An expiring key is announced 14 days before, so a worker must run within these days.
STEP_MAX = timedelta(days=7)
# Databases can't store times before the year 1, so this is the earliest creation time of an account.
BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Timer:
    """Columns of a table that move together, with lookups from a row to its account."""

    model: type[Model]
    columns: tuple[str, ...]
    owners: tuple[str, ...]

    def of(self, account_id: int) -> Q:
        return reduce(or_, (Q(**{owner: account_id}) for owner in self.owners))


def timers() -> list[Timer]:
    answers = Timer(IdempotencyRecord, ("created_at",), ("owner",))
    return [answers, *declared("sandbox_timers")]


def advance(account_id: int, *, seconds: int) -> Counter[str]:
    """Advance an account's clock by `seconds`. The account's times move, and the workers process due items.

    Returns the workers' counts by name. Raises ValidationFailed if the account's creation time would precede BEGINNING.
    """
    left = timedelta(seconds=seconds)
    joined = get_user_model().objects.values_list("date_joined", flat=True).get(pk=account_id)
    if joined - left < BEGINNING:
        message = (
            f"The advance would move the creation of the account to a time before {BEGINNING:%Y}. Use a new account."
        )
        raise ValidationFailed.of_member("advance_seconds", message)
    # Keys that expire within the first step must be announced before the step.
    done = run_workers(now=timezone.now(), deletes=False)
    while left:
        step = min(left, STEP_MAX)
        retry_deadlocks(partial(move, account_id, step))
        left -= step
        done.update(run_workers(now=timezone.now(), deletes=not left))
    return done


@transaction.atomic
def move(account_id: int, by: timedelta) -> None:
    """Move all timers of an account into the past. A lock serializes concurrent moves."""
    get_user_model().objects.select_for_update(no_key=True).only("pk").get(pk=account_id)
    for timer in timers():
        moved: dict[str, Any] = {column: F(column) - by for column in timer.columns}
        timer.model._default_manager.filter(timer.of(account_id)).update(**moved)


def run_workers(*, now: datetime, deletes: bool = True) -> Counter[str]:
    """Process due items of all accounts. Return counts by name. With `deletes`, also delete expired rows.

    After a deadlock, the aborted worker runs again.
    """
    done: Counter[str] = Counter()
    # Deletions take 5 times as long as all other work, and only the result of the last deletions is visible.
    for worker in (*declared("sandbox_workers"), pruning.prune if deletes else pruning.run_tasks):
        try:
            done.update(retry_deadlocks(partial(worker, now=now)))
        except Exception as error:  # noqa: BLE001  a failed worker must not stop other workers
            contain(error, "worker", worker.__name__)
    return done
