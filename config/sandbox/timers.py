"""What of an account waits for a moment: its columns, and the workers that act once the moment has come.

The app that owns a table says in its `ready()` which of its columns move when a developer moves their account's clock;
tests/sandbox/test_timers.py lists the columns that stay on purpose, and fails for one of which neither is said.

Every moment that the code compares with the present moves, and so does what one row compares with it. Evidence does
not: histories, what a hash was computed from, what somebody was told.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial, reduce
from operator import or_
from typing import Any

from django.contrib.auth import get_user_model
from django.db import models, transaction
from django.db.models import F, Q

from config.api.idempotency import retry_deadlocks
from config.api.models import IdempotencyRecord
from config.ops import pruning

Worker = Callable[..., dict[str, int]]


@dataclass(frozen=True, slots=True)
class Timer:
    """Columns that move together, and the look-ups that lead from their row to its account."""

    columns: tuple[str, ...]
    owners: tuple[str, ...]

    def of(self, account_id: int) -> Q:
        return reduce(or_, (Q(**{owner: account_id}) for owner in self.owners))


timers: dict[type[models.Model], Timer] = {IdempotencyRecord: Timer(("created_at",), ("owner",))}
_workers: list[Worker] = []


def register_timer(model: type[models.Model], *columns: str, owner: str, or_owner: str | None = None) -> None:
    """Let `columns` of a table move with the clock of the account that `owner`, or the other look-up, leads to."""
    timers[model] = Timer(columns, (owner,) if or_owner is None else (owner, or_owner))


def register_worker(worker: Worker) -> None:
    """Have `worker(now=…)` called after each step of a clock; it does what is due and returns its counts by name.

    What `prune` does is called besides, after the others.
    """
    _workers.append(worker)


@transaction.atomic
def move(account_id: int, by: timedelta) -> None:
    """Move everything of an account that waits into the past. One move of an account at a time."""
    get_user_model().objects.select_for_update(no_key=True).only("pk").get(pk=account_id)
    for model, timer in timers.items():
        moved: dict[str, Any] = {column: F(column) - by for column in timer.columns}
        model._default_manager.filter(timer.of(account_id)).update(**moved)


def run_workers(*, now: datetime) -> Counter[str]:
    """Do what is due, whoever's it is; return what was done, by name.

    Each worker may be called beside itself. Where two of them wait for each other the database ends one, which begins
    again.
    """
    done: Counter[str] = Counter()
    for worker in (*_workers, pruning.prune):
        done.update(retry_deadlocks(partial(worker, now=now)))
    return done
