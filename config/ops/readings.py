"""The numbers of an app for `/metrics` (`Declarations.readings`).

Each scrape calls `measure(using=…, now=…)`, which yields readings from the database `using`. The statement for a
reading must use an index, and count at most COUNT_MAX + 1 rows.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from django.db import models, router

from config.core.registration import declared

COUNT_MAX = 10_000  # for a longer queue, the reading is this number plus one


class Reading(NamedTuple):
    """One number for `/metrics`. Its name begins with `platform_` and ends with the unit.

    Consecutive readings with the same name have different labels.
    """

    name: str
    meaning: str
    value: float
    labels: Mapping[str, str] = {}


Measure = Callable[..., Iterable[Reading]]


def measures() -> list[tuple[str, Measure]]:
    return [(router.db_for_write(model), measure) for model, measure in declared("readings")]


def read_queue(
    rows: "models.QuerySet[Any]", name: str, meaning: str, *, since: "str | models.Func", now: datetime
) -> tuple[Reading, Reading]:
    """Return two readings of a queue: its length, and the age in seconds of its oldest row (0 if empty).

    The age begins at the column or expression `since`. Only the first COUNT_MAX + 1 rows are read, so an index should
    support their order.
    """
    waiting = models.F(since) if isinstance(since, str) else since
    first = rows.values(waiting=waiting)[: COUNT_MAX + 1]
    oldest_and_count = first.aggregate(number=models.Count("*"), oldest=models.Min("waiting"))
    age = max(0.0, (now - oldest_and_count["oldest"]).total_seconds()) if oldest_and_count["oldest"] else 0.0
    return (
        Reading(f"platform_{name}", f"{meaning} Counted up to {COUNT_MAX}.", oldest_and_count["number"]),
        Reading(f"platform_{name}_oldest_seconds", f"Age of the oldest of platform_{name}.", age),
    )
