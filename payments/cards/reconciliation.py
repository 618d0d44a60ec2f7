"""Finish abandoned payments, and accept a processor's own proof of an outcome."""

import logging
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import QuerySet

from config.core.ids import parse_positive_int64
from config.ops.failed_items import FailedItems
from payments.cards import services as card
from payments.cards.models import OPEN, Payment, ProcessorEvent, lease_ends, nobody_holds
from payments.cards.processors import base as cards
from payments.cards.processors.base import ChargeResult

logger = logging.getLogger("platform.payments")

BATCH = 20
# The processor itself gives up telling after three days; what has no payment by then will not get one.
PARKED, PARKED_MAX = timedelta(days=3), 1_000
_EVENT_LEASE = timedelta(minutes=1)  # for one event
_SUCCEEDED = "payment_intent.succeeded"
_FAILED = frozenset({"payment_intent.payment_failed", "payment_intent.canceled"})


def reconcile_due(*, now: datetime) -> dict[str, int]:
    """Go on with payments whose outcome is unknown, or whose holder's lease is over; return what became of them."""
    counts = dict.fromkeys(("completed", "failed", "unknown", "errors"), 0)
    items = FailedItems(
        "payment", Payment.objects.filter(status__in=OPEN).order_by("due_at"), lease=lease_ends(now) - now
    )

    def go_on(payment: Payment) -> None:
        if payment.is_held(now) or not card.take_over(payment, now=now):
            return  # another worker's
        try:
            card.finish(payment, card.ask(payment), now=now)
        except card.LeaseLost:
            return
        counts[payment.status.lower()] += 1

    def choose(rows: "QuerySet[Payment]") -> Any:
        return rows.filter(nobody_holds(now)).values_list("pk", flat=True)[:BATCH]

    counts["errors"] = items.process(go_on, now=now, choose=choose)
    return counts


def receive(event: dict[str, Any], *, now: datetime) -> None:
    """Keep a processor's event, once, and act on it; one about a payment that is not here waits for it."""
    identifier = event.get("id")
    if not isinstance(identifier, str) or not identifier or len(identifier) > 255:
        return
    kind = event.get("type")
    detail: Any = _facts_of(_object(_object(event.get("data")).get("object")))
    with transaction.atomic():
        stored, is_new = ProcessorEvent.objects.get_or_create(
            id=identifier, defaults={"type": str(kind)[:128], "detail": detail, "received_at": now}
        )
    if is_new or stored.applied_at is None:
        apply(stored, now=now)


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _facts_of(intent: dict[str, Any]) -> Any:
    metadata = _object(intent.get("metadata"))
    return {
        "intent": str(intent.get("id"))[:255],
        "amount": intent.get("amount") if isinstance(intent.get("amount"), int) else None,
        "currency": str(intent.get("currency"))[:3].lower(),
        "payment_id": str(metadata.get("payment_id", ""))[:20],
        "payment_key": str(metadata.get("payment_key", ""))[:80],
    }


def apply(event: ProcessorEvent, *, now: datetime) -> None:
    """Act on an event; a second time changes nothing. A success is proof and always counts. A failure counts only for a
    payment with an unknown outcome that no process is resolving: it never reverts a success.
    """
    number = parse_positive_int64(event.detail.get("payment_id", ""))
    payment = Payment.objects.filter(pk=number).first() if number else None
    if number is None or (
        payment is not None and event.detail.get("payment_key", "") not in {"", payment.processor_key}
    ):
        # About something that is not ours, on an account that others use, too.
        ProcessorEvent.objects.filter(pk=event.pk).update(applied_at=now)
        return
    if payment is None:
        return
    told = (event.detail["amount"], event.detail["currency"])
    if told != (payment.amount_cents, payment.currency):
        logger.error("event %s contradicts payment %s", event.pk, payment.pk)
    elif event.type == _SUCCEEDED:
        proof = ChargeResult(cards.SUCCEEDED, transaction_id=event.detail["intent"], detail={"event": event.pk})
        card.prove_charge(payment.pk, proof, now=now)
    elif event.type in _FAILED and payment.is_open and not payment.is_held(now) and card.take_over(payment, now=now):
        refusal = ChargeResult(cards.DECLINED, failure=event.type[15:79], detail={"event": event.pk})
        try:
            card.finish(payment, refusal, now=now)
        except card.LeaseLost:
            return
    with transaction.atomic():
        ProcessorEvent.objects.filter(pk=event.pk).update(payment=payment, applied_at=now)
        card.log_attempt(payment, "event", event.type[-32:], detail=event.detail, now=now)


def apply_parked(*, now: datetime) -> dict[str, int]:
    """Act on events whose payments are here by now; return how many were `events`, and how many failed."""
    parked = ProcessorEvent.objects.filter(applied_at=None, received_at__gt=now - PARKED)
    items = FailedItems("processor_event", parked.order_by("-received_at"), lease=_EVENT_LEASE)
    applied = 0

    def apply_one(event: ProcessorEvent) -> None:
        nonlocal applied
        apply(event, now=now)
        applied += 1

    errors = items.process(apply_one, now=now, choose=_with_payments)
    return {"events": applied, "event_errors": errors}


def _with_payments(parked: "QuerySet[ProcessorEvent]") -> list[str]:
    """Return the ids of events whose payments are here. Oldest first: two about one payment keep their order."""
    events = _details(parked[:PARKED_MAX])
    numbers = {event: parse_positive_int64(str(detail.get("payment_id", ""))) for event, detail in events}
    here = set(Payment.objects.filter(pk__in={number for number in numbers.values() if number}).values_list("pk"))
    return [event for event, number in reversed(numbers.items()) if (number,) in here]


def _details(events: "QuerySet[ProcessorEvent]") -> Iterator[tuple[str, dict[str, Any]]]:
    for pk, detail in events.values_list("pk", "detail"):
        yield pk, _object(detail)
