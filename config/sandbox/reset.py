"""An account as if it were new. What tells what happened is never deleted, so what has a history is handed over.

The rows go to a fresh account that nobody can log in to, with their histories, events and deliveries; what was anchored
names the account that it was about, as it did. What has no history is deleted. Keys, log-ins, and what others go by
(providers, offers, scoring models) stay; so do scores, which never change.

The app that owns a table says in its `ready()` what becomes of it; tests/sandbox/test_owners.py lists the
references to accounts that stay on purpose, and fails for one of which neither is said.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from django.contrib.auth import get_user_model
from django.db import models, transaction

from config.api.idempotency import retry_deadlocks
from config.api.models import IdempotencyRecord
from config.core.ids import uuid7


@dataclass(frozen=True, slots=True)
class Reset:
    account_id: int
    keeper_id: int
    now: datetime


Task = Callable[[Reset], int]

# By table: the column that names the account.
owned: dict[type[models.Model], str] = {}
_tasks: list[Task] = []


def register_owned(model: type[models.Model], owner: str) -> None:
    """Have the rows of a table handed over; `owner` is the column that names their account."""
    owned[model] = owner


def register_task(task: Task) -> None:
    """Have `task` called in the transaction, before tables are handed over; it returns how many records it took away.

    It raises ApiError when the account cannot be reset now.
    """
    _tasks.append(task)


def reset(account_id: int, *, now: datetime) -> tuple[int, int]:
    """Make an account as if new; return how many records it has no more, and the id of the account that keeps them.

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
    records += sum(task(going) for task in _tasks)
    for model, owner in owned.items():
        changed: dict[str, Any] = {owner: keeper.pk}
        records += model._default_manager.filter(**{owner: account_id}).update(**changed)
    accounts.filter(pk=account_id).update(date_joined=now)
    return records, keeper.pk
