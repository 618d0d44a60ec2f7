"""The columns of an app's tables that move with an account's clock, and the app's workers."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import partial, reduce
from operator import or_
from typing import Any

from django.contrib.auth import get_user_model
from django.db import transaction
from django.db.models import Model, Q

from config.api.idempotency import retry_deadlocks
from config.api.models import IdempotencyRecord
from config.core.ids import uuid7
from config.core.registration import declared


@dataclass(frozen=True, slots=True)
class Timer:
    """Columns of a table that move together, and the look-ups that lead from a row to its account."""

    model: type[Model]
    columns: tuple[str, ...]
    owners: tuple[str, ...]

    def of(self, account_id: int) -> Q:
        return reduce(or_, (Q(**{owner: account_id}) for owner in self.owners))


@dataclass(frozen=True, slots=True)
class Reset:
    account_id: int
    keeper_id: int
    now: datetime


@dataclass(frozen=True, slots=True)
class SandboxRecords:
    """An app's declaration (`Declarations.sandbox`).

    `workers` are called with `now` after each step of a clock; each does what is due and returns its counts by name.
    """

    timers: tuple[Timer, ...] = ()
    workers: tuple[Callable[..., dict[str, int]], ...] = ()
    handed_over: tuple[tuple[type[Model], str], ...] = ()
    tasks: tuple[Callable[[Reset], int], ...] = ()


def timers() -> list[Timer]:
    return [timer for records in declared("sandbox") for timer in records.timers]


def reset(account_id: int, *, now: datetime) -> tuple[int, int]:
    """Make an account as if new; return how many records it lost, and the id of the account that keeps them.

    Raises ValidationFailed while money is on its way.
    """
    return retry_deadlocks(partial(_reset, account_id, now=now))


@transaction.atomic
def _reset(account_id: int, *, now: datetime) -> tuple[int, int]:
    accounts = get_user_model().objects
    accounts.select_for_update(no_key=True).only("pk").get(pk=account_id)
    keeper = accounts.model(username=f"reset-of-{account_id}-{uuid7()}", is_active=False, date_joined=now)
    keeper.set_unusable_password()
    keeper.save(force_insert=True)
    going = Reset(account_id=account_id, keeper_id=keeper.pk, now=now)
    records, _ = IdempotencyRecord.objects.filter(owner_id=account_id).delete()
    told: list[SandboxRecords] = declared("sandbox")
    records += sum(task(going) for one in told for task in one.tasks)
    for model, owner in (pair for one in told for pair in one.handed_over):
        changed: dict[str, Any] = {owner: keeper.pk}
        records += model._default_manager.filter(**{owner: account_id}).update(**changed)
    accounts.filter(pk=account_id).update(date_joined=now)
    return records, keeper.pk
