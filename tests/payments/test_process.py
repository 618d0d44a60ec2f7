"""POST /payments/process with the built-in processor."""

from datetime import timedelta

import pytest
from django.db import OperationalError, connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from config.api.models import IdempotencyRecord
from config.webhooks.models import Event
from payments.cards.models import Payment, PaymentAttempt, SandboxCharge
from payments.cards.processors.sandbox import SandboxProcessor
from payments.cards.reconciliation import reconcile_due
from payments.cards.services import take_over
from tests.api import assert_error
from tests.payments.card_support import only_payment, process


def test_a_payment_is_charged_once_and_shown(api, user, key):
    response = process(api, user, key=key, description="Rent", provider_account_id="acct_9")
    body = response.json()
    assert response.status_code == 200, body
    payment = only_payment()
    assert set(body) == {"amount_cents", "payment_id", "processed_at", "status", "transaction_id"}
    assert (body["status"], body["amount_cents"], body["payment_id"]) == ("Completed", 10_000, payment.pk)
    assert (payment.fee_amount_cents, payment.net_amount_cents, payment.currency) == (150, 9_850, "usd")
    assert SandboxCharge.objects.get().transaction_id == body["transaction_id"] == payment.transaction_id
    assert [(attempt.action, attempt.outcome) for attempt in payment.attempts.all()] == [
        ("charge", "sent"),
        ("charge", "succeeded"),
    ]
    event = Event.objects.get(type="payment.completed")
    assert event.object == {"payment_id": payment.pk, "status": "Completed"}


def test_another_order_under_the_key_is_refused(api, user, key):
    process(api, user, key=key)
    assert_error(process(api, user, key=key, amount_cents=10_001), 422, "E1010")
    assert_error(api.send("/payments/add", {"user_id": user.pk}, key=key), 400, "E1001")
    body = {"user_id": user.pk, "account_id": "tok_1", "processor_type": "card"}
    assert_error(api.send("/payments/add", body, key=key), 422, "E1010")


def test_two_payments_without_a_key_are_two(api, user):
    assert process(api, user).json()["payment_id"] != process(api, user).json()["payment_id"]


def test_a_payments_key_is_kept_for_ever(api, user, key):
    first = process(api, user, key=key)
    IdempotencyRecord.objects.update(created_at="2020-01-01T00:00:00Z")
    assert process(api, user, key=key).content == first.content
    assert SandboxCharge.objects.count() == 1


def test_a_decline_is_final_and_stored(api, user, key):
    first = process(api, user, key=key, payment_method_id="pm_sandbox_declined")
    body = assert_error(first, 502, "E5001")
    assert body["details"]["payment_id"] == only_payment().pk
    again = process(api, user, key=key, payment_method_id="pm_sandbox_declined")
    assert again.content == first.content
    assert (only_payment().status, only_payment().failure) == ("Failed", "card_declined")
    assert Event.objects.filter(type="payment.failed").count() == 1


def test_a_lost_answer_is_found_by_the_same_key(api, user, key):
    body = assert_error(process(api, user, key=key, payment_method_id="pm_sandbox_timeout"), 502, "E5002")
    assert body["details"]["status"] == "Unknown"
    assert "Send the same request with the same Idempotency-Key again." in body["message"]
    assert SandboxCharge.objects.count() == 1
    again = process(api, user, key=key, payment_method_id="pm_sandbox_timeout")
    assert (again.status_code, again.json()["status"]) == (200, "Completed")
    assert SandboxCharge.objects.count() == 1
    assert Event.objects.filter(type="payment.unknown").count() == 1


def refused_without_a_key(api, user, **changes):
    """Pay without a key, hear that the outcome is not known, and return the payment."""
    body = assert_error(process(api, user, **changes), 502, "E5002")
    payment = only_payment()
    assert f"Query GET /v1/payments/{payment.pk}." in body["message"]
    assert body["details"] == {"payment_id": payment.pk, "status": "Unknown"}
    return payment


def test_without_a_key_the_error_does_not_suggest_a_retry(api, user):
    payment = refused_without_a_key(api, user, payment_method_id="pm_sandbox_timeout")
    assert api.read(f"/payments/{payment.pk}").json()["status"] == "Unknown"
    reconcile_due(now=timezone.now())
    assert api.read(f"/payments/{payment.pk}").json()["status"] == "Completed"
    assert SandboxCharge.objects.count() == 1


