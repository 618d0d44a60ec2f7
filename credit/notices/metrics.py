from collections.abc import Iterator
from datetime import datetime

from config.ops.readings import Reading, read_queue
from credit.models import Clock, Notice
from credit.models.notices import UNDELIVERED


def measure(*, using: str, now: datetime) -> Iterator[Reading]:
    undelivered = Notice.objects.using(using).filter(status__in=UNDELIVERED).order_by("created_at")
    meaning = "Notices that have not reached the person yet."
    yield from read_queue(undelivered, name="notices_due", meaning=meaning, since="created_at", now=now)
    late = Clock.objects.using(using).filter(stopped_at__isnull=True, due_at__lte=now).order_by("due_at")
    yield read_queue(late, name="clocks_overdue", meaning="Clocks that ran out.", since="due_at", now=now)[0]


READING = (Notice, measure)
