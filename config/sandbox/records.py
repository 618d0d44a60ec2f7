"""The columns of an app's tables that move with an account's clock, and the app's workers."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from operator import or_

from django.db.models import Model, Q

from config.api.models import IdempotencyRecord
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
class SandboxRecords:
    """An app's declaration (`Declarations.sandbox`).

    `workers` are called with `now` after each step of a clock; each does what is due and returns its counts by name.
    """

    timers: tuple[Timer, ...] = ()
    workers: tuple[Callable[..., dict[str, int]], ...] = ()


def timers() -> list[Timer]:
    answers = Timer(IdempotencyRecord, ("created_at",), ("owner",))
    return [answers, *(timer for records in declared("sandbox") for timer in records.timers)]