def no_outcome_is_written(execute, sql, params, many, context):
    """Let the database be away when the outcome is to be stored."""
    if sql.startswith("UPDATE") and '"status" = ' in sql and Payment._meta.db_table in sql:
        raise OperationalError("the server closed the connection")
    return execute(sql, params, many, context)


def test_without_a_key_a_lost_database_after_the_charge_suggests_no_retry(api, user):
    with connection.execute_wrapper(no_outcome_is_written):
        refused_without_a_key(api, user)
    assert SandboxCharge.objects.count() == 1


def test_with_a_key_a_database_that_went_away_is_a_reason_to_try_again(api, user, key):
    with connection.execute_wrapper(no_outcome_is_written):
        assert_error(process(api, user, key=key), 503, "E5030")
    Payment.objects.update(due_at=timezone.now())
    assert process(api, user, key=key).status_code == 200
    assert SandboxCharge.objects.count() == 1


def test_without_a_key_a_lost_lease_suggests_no_retry(api, user, monkeypatch):
    charge = SandboxProcessor.charge

    def overtaken(processor, payment, **how):
        take_over(only_payment(), now=timezone.now())
        return charge(processor, payment, **how)

    monkeypatch.setattr(SandboxProcessor, "charge", overtaken)
    body = assert_error(process(api, user, payment_method_id="pm_sandbox_declined"), 502, "E5002")
    assert f"Query GET /v1/payments/{only_payment().pk}." in body["message"]


@pytest.mark.parametrize(
    ("status", "lease_left", "seconds"), [("Pending", 90, 25), ("Processing", 75, 10), ("Pending", 40, 40)]
)
def test_a_concurrent_request_gets_the_end_of_the_lease(api, user, key, status, lease_left, seconds):
    """Whoever works on it has an answer after 25 seconds; who has none by then is waited for until the lease ends."""
    process(api, user, key=key, payment_method_id="pm_sandbox_timeout")
    Payment.objects.update(status=status, due_at=timezone.now() + timedelta(seconds=lease_left))
    held = process(api, user, key=key, payment_method_id="pm_sandbox_timeout")
    assert_error(held, 409, "E3010")
    assert seconds - 10 < int(held.headers["Retry-After"]) <= seconds


def test_a_processor_that_fails_every_time_charges_nothing_in_the_end(api, user, key):
    assert_error(process(api, user, key=key, payment_method_id="pm_sandbox_error"), 502, "E5002")
    final = process(api, user, key=key, payment_method_id="pm_sandbox_error")
    assert_error(final, 502, "E5001")
    assert process(api, user, key=key, payment_method_id="pm_sandbox_error").content == final.content
    assert not SandboxCharge.objects.exists()
    assert only_payment().failure == "not_charged"


def test_a_currency_is_folded_and_defaults_to_dollars(api, user):
    for currency in ("USD", "usd", None, ...):
        assert process(api, user, currency=currency).status_code == 200
    assert list(Payment.objects.values_list("currency", flat=True)) == ["usd"] * 4


def test_a_bad_order_is_refused_and_nothing_is_begun(api, user):
    assert_error(process(api, user, key=True, currency="XXX"), 400, "E1001")
    assert not PaymentAttempt.objects.exists()
    assert not IdempotencyRecord.objects.exists()


def test_payments_have_a_limit_of_their_own(api, user, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "payment": 2}
    statuses = [process(api, user).status_code for _ in range(3)]
    assert statuses == [200, 200, 429]


def test_a_payment_costs_a_known_number_of_statements_and_commits(committed, api, user, key):
    process(api, user)  # what is made once per process is made
    with CaptureQueriesContext(connection) as context:
        assert process(api, user, key=key).status_code == 200
    statements = [query["sql"] for query in context.captured_queries]
    work = [sql for sql in statements if "sandboxcharge" not in sql and "ratecounter" not in sql]
    written = [sql for sql in work if sql.startswith(("INSERT", "UPDATE", "SELECT"))]
    # Find the key; payment, its token, key, attempt. Outcome, the row read again, attempt, event, answer.
    assert len(written) == 10, written
    # Intent and outcome; the third is the sandbox's own.
    assert sum(sql.startswith("COMMIT") for sql in statements) == 3, statements


def test_the_processor_is_never_asked_inside_a_transaction(committed, api, user, monkeypatch):
    seen = []
    charge = SandboxProcessor.charge

    def watched(self, payment, **how):
        seen.append(transaction.get_connection().in_atomic_block)
        return charge(self, payment, **how)

    monkeypatch.setattr(SandboxProcessor, "charge", watched)
    assert process(api, user, key=True).status_code == 200
    assert seen == [False]
