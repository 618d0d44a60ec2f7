"""Finish abandoned payments, and apply processor events."""

import logging
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import QuerySet

from config.core.ids import INT64_MAX, parse_positive_int64
from config.ops.failed_items import FailedItems
from payments.cards import refunds_and_disputes
from payments.cards import services as card
from payments.cards.models import OPEN, Payment, ProcessorEvent, lease_ends
from payments.cards.processors import base as cards
from payments.cards.processors.base import ChargeResult

logger = logging.getLogger("platform.payments")

BATCH = 20
# The processor retries an event for 3 days. If its payment doesn't exist by then, the event is obsolete.
PARKED, PARKED_MAX = timedelta(days=3), 1_000
_EVENT_LEASE = timedelta(minutes=1)
_SUCCEEDED = "payment_intent.succeeded"
_FAILED = frozenset({"payment_intent.payment_failed", "payment_intent.canceled"})


def reconcile_due(*, now: datetime) -> dict[str, int]:
    """Continue payments with an unknown outcome or an expired lease. Return the number of payments per result."""
    counts = dict.fromkeys(("completed", "failed", "unknown", "errors"), 0)
    items = FailedItems(
        "payment", Payment.objects.filter(status__in=OPEN).order_by("due_at"), lease=lease_ends(now) - now
    )

    def continue_payment(payment: Payment) -> None:
        if payment.is_held(now) or not card.take_over(payment, now=now):
            return  # another worker has the lease
        try:
            card.finish(payment, card.charge_or_find(payment), now=now)
        except card.LeaseLost:
            return
        counts[payment.status.lower()] += 1

    def choose(rows: "QuerySet[Payment]") -> Any:
        return rows.filter(due_at__lte=now).values_list("pk", flat=True)[:BATCH]

    counts["errors"] = items.process(continue_payment, now=now, choose=choose)
    return counts


def receive(event: dict[str, Any], *, now: datetime) -> None:
    """Store and apply a processor event.

    If the event's payment doesn't exist yet, `apply_parked` applies the event later.
    """
    identifier = event.get("id")
    if not isinstance(identifier, str) or not identifier or len(identifier) > 255:
        return
    kind = event.get("type")
    detail: Any = _facts_of(_object(_object(event.get("data")).get("object")), str(kind), _number(event.get("created")))
    with transaction.atomic():
        stored, is_new = ProcessorEvent.objects.get_or_create(
            id=identifier, defaults={"type": str(kind)[:128], "detail": detail, "received_at": now}
        )
    if is_new or stored.applied_at is None:
        apply(stored, now=now)


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _number(value: Any) -> int | None:
    """Return `value` if it is an integer from 0 to 2^63 - 1, otherwise None."""
    return value if type(value) is int and 0 <= value <= INT64_MAX else None


def _facts_of(document: dict[str, Any], kind: str, created: int | None) -> dict[str, Any]:
    """Return the fields to store from the intent, charge, refund, or dispute in an event."""
    metadata = _object(document.get("metadata"))
    facts: dict[str, Any] = {
        "intent": str(document.get("id"))[:255],
        "amount": _number(document.get("amount")),
        "currency": str(document.get("currency"))[:3].lower(),
        "payment_id": str(metadata.get("payment_id", ""))[:20],
        "payment_key": str(metadata.get("payment_key", ""))[:80],
    }
    if not kind.startswith(refunds_and_disputes.ABOUT_CHARGES):
        return facts
    intent = document.get("payment_intent")  # the intent's ID, or the expanded intent
    return {
        **facts,
        "intent": str(intent.get("id") if isinstance(intent, dict) else intent)[:255],
        "object": facts["intent"],
        "refunded": _number(document.get("amount_refunded")),
        "state": str(document.get("status"))[:32],
        "created": created,
    }


def apply(event: ProcessorEvent, *, now: datetime) -> None:
    """Apply an event. Idempotent.

    A success always completes the payment. A failure only applies to an open payment that no process is working on, so
    a failure never reverts a success.
    """
    if event.type.startswith(refunds_and_disputes.ABOUT_CHARGES):
        refunds_and_disputes.apply(event, now=now)
        return
    number = parse_positive_int64(event.detail.get("payment_id", ""))
    payment = Payment.objects.filter(pk=number).first() if number else None
    if number is None or (
        payment is not None and event.detail.get("payment_key", "") not in {"", payment.processor_key}
    ):
        # The event is about another system's payment on the same account.
        ProcessorEvent.objects.filter(pk=event.pk).update(applied_at=now)
        return
    if payment is None:
        return
    stated = (event.detail["amount"], event.detail["currency"])
    if stated != (payment.amount_cents, payment.currency):
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
    """Apply stored events whose payments exist now. Return the numbers of applied events and of errors."""
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
    """Return the IDs of events whose payments exist, oldest first, so that a payment's events are applied in order."""
    events = [
        (pk, kind, _object(detail)) for pk, kind, detail in parked[:PARKED_MAX].values_list("pk", "type", "detail")
    ]
    numbers, intents = {}, {}
    for event, kind, detail in events:
        if kind.startswith(refunds_and_disputes.ABOUT_CHARGES):
            intents[event] = str(detail.get("intent"))
        else:
            numbers[event] = parse_positive_int64(str(detail.get("payment_id", "")))
    here = set(Payment.objects.filter(pk__in={number for number in numbers.values() if number}).values_list("pk"))
    charged = set(Payment.objects.filter(transaction_id__in=set(intents.values())).values_list("transaction_id"))
    return [
        event for event, _, _ in reversed(events) if (numbers.get(event),) in here or (intents.get(event),) in charged
    ]
