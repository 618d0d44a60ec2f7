"""What is believed of Stripe: the intent itself over an old answer, and only what names our payment and our key."""

import pytest
from django.core.management import call_command
from django.utils import timezone

from payments.card_models import Payment
from tests.api import assert_error
from tests.payments.card_support import only_payment, process
from tests.payments.stripe_double import StripeDouble


@pytest.fixture
def double(db, settings):
    settings.CARD_PROCESSOR, settings.STRIPE_SECRET_KEY = "stripe", "sk_test_secret"
    with StripeDouble() as server:
        settings.STRIPE_BASE_URL = server.url
        yield server


def test_a_charge_that_was_processing_is_completed_when_the_intent_says_so(double, api, user, key):
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


def test_every_request_names_the_payment_and_its_key(double, api, user):
    process(api, user, payment_method_id="pm_1")
    payment = Payment.objects.get()
    (charge,) = double.charges
    assert charge["metadata"] == {"payment_id": str(payment.pk), "payment_key": payment.processor_key}
