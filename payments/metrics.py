from collections.abc import Iterator
from datetime import datetime

from config.ops.readings import Reading, read_queue
from payments.cards.models import OPEN, UNKNOWN, Payment
from payments.crypto.machine import BROADCASTING, SUBMITTED
from payments.crypto.models import CryptoPayment


def measure(*, using: str, now: datetime) -> Iterator[Reading]:
    unfinished = Payment.objects.using(using).filter(status__in=OPEN).order_by("due_at")
    yield from read_queue(unfinished, "payments_open", "Card payments without an outcome.", since="created_at", now=now)
    yield from read_queue(
        unfinished.filter(status=UNKNOWN),
        "payments_unknown",
        "Card payments whose result is unknown.",
        since="created_at",
        now=now,
    )
    in_flight = CryptoPayment.objects.using(using).filter(status__in=[BROADCASTING, SUBMITTED]).order_by("id")
    yield from read_queue(
        in_flight, "crypto_payments_open", "Signed transfers that are not confirmed.", since="created_at", now=now
    )


READING = (Payment, measure)
