"""Test random sequences of card payment steps, `reconcile_payments`, and the back office."""

from contextlib import suppress
from datetime import timedelta

import hypothesis.strategies as st
import pytest
from django.utils import timezone
from hypothesis import given

from config.webhooks.models import Event
from payments.cards import services as card
from payments.cards.fees import fee_cents
from payments.cards.models import Payment, PaymentAttempt, ProcessorEvent, SandboxCharge
from payments.cards.processors import base as cards
from payments.cards.processors.base import ChargeResult
from tests.backoffice.conftest import backoffice_client, staff_of
from tests.backoffice.pages import text_of
from tests.commands import run_json
from tests.factories import UserFactory
from tests.payments.card_support import only_payment, process
from tests.properties import examples

OPEN = {"Pending", "Processing", "Unknown"}
# Each status has the allowed next statuses. A failed payment changes only if a charge is proved.
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


def payment_with_requested_charge(user):
    """Create a payment whose charge was requested."""
    now = timezone.now()
    return Payment.objects.create(
        user=user, amount_cents=10_000, fee_amount_cents=fee_cents(10_000), currency="usd", payment_method_id="pm",
        processor="sandbox", processor_key=f"payment-{user.pk}", method_token="pm", due_at=card.lease_ends(now),
        unanswered_since=now, created_at=now,
    )  # fmt: skip


def do_step(step, payment, stale):
    """Run a step as the current holder of the lease, or for `late` as the former holder."""
    action, result_name = step
    now, result = timezone.now(), RESULTS[result_name]
    if action == "take over":
        card.take_over(payment, now=now)
    elif action == "prove":
        if result.outcome == cards.SUCCEEDED:
            card.prove_charge(payment.pk, result, now=now)
    else:
        with suppress(card.LeaseLost):
            card.finish(stale if action == "late" else payment, result, now=now)


@pytest.mark.django_db
def test_random_card_payment_steps_follow_the_status_table_and_charge_only_once():
    @given(st.lists(STEPS, min_size=1, max_size=12))
    @examples(27)
    def walks(steps):
        payment = payment_with_requested_charge(UserFactory())
        stale = Payment.objects.get(pk=payment.pk)
        fixed = ("amount_cents", "fee_amount_cents", "currency", "processor_key", "user_id", "created_at")
        first = {name: getattr(payment, name) for name in fixed}
        charge, completed = None, 0
        for step in steps:
            payment.refresh_from_db()
            before, lines = payment.status, PaymentAttempt.objects.filter(payment=payment).count()
            do_step(step, payment, stale)
            after = Payment.objects.get(pk=payment.pk)
            assert after.status == before or after.status in TABLE[before], step
            assert {name: getattr(after, name) for name in fixed} == first
            if before == "Failed" and after.status != before:
                assert RESULTS[step[1]].outcome == cards.SUCCEEDED
            # The first proved charge is final.
            assert (after.status == "Completed") == (after.transaction_id is not None)
            assert charge is None or after.transaction_id == charge
            charge = after.transaction_id
            assert (after.processed_at is None) == (after.status in OPEN)
            assert (after.failure is not None) == (after.status == "Failed")
            completed += before != "Completed" and after.status == "Completed"
            assert PaymentAttempt.objects.filter(payment=payment).count() >= lines
        events = Event.objects.filter(account_id=payment.user_id)
        assert events.filter(type="payment.completed").count() == completed <= 1
        assert completed == any(
            RESULTS[name].outcome == cards.SUCCEEDED and action != "take over" for action, name in steps
        )

    walks()


def test_card_reconciliation_completes_a_charge_with_a_lost_response_and_fails_an_uncharged_payment(db, api, user, key):
    process(api, user, key=key, payment_method_id="pm_sandbox_timeout")
    assert run_json("reconcile_payments", once=True)["completed"] == 1
    assert only_payment().status == "Completed"
    replay = process(api, user, key=key, payment_method_id="pm_sandbox_timeout")
    assert (replay.status_code, replay.headers["Idempotent-Replayed"]) == (200, "true")
    assert run_json("reconcile_payments", once=True)["completed"] == 0
    process(api, user, payment_method_id="pm_sandbox_error")
    assert run_json("reconcile_payments", once=True)["failed"] == 1
    uncharged = Payment.objects.latest("pk")
    assert (uncharged.status, uncharged.failure) == ("Failed", "not_charged")
    assert SandboxCharge.objects.count() == 1


@pytest.mark.parametrize("status", ["Pending", "Processing"])
def test_card_reconciliation_skips_a_payment_until_its_lease_expires(db, api, user, status):
    process(api, user)
    now = timezone.now()
    Payment.objects.update(status=status, transaction_id=None, processed_at=None, due_at=now + timedelta(seconds=60))
    assert run_json("reconcile_payments", once=True)["completed"] == 0
    Payment.objects.update(due_at=now - timedelta(seconds=1))
    assert run_json("reconcile_payments", once=True)["completed"] == 1
    assert SandboxCharge.objects.count() == 1


@pytest.fixture
def resolved_payment(api, user, settings):
    """Return a payment with a resolved unknown outcome. Its user has a saved method, and its event is stored."""
    settings.PAYMENT_METHODS = "persistent"
    key = "0193e5a0-0000-7000-8000-00000000000a"
    for _ in range(2):
        process(api, user, key=key, payment_method_id="pm_sandbox_timeout", description="Rent for May")
    api.send("/payments/add", {"user_id": user.pk, "account_id": "tok_secret_part_9876", "processor_type": "card"})
    payment = only_payment()
    ProcessorEvent.objects.create(
        id="evt_1", type="payment_intent.succeeded", payment=payment, detail={"amount": 10_000},
        received_at=payment.created_at, applied_at=payment.created_at,
    )  # fmt: skip
    return payment


def test_back_office_search_finds_a_card_payment_with_its_requests_and_responses(
    resolved_payment, user, stranger_api, stranger
):
    process(stranger_api, stranger)
    other = Payment.objects.exclude(pk=resolved_payment.pk).get()
    client = backoffice_client(staff_of("Support"))
    for term in (resolved_payment.pk, f"%23{resolved_payment.pk}", user.pk, user.username):
        content = client.get(f"/admin/payments/payment/?q={term}").content.decode()
        assert f"/payments/payment/{resolved_payment.pk}/change/" in content, term
    assert f"/payments/payment/{other.pk}/change/" not in content
    text = text_of(client.get(f"/admin/payments/payment/{resolved_payment.pk}/change/"))
    ids = (resolved_payment.transaction_id, resolved_payment.processor_key)
    for expected in ("Completed", "100.00 USD", "1.50 USD", "timeout", *ids):
        assert expected in text, expected
    attempts = text.partition("Requests and responses")[2]
    places = [attempts.index(word) for word in ("sent", "unknown", "succeeded")]
    assert places == sorted(places)
