"""Apply refunds and disputes of card payments from processor events.

Events may arrive twice, late, or out of order. Therefore all events are stored, and the refund and dispute state of a
payment is computed from all of its events.
"""

import logging
from datetime import datetime
from typing import Any

from django.db import transaction

from config.webhooks.events import record_event
from payments.cards.models import Payment, ProcessorEvent
from payments.cards.services import log_attempt

logger = logging.getLogger("platform.payments")

_REFUNDED, _REFUND, _DISPUTE = "charge.refunded", ("charge.refund.", "refund."), "charge.dispute."
ABOUT_CHARGES = (_REFUNDED, *_REFUND, _DISPUTE)
_REFUND_FAILED = frozenset({"failed", "canceled"})
# Final dispute states in which the payee has received the money or has refunded it.
_SETTLED = frozenset({"won", "warning_closed", "prevented", "charge_refunded"})
_ENDED = _SETTLED | {"lost"}


def apply(event: ProcessorEvent, *, now: datetime) -> None:
    """Apply a charge, refund, or dispute event. Until a payment has its transaction ID, the event stays stored."""
    payment = Payment.objects.filter(transaction_id=event.detail["intent"]).first()
    if payment is None:
        return
    with transaction.atomic():
        payment = Payment.objects.select_for_update().defer("method_token").get(pk=payment.pk)
        waiting = ProcessorEvent.objects.filter(pk=event.pk, applied_at=None)
        if _contradicts(event, payment):
            logger.error("event %s contradicts payment %s", event.pk, payment.pk)
            waiting.update(applied_at=now)
        elif waiting.update(payment=payment, applied_at=now):
            log_attempt(payment, "event", event.type[-32:], detail=event.detail, now=now)
            _follow(payment, now=now)


def _contradicts(event: ProcessorEvent, payment: Payment) -> bool:
    """Return whether an event contradicts the payment's amount or currency. Disputes may be about another amount."""
    if event.type.startswith(_DISPUTE):
        return False
    detail = event.detail
    if detail["currency"] != payment.currency or detail["amount"] is None or detail["amount"] > payment.amount_cents:
        return True
    if event.type != _REFUNDED:
        return False
    refunded = detail["refunded"]
    return bool(detail["amount"] != payment.amount_cents or refunded is None or refunded > payment.amount_cents)


def _follow(payment: Payment, *, now: datetime) -> None:
    """Compute and store a payment's refund and dispute state, and emit an event for each change."""
    # Version 1.0 stored events without `state`. Those events contain no refund or dispute data.
    events = [event for event in payment.events.all() if "state" in event.detail]
    refunded, disputed = _refunded(events), _disputed(events)
    about: dict[str, Any] = {"payment_id": payment.pk, "status": payment.status}
    if refunded != payment.refunded_cents:
        record_event("payment.refunded", account_id=payment.user_id, now=now, **about)
    if disputed != payment.disputed:
        record_event("payment.disputed", account_id=payment.user_id, now=now, **about, disputed=disputed)
    payment.refunded_cents, payment.disputed = refunded, disputed
    payment.save(update_fields=["refunded_cents", "disputed"])


def _refunded(events: list[ProcessorEvent]) -> int:
    """Return the refunded amount in cents: the charge's latest total, minus refunds that failed after that total."""
    sums: list[tuple[int, int]] = [
        (event.detail["created"] or 0, event.detail["refunded"]) for event in events if event.type == _REFUNDED
    ]
    named_at, named = max(sums, default=(0, 0))
    failed: dict[str, int] = {
        event.detail["object"]: event.detail["amount"]
        for event in events
        if event.type.startswith(_REFUND)
        and event.detail["state"] in _REFUND_FAILED
        and (event.detail["created"] or 0) >= named_at
    }
    return max(0, named - sum(failed.values()))


def _disputed(events: list[ProcessorEvent]) -> bool:
    """Return whether a dispute is open or lost. A final state overrides other states, regardless of the event order."""
    states: dict[str, tuple[bool, int, str]] = {}
    for event in events:
        if event.type.startswith(_DISPUTE):
            detail = event.detail
            state = (detail["state"] in _ENDED, detail["created"] or 0, detail["state"])
            states[detail["object"]] = max(state, states.get(detail["object"], state))
    return any(state not in _SETTLED for _, _, state in states.values())
