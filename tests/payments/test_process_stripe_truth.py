"""What is believed of Stripe: the intent itself over an old answer, and only what names our payment and our key."""

from datetime import timedelta

import pytest
from django.core.management import call_command
from django.utils import timezone

from payments.cards import services as card
from payments.cards.models import Payment
from payments.cards.processors import base as cards
from payments.cards.processors.base import ChargeResult
from tests.api import assert_error
from tests.payments.card_support import only_payment, process


def test_a_processing_charge_is_completed_by_its_intent(double, api, user, key):
    double.plan = ["processing"]
    assert_error(process(api, user, key=key, payment_method_id="pm_1"), 502, "E5002")
    assert_error(process(api, user, key=key, payment_method_id="pm_1"), 502, "E5002")
    (intent,) = double.intents.values()
    intent.update(status="succeeded", amount_received=intent["amount"])
    # The key still gives the answer of the first time, in which nothing was decided.
    again = process(api, user, key=key, payment_method_id="pm_1")
    assert (again.status_code, again.json()["transaction_id"]) == (200, intent["id"])


def test_a_charge_that_was_processing_and_failed_is_failed_by_the_worker(double, api, user):
    double.plan = ["processing"]
    process(api, user, payment_method_id="pm_1")
    next(iter(double.intents.values()))["status"] = "requires_payment_method"
    call_command("reconcile_payments", "--once")
    assert (only_payment().status, double.charges) == ("Failed", [])


@pytest.mark.parametrize("manner", ["wrong-amount", "wrong-currency"])
def test_an_answer_that_contradicts_the_order_raises_an_alert(double, api, user, caplog, manner):
    double.plan = [manner]
    assert_error(process(api, user, payment_method_id="pm_1"), 502, "E5002")
    assert only_payment().status == "Unknown"
    assert "contradicts" in caplog.text
    assert [record.levelname for record in caplog.records if "contradicts" in record.message] == ["ERROR"]


def test_an_intent_of_another_installation_with_our_number_is_not_taken_for_ours(double, api, user):
    double.plan = ["500-before"]
    process(api, user, payment_method_id="pm_1")
    payment = only_payment()
    double.intents["pi_foreign"] = {
        "id": "pi_foreign", "object": "payment_intent", "amount": payment.amount_cents, "currency": "usd",
        "amount_received": payment.amount_cents, "status": "succeeded", "created": int(timezone.now().timestamp()),
        "metadata": {"payment_id": str(payment.pk), "payment_key": "payment-of-another-installation"},
    }  # fmt: skip
    call_command("reconcile_payments", "--once")
    payment.refresh_from_db()
    assert (payment.status, payment.failure) == ("Failed", "not_charged")


def pass_time(seconds):
    """Let this much time have passed since everything that is known about the payment."""
    payment = only_payment()
    moved = {name: getattr(payment, name) for name in ("created_at", "due_at", "unanswered_since")}
    Payment.objects.update(**{name: moment and moment - timedelta(seconds=seconds) for name, moment in moved.items()})


def test_a_gateway_that_gives_up_twice_does_not_end_a_charge_that_is_under_way(double, api, user, key):
    double.plan = ["504-before", "504-before"]
    for _ in range(4):
        assert_error(process(api, user, key=key, payment_method_id="pm_1"), 502, "E5002")
        pass_time(10)
    assert double.asked[only_payment().processor_key] == 2
    double.come_to_the_end()
    call_command("reconcile_payments", "--once")
    assert (only_payment().status, len(double.charges)) == ("Completed", 1)


def test_a_gateway_that_gave_up_twice_and_charged_nothing_is_believed_after_a_while(double, api, user, key):
    double.plan = ["504-before", "504-before"]
    for _ in range(3):
        assert_error(process(api, user, key=key, payment_method_id="pm_1"), 502, "E5002")
    pass_time(70)
    assert_error(process(api, user, key=key, payment_method_id="pm_1"), 502, "E5001")
    assert (only_payment().failure, double.asked[only_payment().processor_key]) == ("not_charged", 2)


def test_time_in_flight_is_counted_from_the_last_time_the_processor_was_asked(double, api, user, key):
    double.plan = ["504-before", "504-before"]
    process(api, user, key=key, payment_method_id="pm_1")
    pass_time(70)
    assert_error(process(api, user, key=key, payment_method_id="pm_1"), 502, "E5002")
    assert only_payment().status == "Unknown"


def test_a_fenced_holders_result_is_logged_and_decides_nothing(double, api, user):
    double.plan = ["reset-before"]
    process(api, user, payment_method_id="pm_1")
    paused, now = only_payment(), timezone.now()
    card.take_over(paused, now=now)
    assert card.take_over(only_payment(), now=now), "somebody else goes on with it"
    with pytest.raises(card.LeaseLost):
        card.finish(paused, ChargeResult(cards.DECLINED, failure="late"), now=now)
    assert only_payment().status == "Processing"
    last = only_payment().attempts.last()
    assert (last.epoch, last.outcome, last.detail) == (paused.epoch, "declined", {"fenced": True})


def test_a_holder_that_was_fenced_off_still_records_a_charge(double, api, user):
    double.plan = ["reset-before"]
    process(api, user, payment_method_id="pm_1")
    paused, now = only_payment(), timezone.now()
    card.take_over(paused, now=now)
    card.take_over(only_payment(), now=now)
    with pytest.raises(card.LeaseLost):
        card.finish(paused, ChargeResult(cards.SUCCEEDED, transaction_id="pi_late"), now=now)
    assert (only_payment().status, only_payment().transaction_id) == ("Completed", "pi_late")
