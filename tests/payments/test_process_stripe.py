"""Test POST /payments/process over HTTP against a Stripe double that simulates faults."""

from datetime import timedelta

import pytest
import stripe
from django.core.management import call_command
from django.utils import timezone

from payments.cards import services as card
from payments.cards.models import Payment
from payments.cards.processors import base as cards
from payments.cards.processors import stripe as adapter
from payments.cards.processors.base import ChargeResult
from tests.api import assert_error
from tests.payments.card_support import only_payment, process

TOKEN = "pm_card_visa"


def pay(api, user, key=None, **changes):
    return process(api, user, key=key, **{"payment_method_id": TOKEN, **changes})


def test_requests_to_stripe_contain_every_required_field_and_payments_store_no_secret(db, double, api, user):
    body = pay(api, user, provider_account_id="acct_7", description="Rent").json()
    assert body["status"] == "Completed"
    sent = double.received[0]
    headers, payment = sent.headers, only_payment()
    assert (sent.method, sent.path) == ("POST", "/v1/payment_intents")
    assert headers["Stripe-Version"] == adapter.API_VERSION
    assert headers["Idempotency-Key"] == payment.processor_key
    assert headers["Authorization"] == "Bearer sk_test_secret"
    assert headers["Content-Type"] == "application/x-www-form-urlencoded"
    for member in (b"amount=10000", b"currency=usd", b"confirm=true", b"transfer_data%5Bdestination%5D=acct_7",
                   b"application_fee_amount=150"):  # fmt: skip
        assert member in sent.data
    assert double.charges[0]["metadata"] == {"payment_id": str(payment.pk), "payment_key": payment.processor_key}
    assert body["transaction_id"] == double.charges[0]["id"]
    assert "sk_test" not in str([attempt.detail for attempt in payment.attempts.all()])
    pay(api, user)
    assert b"application_fee_amount" not in double.received[-1].data, "it has no destination"


def test_payment_declined_by_stripe_is_final(db, double, api, user, key):
    first = pay(api, user, key, payment_method_id="pm_declined")
    assert_error(first, 502, "E5001")
    assert pay(api, user, key, payment_method_id="pm_declined").content == first.content
    assert (only_payment().failure, double.charges) == ("generic_decline", [])
    assert_error(pay(api, user, payment_method_id="pm_requires_action"), 502, "E5001")
    assert [intent["status"] for intent in double.intents.values()][-1] == "canceled"


@pytest.mark.parametrize(
    "behavior",
    ["500-before", "500-after", "reset-before", "reset-after", "html", "truncated", "redirect", "wrong-amount",
     "wrong-currency", "processing"],
)  # fmt: skip
def test_retry_after_an_unclear_stripe_response_charges_only_once(db, double, api, user, key, behavior, caplog):
    double.plan = [behavior]
    assert_error(pay(api, user, key), 502, "E5002")
    logged = [record.levelname for record in caplog.records if "contradicts" in record.message]
    assert logged == (["ERROR"] if behavior.startswith("wrong") else [])
    assert only_payment().status == "Unknown"
    assert all(sent.path != "/elsewhere" for sent in double.received), "a redirect is not followed"
    if behavior == "processing":
        intent = next(iter(double.intents.values()))
        intent |= {"status": "succeeded", "amount_received": intent["amount"]}
        double.answers[only_payment().processor_key] = (200, dict(intent))
    if behavior == "500-before":
        # Stripe replays its error. The platform searches, finds no charge, and returns E5001.
        assert_error(pay(api, user, key), 502, "E5001")
        assert double.charges == []
        return
    final = pay(api, user, key)
    assert final.status_code == 200, final.content
    assert len(double.charges_of(only_payment().pk)) == 1
    assert pay(api, user, key).content == final.content


def test_stripe_timeout_or_outage_leaves_the_payment_outcome_unknown(
    double, stripe_settings, api, user, key, monkeypatch
):
    monkeypatch.setattr(adapter, "READ_TIMEOUT_SECONDS", 0.2)
    double.plan, double.hang_seconds = ["hang-after"], 0.6
    assert_error(pay(api, user, key), 502, "E5002")
    assert pay(api, user, key).status_code == 200
    assert len(double.charges) == 1
    stripe_settings.STRIPE_BASE_URL = "http://127.0.0.1:9"
    assert_error(pay(api, user), 502, "E5002")
    assert Payment.objects.latest("pk").status == "Unknown"


def test_failing_stripe_charge_is_sent_at_most_twice(db, double, api, user, key):
    double.plan = ["500-before"]
    pay(api, user, key)
    pay(api, user, key)
    pay(api, user, key)
    assert double.request_counts[only_payment().processor_key] == 2
    charges = [sent for sent in double.received if sent.method == "POST"]
    assert {sent.headers["Idempotency-Key"] for sent in charges} == {only_payment().processor_key}


def test_stripe_charge_is_found_despite_a_delayed_search_index(db, double, api, user, key):
    double.plan, double.search_lags = ["500-after", "500-after"], True
    double.answers_forgotten = True
    pay(api, user, key)
    payment = only_payment()
    double.answers[payment.processor_key] = (500, {"error": {"type": "api_error", "message": "again"}})
    final = pay(api, user, key)
    assert final.status_code == 200, final.content
    assert len(double.charges) == 1


