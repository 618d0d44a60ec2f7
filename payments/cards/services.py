"""Process card payments without double charges and without unrecorded charges.

1. A transaction reserves the idempotency key and stores the payment.
2. The processor is called outside of any transaction, with the payment's processor key.
3. A second transaction stores the outcome, the event, and the response.

If the process dies before step 3, a retry with the same idempotency key, or `reconcile_payments`, takes over the
payment's lease. The new lease holder repeats the call with the same processor key, so the processor never charges
twice. Each takeover increments the epoch. A paused process with an earlier epoch can only record the proof of a charge.

    Pending ──► Completed | Failed | Unknown        on the first attempt
    Unknown, Pending or Processing (lease expired) ──► Processing ──► Completed | Failed | Unknown
    Failed ──► Completed                             only if the processor proves a charge
"""

import logging
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

from django.conf import settings
from django.db import Error, IntegrityError, transaction
from django.db.models import F
from django.utils import timezone

from config.api import idempotency
from config.api.idempotency import Outcome, ReservableKey
from config.core.databases import is_away
from config.core.encryption import UnreadableSecret
from config.core.errors import ValidationFailed
from config.core.faults import fault_point
from config.core.idempotency_keys import RequestInProgress
from config.core.json_text import render_json, rfc3339
from config.webhooks.events import record_event
from payments.cards.currencies import SUPPORTED
from payments.cards.fees import fee_cents
from payments.cards.methods import chargeable_token
from payments.cards.models import (
    COMPLETED,
    FAILED,
    OPEN,
    PATIENCE_MAX,
    PENDING,
    PROCESSING,
    UNKNOWN,
    Payment,
    PaymentAttempt,
    lease_ends,
)
from payments.cards.processors import base as cards
from payments.cards.processors.base import ChargeResult
from payments.cards.processors.sandbox import SandboxProcessor
from payments.cards.processors.stripe import StripeProcessor
from payments.errors import CardDeclined, ProcessorUnavailable

logger = logging.getLogger("platform.payments")

# Processors delete idempotency keys after 24 hours. For payments older than this, the code only searches for a charge.
KEY_TRUSTED = timedelta(hours=20)
# The time limit for work on a payment must be less than the 30 s limit of a request.
WORK_MAX = timedelta(seconds=25)
# A processor can repeat a 5xx response forever. After this number, the code only searches for a charge.
SERVER_ERRORS_MAX = 2


class LeaseLost(Exception):
    """Another process has the payment's lease now, so this process must not write."""


def card_processor(name: str) -> StripeProcessor | SandboxProcessor:
    return StripeProcessor() if name == StripeProcessor.name else SandboxProcessor()


def process(order: dict[str, Any], *, user: Any, key: ReservableKey | None) -> Outcome:
    """Process a payment and return the response.

    `order` contains the payment's columns from the request. Raises ProcessorUnavailable if the outcome is unknown.
    Raises RequestInProgress while another request with the same key is in progress. If a stored payment has no key,
    error messages advise against a retry, because a retry would create a second payment.
    """
    for _ in range(2):
        stored = key.find() if key is not None else None
        if isinstance(stored, Outcome):
            return stored
        if stored is not None:
            return _resume(Payment.objects.get(pk=int(stored)))
        try:
            payment = _begin(order, user=user, key=key)
        except IntegrityError:
            continue  # a concurrent request with the same key stored its payment first
        fault_point("intent-committed")
        try:
            return _finish_payment(payment)
        except Error as error:
            if key is not None or not is_away(error):
                raise
            raise _unavailable(payment) from error
    raise RequestInProgress


def _begin(order: dict[str, Any], *, user: Any, key: ReservableKey | None) -> Payment:
    """Store the payment and reserve the key in a transaction that commits before the request to the processor."""
    now = timezone.now()
    with transaction.atomic():
        token = chargeable_token(order["payment_method_id"], user=user)
        payment = Payment.objects.create(
            **order,
            user=user,
            fee_amount_cents=fee_cents(order["amount_cents"]),
            processor=card_processor(settings.CARD_PROCESSOR).name,
            processor_key=f"payment-{uuid4()}",
            method_token=token,
            idempotency_key=key.key if key is not None else None,
            status=PENDING,
            due_at=lease_ends(now),
            unanswered_since=now,
            created_at=now,
        )
        if key is not None:
            key.reserve(str(payment.pk))
        log_attempt(payment, "charge", "sent", now=now)
    return payment


def _resume(payment: Payment) -> Outcome:
    now = timezone.now()
    if not payment.is_open:
        return _repeat_response(payment)
    # Payments with an unknown outcome can be queried immediately. Other payments wait until the lease expires.
    if payment.status != UNKNOWN and payment.is_held(now):
        raise RequestInProgress(wait=_wait(payment, now))
    if not take_over(payment, now=now):
        return _settled(payment.pk)
    fault_point("taken-over")
    return _finish_payment(payment)


