"""An app's numbers for `/metrics` (`Declarations.readings`), read from its database for every scrape.

`measure(using=…, now=…)` yields readings from the model's database, `using`. Each reading is a statement that uses an
index and counts at most COUNT_MAX + 1 rows.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from django.db import models, router

from config.core.registration import declared

COUNT_MAX = 10_000  # longer queues are reported as this number plus one


class Reading(NamedTuple):
    """One current number. Names begin with `platform_` and end with their unit.

    Consecutive readings of the same name have different labels.
    """

    name: str
    meaning: str
    value: float
    labels: Mapping[str, str] = {}


Measure = Callable[..., Iterable[Reading]]


def measures() -> list[tuple[str, Measure]]:
    return [(router.db_for_write(model), measure) for model, measure in declared("readings")]


def read_queue(
    rows: "models.QuerySet[Any]", *, name: str, meaning: str, since: str, now: datetime
) -> tuple[Reading, Reading]:
    """Yield the length of a queue, and the age in seconds of its oldest row by the column `since` (0 if empty).

    Only the first COUNT_MAX + 1 rows are read, so an index should support their order.
    """
    first = rows.values(waiting=models.F(since))[: COUNT_MAX + 1]
    oldest_and_count = first.aggregate(number=models.Count("*"), oldest=models.Min("waiting"))
    age = max(0.0, (now - oldest_and_count["oldest"]).total_seconds()) if oldest_and_count["oldest"] else 0.0
    return (
        Reading(f"platform_{name}", f"{meaning} Counted up to {COUNT_MAX}.", oldest_and_count["number"]),
        Reading(f"platform_{name}_oldest_seconds", f"Age of the oldest of platform_{name}.", age),
    )
