"""A card payment under whatever its processor says, in whatever order, to whoever holds or has lost its lease."""

from contextlib import suppress

import hypothesis.strategies as st
import pytest
from django.utils import timezone
from hypothesis import given

from config.webhooks.models import Event
from payments.cards import services as card
from payments.cards.fees import fee_cents
from payments.cards.models import Payment, PaymentAttempt
from payments.cards.processors import base as cards
from payments.cards.processors.base import ChargeResult
from tests.factories import UserFactory
from tests.properties import examples

OPEN = {"Pending", "Processing", "Unknown"}
# What a status may be followed by; a failed payment only by the proof that it was charged after all.
TABLE = {
    "Pending": {"Processing", "Unknown", "Completed", "Failed"},
    "Processing": {"Processing", "Unknown", "Completed", "Failed"},
    "Unknown": {"Processing", "Unknown", "Completed", "Failed"}, "Failed": {"Completed"}, "Completed": set(),
}  # fmt: skip
RESULTS = {
    "succeeded": ChargeResult(cards.SUCCEEDED, transaction_id="ch_1"),
    "succeeded again": ChargeResult(cards.SUCCEEDED, transaction_id="ch_2"),
    "declined": ChargeResult(cards.DECLINED, failure="card_declined"),
    "unknown": ChargeResult(cards.UNKNOWN, server_error=True),
    "unanswered": ChargeResult(cards.UNKNOWN, answered=False),
}
STEPS = st.tuples(st.sampled_from(["finish", "late", "prove", "take over"]), st.sampled_from([*RESULTS]))


def begun(user):
    """A payment whose charge has been asked for."""
    now = timezone.now()
    return Payment.objects.create(
        user=user, amount_cents=10_000, fee_amount_cents=fee_cents(10_000), currency="usd", payment_method_id="pm",
        processor="sandbox", processor_key=f"payment-{user.pk}", method_token="pm", due_at=card.lease_ends(now),
        unanswered_since=now, created_at=now,
    )  # fmt: skip


def do(step, payment, stale):
    """Do one step as the holder of the lease, or as somebody who held it."""
    what, said = step
    now, result = timezone.now(), RESULTS[said]
    if what == "take over":
        card.take_over(payment, now=now)
    elif what == "prove":
        if result.outcome == cards.SUCCEEDED:
            card.prove_charge(payment.pk, result, now=now)
    else:
        with suppress(card.LeaseLost):
            card.finish(stale if what == "late" else payment, result, now=now)


@pytest.mark.django_db
def test_no_walk_leaves_the_table_or_charges_twice():
    @given(st.lists(STEPS, min_size=1, max_size=12))
    @examples(27)
    def walks(steps):
        payment = begun(UserFactory())
        stale = Payment.objects.get(pk=payment.pk)
        fixed = ("amount_cents", "fee_amount_cents", "currency", "processor_key", "user_id", "created_at")
        first = {name: getattr(payment, name) for name in fixed}
        charge, completed = None, 0
        for step in steps:
            payment.refresh_from_db()
            before, lines = payment.status, PaymentAttempt.objects.filter(payment=payment).count()
            do(step, payment, stale)
            after = Payment.objects.get(pk=payment.pk)
            assert after.status == before or after.status in TABLE[before], step
            assert {name: getattr(after, name) for name in fixed} == first
            if before == "Failed" and after.status != before:
                assert RESULTS[step[1]].outcome == cards.SUCCEEDED
            # The charge is what was proved first, and it stays.
            assert (after.status == "Completed") == (after.transaction_id is not None)
            assert charge is None or after.transaction_id == charge
            charge = after.transaction_id
            assert (after.processed_at is None) == (after.status in OPEN)
            assert (after.failure is not None) == (after.status == "Failed")
            completed += before != "Completed" and after.status == "Completed"
            assert PaymentAttempt.objects.filter(payment=payment).count() >= lines
        told = Event.objects.filter(account_id=payment.user_id)
        assert told.filter(type="payment.completed").count() == completed <= 1
        assert completed == any(
            RESULTS[said].outcome == cards.SUCCEEDED and what != "take over" for what, said in steps
        )

    walks()
