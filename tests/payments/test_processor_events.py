"""Test processor events at POST /payments/processor-events that arrive late, twice, and out of order."""

import json
import time

import pytest
from django.core.management import call_command

from config.webhooks.models import Event
from payments.cards.models import Payment, PaymentAttempt, ProcessorEvent
from tests.api import assert_error
from tests.payments.card_support import only_payment, process
from tests.payments.stripe_double import sign_event

SECRET = "whsec_of_the_tests"


@pytest.fixture(autouse=True)
def _secret(settings):
    settings.STRIPE_WEBHOOK_SECRET = SECRET


@pytest.fixture
def unknown(api, user):
    """Return a payment with an unknown outcome that was charged."""
    process(api, user, key=True, payment_method_id="pm_sandbox_timeout")
    return only_payment()


def intent_of(payment, **changes):
    return {
        "id": "pi_of_the_event", "object": "payment_intent", "amount": payment.amount_cents,
        "currency": payment.currency, "metadata": {"payment_id": str(payment.pk)}, **changes,
    }  # fmt: skip


def send_event(client, kind, intent, *, identifier="evt_1", signature=None, at=None):
    body = json.dumps({"id": identifier, "type": kind, "data": {"object": intent}}).encode()
    header = sign_event(body, SECRET, at=at) if signature is None else signature
    return deliver(client, body, header)


def deliver(client, body, header):
    return client.call("POST", "/payments/processor-events", raw=body, Stripe_Signature=header)


def test_processor_success_event_completes_an_unknown_payment_and_its_idempotent_response(
    anonymous, api, user, unknown
):
    for _ in range(2):
        assert send_event(anonymous, "payment_intent.succeeded", intent_of(unknown)).status_code == 200
    assert (ProcessorEvent.objects.count(), PaymentAttempt.objects.filter(action="event").count()) == (1, 1)
    unknown.refresh_from_db()
    assert (unknown.status, unknown.transaction_id) == ("Completed", "pi_of_the_event")
    assert Event.objects.filter(type="payment.completed").count() == 1
    again = process(api, user, key=unknown.idempotency_key, payment_method_id="pm_sandbox_timeout")
    assert (again.status_code, again.json()["transaction_id"]) == (200, "pi_of_the_event")


def test_processor_event_after_a_successful_payment_changes_nothing(anonymous, unknown, caplog):
    send_event(anonymous, "payment_intent.succeeded", intent_of(unknown))
    for kind in ("payment_intent.payment_failed", "payment_intent.canceled"):
        assert send_event(anonymous, kind, intent_of(unknown), identifier=kind).status_code == 200
    send_event(anonymous, "payment_intent.succeeded", intent_of(unknown, id="pi_another"), identifier="evt_2")
    assert (only_payment().status, only_payment().transaction_id) == ("Completed", "pi_of_the_event")
    assert not Event.objects.filter(type="payment.failed").exists()
    assert "second charge" in caplog.text


def test_processor_success_event_after_a_decline_completes_the_payment(anonymous, api, user, key):
    rejected = process(api, user, key=key, payment_method_id="pm_sandbox_declined")
    assert send_event(anonymous, "payment_intent.succeeded", intent_of(only_payment())).status_code == 200
    assert only_payment().status == "Completed"
    assert process(api, user, key=key, payment_method_id="pm_sandbox_declined").content == rejected.content


def test_processor_failure_event_fails_an_unknown_payment(anonymous, api, user):
    process(api, user, payment_method_id="pm_sandbox_error")
    assert send_event(anonymous, "payment_intent.payment_failed", intent_of(only_payment())).status_code == 200
    assert only_payment().status == "Failed"
    assert Event.objects.filter(type="payment.failed").count() == 1


def test_processor_event_for_a_payment_that_does_not_exist_yet_is_applied_later(anonymous, api, user, unknown):
    intent = intent_of(unknown, metadata={"payment_id": "987654321"})
    assert send_event(anonymous, "payment_intent.succeeded", intent).status_code == 200
    assert ProcessorEvent.objects.get().applied_at is None
    assert only_payment().status == "Unknown"
    Payment.objects.create(
        pk=987654321, user=user, amount_cents=unknown.amount_cents, fee_amount_cents=0, currency="usd",
        payment_method_id="pm", processor="sandbox", processor_key="late", method_token="pm", status="Unknown",
        due_at="2099-01-01T00:00:00Z", created_at="2026-01-01T00:00:00Z",
    )  # fmt: skip
    call_command("reconcile_payments", "--once")
    assert Payment.objects.get(pk=987654321).status == "Completed"
    assert ProcessorEvent.objects.get().applied_at is not None