def _settled(payment_id: int) -> Outcome:
    """Return the response that another process has stored.

    Raises RequestInProgress or ProcessorUnavailable if the payment is still open.
    """
    payment = Payment.objects.get(pk=payment_id)
    if not payment.is_open:
        return _repeat_response(payment)
    if payment.idempotency_key is None:
        raise _unavailable(payment)
    raise RequestInProgress(wait=_wait(payment, timezone.now()))


def _wait(payment: Payment, now: datetime) -> timedelta:
    """Return the time that the lease holder still has for its work. After that time, return the rest of the lease."""
    lease = timedelta(seconds=settings.PAYMENT_LEASE_SECONDS)
    working = payment.due_at - lease + WORK_MAX - now
    return working if timedelta() < working else payment.due_at - now


def _unavailable(payment: Payment) -> ProcessorUnavailable:
    """Return the error for an unknown outcome. Without a key, the message advises against a retry."""
    details = {"payment_id": payment.pk, "status": UNKNOWN}
    if payment.idempotency_key is not None:
        return ProcessorUnavailable(details=details)
    message = (
        f"The result of the charge is not known yet. Don't send the payment again. Query GET /v1/payments/{payment.pk}."
    )
    return ProcessorUnavailable(message, details=details)


def take_over(payment: Payment, *, now: datetime) -> bool:
    """Take over the payment's lease, and update `payment`. Return False if another process was faster."""
    changes: dict[str, Any] = {"status": PROCESSING, "epoch": payment.epoch + 1, "due_at": lease_ends(now)}
    action = "look-up" if _only_searches(payment, now) else "charge"
    if action == "charge":
        changes["unanswered_since"] = now
    with transaction.atomic():
        mine = Payment.objects.filter(pk=payment.pk, epoch=payment.epoch, status__in=OPEN)
        if not mine.update(**changes):
            return False
        for name, value in changes.items():
            setattr(payment, name, value)
        log_attempt(payment, action, "sent", now=now)
    return True


def _only_searches(payment: Payment, now: datetime) -> bool:
    return payment.server_errors >= SERVER_ERRORS_MAX or now - payment.created_at > KEY_TRUSTED


def _finish_payment(payment: Payment) -> Outcome:
    result = charge_or_find(payment)
    fault_point("answered")
    try:
        outcome = finish(payment, result, now=timezone.now())
    except LeaseLost:
        return _settled(payment.pk)
    fault_point("outcome-committed")
    if outcome is None:
        raise _unavailable(payment)
    return outcome


def charge_or_find(payment: Payment) -> ChargeResult:
    """Charge the payment, or search for an earlier charge. Requires the lease and no open transaction."""
    processor, now = card_processor(payment.processor), timezone.now()
    if now >= payment.due_at:
        # This process was paused until its lease expired, so another worker may have taken over.
        return ChargeResult(cards.UNKNOWN, answered=False, detail={"error": "lease over"})
    only_searches = _only_searches(payment, now)
    try:
        token = payment.method_token
    except UnreadableSecret:
        # Without the token, the payment can't be charged, but an earlier attempt may have charged it.
        token, only_searches = "", True
    if not only_searches:
        fault_point("before-send")
        result = processor.charge(payment, method_token=token)
        if not (result.server_error and payment.server_errors + 1 >= SERVER_ERRORS_MAX):
            return result
        if result.answered:
            payment.unanswered_since = None
    result = processor.find(payment, now=timezone.now())
    detail = {**result.detail, "looked": True}
    if result.outcome == cards.ABSENT:
        return ChargeResult(cards.DECLINED, failure="not_charged", detail=detail)
    # `server_error` prevents further charge requests after an unknown outcome.
    return replace(result, server_error=result.outcome == cards.UNKNOWN, detail=detail)


