from collections.abc import Iterator
from datetime import datetime

from config.mail.models import PENDING, OutgoingMail
from config.ops.readings import Reading, read_queue


def measure(*, using: str, now: datetime) -> Iterator[Reading]:
    pending = OutgoingMail.objects.using(using).filter(status=PENDING).order_by("due_at")
    yield from read_queue(pending, "mails_pending", "Mails that are not sent yet.", since="created_at", now=now)


READING = (OutgoingMail, measure)
