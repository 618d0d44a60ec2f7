"""Queues of waiting records on the landing page (`Declarations.queues`).

One statement counts all queues. It counts at most COUNT_MAX rows of each queue, oldest first, so an index should
support the order of `rows` by `waiting_since`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.core.exceptions import EmptyResultSet
from django.db import connections, router
from django.db.models import F, QuerySet
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.timezone import is_naive, make_aware

from config.backoffice.consoles import may, narrowed
from config.backoffice.html import duration
from config.core.registration import declared

COUNT_MAX = 999


@dataclass(frozen=True)
class Queue:
    """A queue. `rows(user)` selects its rows. The column `waiting_since` determines the age of each row."""

    name: str
    title: str
    permission: str
    rows: Callable[[Any], QuerySet[Any]]
    waiting_since: str  # if `ends` is True, the column contains a row's deadline
    address: str | Callable[[Any], str]
    calm: str
    urgent_days: int | None = None  # the card is red if a row has waited longer; with `ends`, if less time remains
    rank: int = 50  # the page displays lower ranks first
    ends: bool = False
    take: str = ""  # a POST to this URL opens the oldest row

    def address_for(self, user: Any) -> str:
        return self.address(user) if callable(self.address) else self.address


@dataclass(frozen=True, slots=True)
class QueueState:
    queue: Queue
    count: int
    oldest: datetime | None
    address: str

    @property
    def shown_count(self) -> str:
        return f"{COUNT_MAX}+" if self.count > COUNT_MAX else str(self.count)

    @property
    def waits(self) -> timedelta:
        return timezone.now() - self.oldest if self.oldest else timedelta()

    @property
    def note(self) -> str:
        if not self.count or self.oldest is None:
            return "" if self.count else self.queue.calm
        if self.queue.ends and self.waits >= timedelta():
            return f"The first deadline passed {duration(self.waits)} ago."
        if self.queue.ends:
            return f"The first deadline is in {duration(-self.waits)}."
        return f"The oldest has waited {duration(self.waits)}."

    @property
    def is_urgent(self) -> bool:
        if self.queue.urgent_days is None or self.oldest is None:
            return False
        limit = timedelta(days=-self.queue.urgent_days if self.queue.ends else self.queue.urgent_days)
        return self.waits >= limit


def states_of(user: Any) -> list[QueueState]:
    """Return the length and the oldest time of each of the user's queues, with one statement."""
    queues: list[Queue] = declared("queues")
    mine = sorted((queue for queue in queues if may(user, queue.permission)), key=lambda queue: queue.rank)
    if not mine:
        return []
    parts: list[str] = []
    parameters: list[Any] = []
    for number, queue in enumerate(mine):
        rows = narrowed(queue.rows(user), user).order_by(queue.waiting_since).values(waiting=F(queue.waiting_since))
        try:
            statement, row_parameters = rows[: COUNT_MAX + 1].query.sql_with_params()
        except EmptyResultSet:  # the viewer may not see any rows
            parts.append(f"SELECT {number:d} AS number, 0, NULL")
            continue
        parts.append(f"SELECT {number:d} AS number, COUNT(*), MIN(waiting) FROM ({statement}) AS queue_{number:d}")  # noqa: S608
        parameters += row_parameters
    connection = connections[router.db_for_read(mine[0].rows(user).model)]
    with connection.cursor() as cursor:
        cursor.execute(" UNION ALL ".join(parts), parameters)
        waiting_by_number = {number: (count, _moment(oldest)) for number, count, oldest in cursor.fetchall()}
    return [QueueState(queue, *waiting_by_number[at], queue.address_for(user)) for at, queue in enumerate(mine)]


def is_queue(path: str, user: Any) -> bool:
    """Check whether a path is the list of one of the viewer's queues."""
    addresses = (queue.address_for(user) for queue in declared("queues") if may(user, queue.permission))
    return any(path.startswith(address.partition("?")[0]) for address in addresses)


def _moment(value: Any) -> datetime | None:
    """Convert a database value to a datetime. On SQLite, the value is text."""
    moment = parse_datetime(value) if isinstance(value, str) else value
    return make_aware(moment) if moment is not None and is_naive(moment) else moment