def finish(payment: Payment, result: ChargeResult, *, now: datetime) -> Outcome | None:
    """Commit a result, its event, and the stored response if the payment's epoch is current. Updates `payment`.

    Returns the response, or None if the outcome is unknown. Raises LeaseLost if another process has taken over. In that
    case, the function records a proven charge and only logs other results.
    """
    if result.detail.get("error") == "contradiction":
        logger.error("payment %s: the processor's response contradicts the request", payment.pk)
    if result.outcome == cards.UNKNOWN:
        changes: dict[str, Any] = {
            "status": UNKNOWN,
            "server_errors": F("server_errors") + (1 if result.server_error else 0),
            "due_at": now + _patience(payment),
            "unanswered_since": None if result.answered else payment.unanswered_since,
        }
    elif result.outcome == cards.SUCCEEDED:
        changes = {"status": COMPLETED, "transaction_id": result.transaction_id, "processed_at": now, "failure": None}
    else:
        changes = {"status": FAILED, "processed_at": now, "failure": result.failure or "declined"}
    with transaction.atomic():
        leased = Payment.objects.filter(pk=payment.pk, epoch=payment.epoch, status__in=OPEN)
        if leased.update(**changes):
            payment.refresh_from_db(from_queryset=Payment.objects.defer("method_token"))  # the token may be unreadable
            action = "look-up" if result.detail.get("looked") else "charge"
            log_attempt(payment, action, result.outcome, detail=result.detail, now=now)
            _record(payment, now)
            outcome = None if payment.is_open else _outcome_of(payment)
            if outcome is not None and payment.idempotency_key is not None:
                idempotency.complete(owner_id=payment.user_id, key=payment.idempotency_key, outcome=outcome)
            fault_point("before-outcome-commit")
            return outcome
    if result.outcome == cards.SUCCEEDED:
        prove_charge(payment.pk, result, now=now)
    else:
        # Another process determines the outcome, so only log this result.
        log_attempt(payment, "charge", result.outcome, detail={**result.detail, "fenced": True}, now=now)
    raise LeaseLost


def prove_charge(payment_id: int, result: ChargeResult, *, now: datetime) -> None:
    """Record a charge that the processor proves.

    If the payment is open, it is completed, and the process with the payment's lease can no longer change the payment.
    A failed payment is corrected. The correction is logged as an error, because the payer was notified that nothing was
    charged.
    """
    with transaction.atomic():
        stored = Payment.objects.select_for_update().get(pk=payment_id)
        if stored.status == COMPLETED:
            if stored.transaction_id != result.transaction_id:
                logger.error("payment %s: the processor reports a second charge, %s", stored.pk, result.transaction_id)
            return
        if stored.status == FAILED:
            logger.error("payment %s was charged after its status was Failed", stored.pk)
        stored.status, stored.transaction_id, stored.processed_at = COMPLETED, result.transaction_id, now
        stored.failure, stored.epoch = None, stored.epoch + 1
        stored.save(update_fields=["status", "transaction_id", "processed_at", "failure", "epoch"])
        log_attempt(stored, "charge", result.outcome, detail={**result.detail, "late": True}, now=now)
        _record(stored, now)
        if stored.idempotency_key is not None:
            idempotency.complete(owner_id=stored.user_id, key=stored.idempotency_key, outcome=_outcome_of(stored))


def _patience(payment: Payment) -> timedelta:
    """Return the time until the next query for an unknown outcome: 0 s, then 2 s, doubling up to PATIENCE_MAX."""
    tries = payment.epoch - 1
    return min(timedelta(seconds=2**tries), PATIENCE_MAX) if tries else timedelta(0)


def _outcome_of(payment: Payment) -> Outcome:
    if payment.status == FAILED:
        refusal = CardDeclined(details={"payment_id": payment.pk, "failure": payment.failure}).response()
        return Outcome(refusal.status_code, refusal.content)
    content = {
        "amount_cents": payment.amount_cents,
        "payment_id": payment.pk,
        "processed_at": rfc3339(payment.processed_at) if payment.processed_at else None,
        "status": payment.status,
        "transaction_id": payment.transaction_id,
    }
    return Outcome(200, render_json(content))


def _repeat_response(payment: Payment) -> Outcome:
    if payment.idempotency_key is None:
        return _outcome_of(payment)
    stored = idempotency.stored_outcome(payment.user_id, payment.idempotency_key)
    return stored if stored is not None else _outcome_of(payment)


def log_attempt(payment: Payment, action: str, outcome: str, *, now: datetime, detail: Any = None) -> None:
    PaymentAttempt.objects.create(
        payment=payment, epoch=payment.epoch, action=action, outcome=outcome, detail=detail or None, at=now
    )


def _record(payment: Payment, now: datetime) -> None:
    """Emit `payment.completed`, `payment.failed`, or, only after the first attempt, `payment.unknown`."""
    status = payment.status
    if status == UNKNOWN and payment.epoch > 1:
        return
    record_event(f"payment.{status.lower()}", account_id=payment.user_id, now=now, payment_id=payment.pk, status=status)


def check_currency(currency: str) -> str:
    """Return the currency code in lower case. Raises ValidationFailed for an unsupported currency."""
    folded = currency.lower()
    if folded not in SUPPORTED:
        raise ValidationFailed.of_member(
            "currency", "Cards can't be charged in this currency. Send another ISO 4217 code, such as USD."
        )
    return folded