def test_idempotency_key_older_than_stripes_retention_is_not_resent(db, double, api, user, key):
    double.plan = ["reset-after"]
    pay(api, user, key)
    double.forget_keys()
    payment = only_payment()
    Payment.objects.update(
        created_at=payment.created_at - timedelta(hours=21), unanswered_since=payment.created_at - timedelta(hours=21)
    )
    for intent in double.intents.values():
        intent["created"] -= 21 * 3600
    final = pay(api, user, key)
    assert final.status_code == 200, final.content
    assert (len(double.charges), double.request_counts[payment.processor_key]) == (1, 1)


def test_payment_with_a_possible_in_flight_charge_remains_unknown(db, double, api, user, key):
    double.plan = ["reset-before"]
    pay(api, user, key)
    Payment.objects.update(created_at=only_payment().created_at - timedelta(hours=21))
    assert_error(pay(api, user, key), 502, "E5002")
    assert only_payment().status == "Unknown"


def test_official_stripe_client_accepts_the_responses_of_the_stripe_test_double(db, double):
    client = stripe.StripeClient("sk_test_secret", base_addresses={"api": double.url})
    options = {"idempotency_key": "k-1"}
    params = {
        "amount": 500, "currency": "usd", "payment_method": TOKEN, "confirm": True, "metadata": {"payment_id": "9"},
    }  # fmt: skip
    first = client.v1.payment_intents.create(params, options)
    again = client.v1.payment_intents.create(params, options)
    assert (first.id, first.status) == (again.id, "succeeded")
    match = client.v1.payment_intents.search({"query": "metadata['payment_id']:'9'"})
    assert [intent.id for intent in match.data] == [first.id]
    with pytest.raises(stripe.CardError):
        client.v1.payment_intents.create({**params, "payment_method": "pm_declined"}, {"idempotency_key": "k-2"})


def test_processing_payment_is_completed_by_its_succeeded_stripe_intent(double, api, user, key):
    double.plan = ["processing"]
    assert_error(process(api, user, key=key, payment_method_id="pm_1"), 502, "E5002")
    assert_error(process(api, user, key=key, payment_method_id="pm_1"), 502, "E5002")
    (intent,) = double.intents.values()
    intent.update(status="succeeded", amount_received=intent["amount"])
    # The key still returns the first response, in which nothing was decided.
    again = process(api, user, key=key, payment_method_id="pm_1")
    assert (again.status_code, again.json()["transaction_id"]) == (200, intent["id"])


def test_worker_fails_a_processing_payment_whose_stripe_charge_failed(double, api, user):
    double.plan = ["processing"]
    process(api, user, payment_method_id="pm_1")
    next(iter(double.intents.values()))["status"] = "requires_payment_method"
    call_command("reconcile_payments", "--once")
    assert (only_payment().status, double.charges) == ("Failed", [])


def test_stripe_intent_of_another_installation_with_the_same_payment_id_is_ignored(double, api, user):
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
    """Move all times of the payment into the past."""
    payment = only_payment()
    moved = {name: getattr(payment, name) for name in ("created_at", "due_at", "unanswered_since")}
    Payment.objects.update(**{name: moment and moment - timedelta(seconds=seconds) for name, moment in moved.items()})


def test_two_gateway_timeouts_do_not_fail_an_in_flight_charge(double, api, user, key):
    double.plan = ["504-before", "504-before"]
    for _ in range(4):
        assert_error(process(api, user, key=key, payment_method_id="pm_1"), 502, "E5002")
        pass_time(10)
    assert double.request_counts[only_payment().processor_key] == 2
    double.complete_in_flight()
    call_command("reconcile_payments", "--once")
    assert (only_payment().status, len(double.charges)) == ("Completed", 1)


def test_two_gateway_timeouts_without_a_charge_eventually_fail_the_payment(double, api, user, key):
    double.plan = ["504-before", "504-before"]
    process(api, user, key=key, payment_method_id="pm_1")
    pass_time(70)  # The time starts at the last request.
    for _ in range(2):
        assert_error(process(api, user, key=key, payment_method_id="pm_1"), 502, "E5002")
    assert only_payment().status == "Unknown"
    pass_time(70)
    assert_error(process(api, user, key=key, payment_method_id="pm_1"), 502, "E5001")
    assert (only_payment().failure, double.request_counts[only_payment().processor_key]) == ("not_charged", 2)


def test_after_a_lost_lease_a_late_decline_is_ignored_and_a_late_success_completes_the_payment(double, api, user):
    double.plan = ["reset-before"]
    process(api, user, payment_method_id="pm_1")
    paused, now = only_payment(), timezone.now()
    card.take_over(paused, now=now)
    assert card.take_over(only_payment(), now=now), "another holder takes the lease over"
    with pytest.raises(card.LeaseLost):
        card.finish(paused, ChargeResult(cards.DECLINED, failure="late"), now=now)
    assert only_payment().status == "Processing"
    last = only_payment().attempts.last()
    assert (last.epoch, last.outcome, last.detail) == (paused.epoch, "declined", {"fenced": True})
    with pytest.raises(card.LeaseLost):
        card.finish(paused, ChargeResult(cards.SUCCEEDED, transaction_id="pi_late"), now=now)
    assert (only_payment().status, only_payment().transaction_id) == ("Completed", "pi_late")
