"""What this room adds to the desk beside its own pages: a queue, and payments on the timeline of an application."""

from typing import Any

from config.desk import queues, timeline
from config.desk.timeline import ENTRIES_MAX, TimelineEntry
from payments.card_models import UNKNOWN, Payment


def payments_of(application: Any) -> list[TimelineEntry]:
    """Return the card payments that the application's person made since it was created; one query."""
    found = Payment.objects.filter(user_id=application.consumer_id, created_at__gte=application.created_at)
    return [
        TimelineEntry(
            at=payment.processed_at or payment.created_at,
            title=f"Payment {payment.pk}",
            status=payment.status,
            details={"amount_cents": payment.amount_cents, "currency": payment.currency},
        )
        for payment in found.defer("method_token").order_by("-id")[:ENTRIES_MAX]
    ]


timeline.register("credit.application", payments_of)
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
