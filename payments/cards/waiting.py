"""What this app adds to the back office beside its pages: a queue, and payments on a person's timeline."""

from datetime import datetime

from config.backoffice import queues, timeline
from config.backoffice.timeline import ENTRIES_MAX, TimelineEntry
from payments.cards.models import UNKNOWN, Payment


def payments_of(person_id: int, since: datetime) -> list[TimelineEntry]:
    """Return the card payments that a person made since a moment; one query."""
    found = Payment.objects.filter(user_id=person_id, created_at__gte=since)
    return [
        TimelineEntry(
            at=payment.processed_at or payment.created_at,
            title=f"Payment {payment.pk}",
            status=payment.status,
            details={"amount_cents": payment.amount_cents, "currency": payment.currency},
        )
        for payment in found.defer("method_token").order_by("-id")[:ENTRIES_MAX]
    ]


timeline.register(payments_of)
queues.register(
    queues.Queue(
        name="payments",
        title="Payments with an unknown outcome",
        permission="payments.view_payment",
        rows=lambda _user, _now: Payment.objects.filter(status=UNKNOWN),
        waiting_since="due_at",
        address=f"/admin/payments/payment/?status__exact={UNKNOWN}",
        calm="Every payment's outcome is known.",
        urgent_days=1,
        rank=40,
    )
)
