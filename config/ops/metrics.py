"""The content of `/metrics`: the counts of all servers on this machine, and the readings of `config.ops.readings`."""

import logging
import platform
from collections.abc import Iterable
from contextlib import nullcontext
from functools import partial
from itertools import groupby
from pathlib import Path

from django.conf import settings
from django.db import DatabaseError, InterfaceError, connections, transaction
from django.utils import timezone
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from config.core.leases import contain
from config.ops import request_counts
from config.ops.health import Checkup
from config.ops.readings import Reading, measures

logger = logging.getLogger("platform.metrics")

# A scrape must get its response within 2 s, even if a database hangs.
READ_SECONDS = 1.5


class Scrape(Collector):
    def __init__(self, parent: Path) -> None:
        self._parent = parent
        self._checkups = {alias: Checkup(partial(_read, alias)) for alias in connections}
        self._registry = CollectorRegistry()
        self._registry.register(self)

    def text(self) -> bytes:
        return generate_latest(self._registry)

    def collect(self) -> Iterable[Metric]:
        info = GaugeMetricFamily(
            "platform_info", "Always 1; the labels have the version.", labels=["version", "python"]
        )
        info.add_metric([settings.RELEASE, platform.python_version()], 1)
        yield info
        yield from _merge(self._parent)
        up = GaugeMetricFamily("platform_database_up", "1 if the database responds in time.", labels=["database"])
        readings: list[Reading] = []
        for alias, checkup in self._checkups.items():
            try:
                readings += checkup.ask(seconds=READ_SECONDS)
                up.add_metric([alias], 1)
            except (DatabaseError, InterfaceError, TimeoutError) as error:
                logger.warning("no readings from %s: %s", alias, type(error).__name__)
                up.add_metric([alias], 0)
        yield up
        for (name, meaning), same in groupby(readings, key=lambda reading: reading[:2]):
            family = GaugeMetricFamily(name, meaning)
            for reading in same:
                family.add_sample(name, dict(reading.labels), reading.value)
            yield family


def _read(alias: str) -> list[Reading]:
    connection, now = connections[alias], timezone.now()
    # On SQLite, a transaction would block writers, and statements have no time limit.
    is_postgresql = connection.vendor == "postgresql"
    with transaction.atomic(using=alias) if is_postgresql else nullcontext(), connection.cursor() as cursor:
        # The scrape does not wait longer, so the database should end slower statements.
        cursor.execute(f"SET LOCAL statement_timeout = {int(READ_SECONDS * 1000)}" if is_postgresql else "SELECT 1")
        readings: list[Reading] = []
        for where, measure in measures():
            try:
                readings += measure(using=alias, now=now) if where == alias else ()
            except DatabaseError:
                raise
            except Exception as error:  # noqa: BLE001  a failed measure must not stop other measures
                contain(error, "measure", measure.__module__)
        return readings


def _merge(parent: Path) -> list[Metric]:
    for _attempt in range(3):
        try:
            return list(MultiProcessCollector.merge(request_counts.live_files(parent)))  # type: ignore[no-untyped-call]
        except FileNotFoundError:
            continue  # a server has ended and deleted its files
    return []
