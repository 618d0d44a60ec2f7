"""What `/metrics` shows: the counts of all servers of this machine, and readings that the rooms take in the database.

A room's `measure(using=…, now=…)` returns readings from one database; `settings.MEASURES` names them all. They are
taken anew for every scrape, so each is a statement that an index answers, and stops counting at COUNT_MAX.
"""

import logging
import platform
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from django.apps import apps
from django.conf import settings
from django.db import DatabaseError, InterfaceError, connections, models, router
from django.utils import timezone
from django.utils.module_loading import import_string
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from config.api import counters
from config.api.checkup import Checkup

logger = logging.getLogger("platform.metrics")

# A scrape is answered within two seconds, whatever state a database is in.
READ_SECONDS = 1.5
COUNT_MAX = 10_000  # more is told as one more: a queue of that length needs somebody, however long it is


@dataclass(frozen=True, slots=True)
class Reading:
    """One number, as it is now. Names begin with `platform_` and end with their unit."""

    name: str
    meaning: str
    value: float
    labels: dict[str, str] = field(default_factory=dict)


Measure = Callable[..., Iterable[Reading]]


def read_queue(
    rows: "models.QuerySet[Any]", *, name: str, meaning: str, since: str, now: datetime
) -> tuple[Reading, Reading]:
    """Return the length of a queue, and the age in seconds of its oldest row (0 when empty) by the column `since`.

    Only the first COUNT_MAX + 1 rows are looked at: order `rows` by what an index gives.
    """
    first = rows.values(waiting=models.F(since))[: COUNT_MAX + 1]
    found = first.aggregate(number=models.Count("*"), oldest=models.Min("waiting"))
    age = max(0.0, (now - found["oldest"]).total_seconds()) if found["oldest"] else 0.0
    return (
        Reading(f"platform_{name}", f"{meaning} Counted up to {COUNT_MAX}.", found["number"]),
        Reading(f"platform_{name}_oldest_seconds", f"Age of the oldest of platform_{name}.", age),
    )


class Scrape(Collector):
    """Everything that is told at one scrape; made once, it remembers which database does not answer."""

    def __init__(self, parent: Path) -> None:
        """Read the counts below `parent`, and whatever the rooms measure."""
        self._parent = parent
        by_alias: dict[str, list[Measure]] = {alias: [] for alias in connections}
        for name in settings.MEASURES:
            by_alias[_database_of(name)].append(import_string(name))
        self._checkups = {
            alias: Checkup(lambda alias=alias, measures=measures: _read(alias, measures))  # type: ignore[misc]
            for alias, measures in by_alias.items()
        }
        self._registry = CollectorRegistry()
        self._registry.register(self)

    def text(self) -> bytes:
        """Return the page in Prometheus' text format."""
        return generate_latest(self._registry)

    def collect(self) -> Iterable[Metric]:
        """Yield every metric."""
        info = GaugeMetricFamily("platform_info", "Always 1; the labels say what runs.", labels=["version", "python"])
        info.add_metric([settings.API_VERSION, platform.python_version()], 1)
        yield info
        yield from _merge(self._parent)
        up = GaugeMetricFamily("platform_database_up", "1 when the database answers in time.", labels=["database"])
        readings: dict[str, list[Reading]] = defaultdict(list)
        for alias in self._checkups:
            found = self._ask(alias)
            up.add_metric([alias], found is not None)
            for reading in found or ():
                readings[reading.name].append(reading)
        yield up
        for name, same in readings.items():
            family = GaugeMetricFamily(name, same[0].meaning, labels=sorted(same[0].labels))
            for reading in same:
                family.add_metric([value for _, value in sorted(reading.labels.items())], reading.value)
            yield family

    def _ask(self, alias: str) -> list[Reading] | None:
        """Return what was read in a database, or None when it does not answer in time."""
        try:
            return self._checkups[alias].ask(seconds=READ_SECONDS)
        except (DatabaseError, InterfaceError, TimeoutError) as error:
            logger.warning("no readings from %s: %s", alias, type(error).__name__)
            return None


def _database_of(name: str) -> str:
    """Return the alias of the database that the app of a dotted name writes to."""
    config = apps.get_containing_app_config(name)
    model = next(iter(config.get_models()), None) if config is not None else None
    return router.db_for_write(model) if model is not None else "default"


def _read(alias: str, measures: Iterable[Measure]) -> list[Reading]:
    """Take the readings of one database; runs in a thread of its own."""
    connection = connections[alias]
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            # Nobody waits for a slower statement any more, and the database has better things to do.
            cursor.execute(f"SET statement_timeout = {int(READ_SECONDS * 1000)}")
        else:
            cursor.execute("SELECT 1")
    now = timezone.now()
    return [reading for measure in measures for reading in measure(using=alias, now=now)]


def _merge(parent: Path) -> list[Metric]:
    """Return the sums over all workers of all servers that live."""
    for _attempt in range(3):
        try:
            return list(MultiProcessCollector.merge(counters.live_files(parent)))  # type: ignore[no-untyped-call]
        except FileNotFoundError:
            continue  # a server ended meanwhile
    return []