def test_processor_events_about_charges_of_other_systems_do_not_delay_events_about_payments(anonymous, unknown):
    for number in range(60):
        foreign = {"id": f"pi_{number}", "amount": 1, "currency": "usd", "metadata": {}}
        send_event(anonymous, "payment_intent.succeeded", foreign, identifier=f"evt_foreign_{number}")
    ProcessorEvent.objects.create(
        id="evt_waiting", type="payment_intent.succeeded", received_at="2099-01-01T00:00:00Z",
        detail={"intent": "pi_late", "amount": unknown.amount_cents, "currency": "usd", "payment_id": str(unknown.pk)},
    )  # fmt: skip
    Payment.objects.update(due_at="2099-01-01T00:00:00Z")
    call_command("reconcile_payments", "--once")
    assert only_payment().status == "Completed"


def test_processor_success_event_with_another_amount_is_logged_and_ignored(anonymous, unknown, caplog):
    for number, changes in enumerate(({"amount": 10_001}, {"currency": "eur"}, {"amount": "10000"}, {"amount": None})):
        caplog.clear()
        intent = intent_of(unknown, **changes)
        assert send_event(anonymous, "payment_intent.succeeded", intent, identifier=f"e{number}").status_code == 200
        assert only_payment().status == "Unknown"
        assert "contradicts" in caplog.text


def test_processor_event_of_another_type_or_installation_changes_nothing(anonymous, unknown):
    for kind in ("payment_intent.processing", "payment_intent.created", "charge.refunded", "nonsense"):
        assert send_event(anonymous, kind, intent_of(unknown), identifier=kind).status_code == 200
        assert only_payment().status == "Unknown", kind
    intent = intent_of(unknown, metadata={"payment_id": str(unknown.pk), "payment_key": "payment-of-another"})
    assert send_event(anonymous, "payment_intent.succeeded", intent, identifier="other").status_code == 200
    assert only_payment().status == "Unknown"
    assert ProcessorEvent.objects.get(id="other").payment is None


def test_processor_event_with_an_invalid_signature_returns_401(anonymous, unknown, settings):
    now = int(time.time())
    for signature in (
        "", "nonsense", "v1=00", f"t={now}", f"t={now},v1=", f"t={now},v1={'0' * 64}", f"t={now},v0={'0' * 64}",
        f"t=,v1={'0' * 64}", f"t=\uff11,v1={'0' * 64}", f"t={'9' * 400},v1={'0' * 64}", f"t={now},v1=ü",
    ):  # fmt: skip
        rejected = send_event(anonymous, "payment_intent.succeeded", intent_of(unknown), signature=signature)
        assert_error(rejected, 401, "E2006")
    for seconds in (-302, 303, -86_400):
        rejected = send_event(anonymous, "payment_intent.succeeded", intent_of(unknown), at=time.time() + seconds)
        assert_error(rejected, 401, "E2006")
    assert_error(deliver(anonymous, b'{"id":"evt_2"}', sign_event(b'{"id":"evt_1"}', SECRET)), 401, "E2006")
    settings.STRIPE_WEBHOOK_SECRET = ""  # Without a secret, no event is accepted.
    body = json.dumps({"id": "evt_1", "type": "payment_intent.succeeded", "data": {}}).encode()
    assert_error(deliver(anonymous, body, sign_event(body, "")), 401, "E2006")
    assert only_payment().status == "Unknown"


def test_processor_event_with_one_valid_signature_of_several_is_accepted(anonymous, unknown):
    body = json.dumps({"id": "e", "type": "payment_intent.succeeded", "data": {"object": intent_of(unknown)}}).encode()
    header = sign_event(body, SECRET).replace("v1=", f"v1={'0' * 64},v1=")
    assert deliver(anonymous, body, header).status_code == 200
    assert only_payment().status == "Completed"


def test_malformed_signed_processor_event_causes_no_internal_error(anonymous, unknown):
    for document in (
        {}, {"id": 5}, {"id": "e"}, {"id": "e", "type": 5, "data": 7}, {"id": "e", "type": "t", "data": {"object": []}},
        {"id": "e\0", "type": "t", "data": {"object": {}}},
        {"id": "e", "type": "t\0", "data": {"object": {"id": "\0", "metadata": {"payment_id": "\0"}}}},
        {"id": "e" * 300, "type": "t" * 300, "data": {"object": {"metadata": 5, "amount": 2**70}}},
        {"id": "e", "type": "payment_intent.succeeded", "data": {"object": {"metadata": {"payment_id": 1.5}}}},
    ):  # fmt: skip
        body = json.dumps(document).encode()
        response = deliver(anonymous, body, sign_event(body, SECRET))
        assert response.status_code in {200, 400}, response.content
        assert only_payment().status == "Unknown"
    for raw in (b"", b"[]", b"{", b"\xff", b"[" * 5000):
        assert deliver(anonymous, raw, sign_event(raw, SECRET)).status_code == 400
