"""A wrong implementation of card payments, which the storm must detect.

It looks up a stored response, charges, and stores the outcome. It stores nothing before the call of the processor, so
that each attempt is a new charge.
"""

import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.system.payments.storm_settings")

from config.wsgi import application

__all__ = ["application"]

from uuid import uuid4

from django.db import IntegrityError, transaction
from django.utils import timezone

from config.core.faults import fault_point
from payments.cards import services as card
from payments.cards.fees import fee_cents
from payments.cards.models import Payment
from payments.cards.processors import base as cards
from payments.errors import ProcessorUnavailable


def look_up_do_store(order, *, user, key):
    """Look up the stored response. If there is none, charge the card and store the outcome."""
    match = key.find()
    if isinstance(match, card.Outcome):
        return match
    now = timezone.now()
    amount, method = order["amount_cents"], order["payment_method_id"]
    payment = Payment(
        user=user, amount_cents=amount, fee_amount_cents=fee_cents(amount), currency="usd", payment_method_id=method,
        processor="stripe", processor_key=f"mutant-{uuid4()}", method_token=method, idempotency_key=key.key,
        due_at=now, created_at=now, pk=uuid4().int >> 70,
    )  # fmt: skip
    fault_point("before-send")
    result = card.card_processor("stripe").charge(payment, method_token=payment.method_token)
    fault_point("answered")
    if result.outcome == cards.UNKNOWN:
        raise ProcessorUnavailable
    payment.status = "Completed" if result.outcome == cards.SUCCEEDED else "Failed"
    payment.transaction_id, payment.processed_at = result.transaction_id, timezone.now()
    outcome = card._outcome_of(payment)
    try:
        with transaction.atomic():
            payment.save(force_insert=True)
            key.reserve(str(payment.pk))
            card.idempotency.complete(owner_id=user.pk, key=key.key, outcome=outcome)
    except IntegrityError:
        return key.find()
    return outcome


card.process = look_up_do_store
