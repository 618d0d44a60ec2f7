"""What waits on somebody: each app registers its queues, the landing page shows them.

    register(
        Queue(
            name="review",
            title="Applications to review",
            permission="credit.review_application",
            rows=lambda user, now: Application.objects.filter(status__in=(SUBMITTED, UNDER_REVIEW)),
            waiting_since="submitted_at",
            address="/admin/credit/application/?queue=review",
            calm="Nothing to review.",
        )
    )

All queues of a page are asked in one statement. Each is counted up to COUNT_MAX, from its oldest row on, so `rows`
ordered by `waiting_since` should be what an index gives.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connections, router
from django.db.models import F, QuerySet
from django.utils.dateparse import parse_datetime
from django.utils.timezone import is_naive, make_aware

COUNT_MAX = 999


@dataclass(frozen=True)
class Queue:
    """A list of work; `rows(user, now)` gives it, `waiting_since` names the column of its age."""

    name: str
    title: str
    permission: str
    rows: Callable[[Any, datetime], QuerySet[Any]]
    waiting_since: str
    address: str | Callable[[Any], str]
    calm: str
    urgent_days: int | None = None
    rank: int = 50  # the lower, the earlier on the page


@dataclass(frozen=True, slots=True)
class QueueState:
    """A queue as it is now, for one person."""

    queue: Queue
    count: int
    oldest: datetime | None
    address: str

    @property
    def shown_count(self) -> str:
        """Return the count, or that it is more than is counted."""
        return f"{COUNT_MAX}+" if self.count > COUNT_MAX else str(self.count)


_queues: dict[str, Queue] = {}


def register(queue: Queue) -> None:
    """Add a queue, or replace the one of that name; an app does so in its `admin.py`."""
    _queues[queue.name] = queue


def queues_of(user: Any) -> list[Queue]:
    """Return the queues that concern `user`."""
    mine = [queue for queue in _queues.values() if user.has_perm(queue.permission)]
    return sorted(mine, key=lambda queue: queue.rank)


def states_of(queues: Sequence[Queue], *, user: Any, now: datetime) -> list[QueueState]:
    """Return how long each queue is and since when its oldest row waits, in one statement."""
    if not queues:
        return []
    parts: list[str] = []
    parameters: list[Any] = []
    for number, queue in enumerate(queues):
        rows = queue.rows(user, now).order_by(queue.waiting_since).values(waiting=F(queue.waiting_since))
        statement, given = rows[: COUNT_MAX + 1].query.sql_with_params()
        parts.append(f"SELECT {number:d} AS number, COUNT(*), MIN(waiting) FROM ({statement}) AS queue_{number:d}")  # noqa: S608
        parameters += given
    connection = connections[router.db_for_read(queues[0].rows(user, now).model) or "default"]
    with connection.cursor() as cursor:
        cursor.execute(" UNION ALL ".join(parts), parameters)
        found = {number: (count, _moment(oldest)) for number, count, oldest in cursor.fetchall()}
    return [
        QueueState(queue, *found[number], queue.address if isinstance(queue.address, str) else queue.address(user))
        for number, queue in enumerate(queues)
    ]


def _moment(value: Any) -> datetime | None:
    """Return a moment as databases give it: SQLite has only text."""
    moment = parse_datetime(value) if isinstance(value, str) else value
    return make_aware(moment) if moment is not None and is_naive(moment) else moment
