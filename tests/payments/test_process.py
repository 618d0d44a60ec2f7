"""Test POST /payments/process with the built-in processor."""

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


def test_card_payment_is_charged_only_once_and_can_be_read(api, user, key):
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
    IdempotencyRecord.objects.update(created_at="2020-01-01T00:00:00Z")  # The key of a payment does not expire.
    again = process(api, user, key=key, description="Rent", provider_account_id="acct_9")
    assert (again.content, SandboxCharge.objects.count()) == (response.content, 1)


def test_payment_with_a_reused_idempotency_key_and_another_body_is_rejected(api, user, key):
    process(api, user, key=key)
    assert_error(process(api, user, key=key, amount_cents=10_001), 422, "E1010")
    assert_error(api.send("/payments/add", {"user_id": user.pk}, key=key), 400, "E1001")
    body = {"user_id": user.pk, "account_id": "tok_1", "processor_type": "card"}
    assert_error(api.send("/payments/add", body, key=key), 422, "E1010")


def test_declined_payment_is_final_and_its_response_is_replayed(api, user, key):
    first = process(api, user, key=key, payment_method_id="pm_sandbox_declined")
    body = assert_error(first, 502, "E5001")
    assert body["details"]["payment_id"] == only_payment().pk
    again = process(api, user, key=key, payment_method_id="pm_sandbox_declined")
    assert again.content == first.content
    assert (only_payment().status, only_payment().failure) == ("Failed", "card_declined")
    assert Event.objects.filter(type="payment.failed").count() == 1


def test_payment_retry_with_the_same_idempotency_key_returns_the_result_of_the_lost_response(api, user, key):
    body = assert_error(process(api, user, key=key, payment_method_id="pm_sandbox_timeout"), 502, "E5002")
    assert body["details"]["status"] == "Unknown"
    assert "Send the same request with the same Idempotency-Key again." in body["message"]
    assert SandboxCharge.objects.count() == 1
    again = process(api, user, key=key, payment_method_id="pm_sandbox_timeout")
    assert (again.status_code, again.json()["status"]) == (200, "Completed")
    assert SandboxCharge.objects.count() == 1
    assert Event.objects.filter(type="payment.unknown").count() == 1


def pay_with_unknown_outcome(api, user, **changes):
    """Pay without a key, check the error of an unknown outcome, and return the payment."""
    body = assert_error(process(api, user, **changes), 502, "E5002")
    payment = only_payment()
    assert f"Query GET /v1/payments/{payment.pk}." in body["message"]
    assert body["details"] == {"payment_id": payment.pk, "status": "Unknown"}
    return payment


def test_payment_timeout_without_an_idempotency_key_does_not_suggest_a_retry(api, user):
    payment = pay_with_unknown_outcome(api, user, payment_method_id="pm_sandbox_timeout")
    assert api.read(f"/payments/{payment.pk}").json()["status"] == "Unknown"
    reconcile_due(now=timezone.now())
    assert api.read(f"/payments/{payment.pk}").json()["status"] == "Completed"
    assert SandboxCharge.objects.count() == 1


def fail_outcome_updates(execute, sql, params, many, context):
    """Simulate an outage of the database when the outcome is stored."""
    if sql.startswith("UPDATE") and '"status" = ' in sql and Payment._meta.db_table in sql:
        raise OperationalError("the server closed the connection")
    return execute(sql, params, many, context)


def test_payment_error_in_a_database_outage_without_an_idempotency_key_suggests_no_retry(api, user):
    with connection.execute_wrapper(fail_outcome_updates):
        pay_with_unknown_outcome(api, user)
    assert SandboxCharge.objects.count() == 1


def test_payment_in_a_database_outage_with_an_idempotency_key_returns_a_retryable_503(api, user, key):
    with connection.execute_wrapper(fail_outcome_updates):
        assert_error(process(api, user, key=key), 503, "E5030")
    Payment.objects.update(due_at=timezone.now())
    assert process(api, user, key=key).status_code == 200
    assert SandboxCharge.objects.count() == 1


def test_payment_error_after_a_lost_lease_without_an_idempotency_key_suggests_no_retry(api, user, monkeypatch):
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
def test_concurrent_request_for_a_leased_payment_returns_retry_after_the_lease(
    api, user, key, status, lease_left, seconds
):
    """The holder of the lease responds within 25 s, or retains the lease to its end."""
    process(api, user, key=key, payment_method_id="pm_sandbox_timeout")
    Payment.objects.update(status=status, due_at=timezone.now() + timedelta(seconds=lease_left))
    response = process(api, user, key=key, payment_method_id="pm_sandbox_timeout")
    assert_error(response, 409, "E3010")
    assert seconds - 10 < int(response.headers["Retry-After"]) <= seconds


def test_payment_whose_processor_always_fails_ends_without_a_charge(api, user, key):
    assert_error(process(api, user, key=key, payment_method_id="pm_sandbox_error"), 502, "E5002")
    final = process(api, user, key=key, payment_method_id="pm_sandbox_error")
    body = assert_error(final, 502, "E5001")
    assert (body["details"]["failure"], "declined" in body["message"]) == ("not_charged", False)
    assert process(api, user, key=key, payment_method_id="pm_sandbox_error").content == final.content
    assert not SandboxCharge.objects.exists()
    assert only_payment().failure == "not_charged"


def test_payment_currency_is_lowercased_and_defaults_to_usd(api, user):
    responses = [process(api, user, currency=currency) for currency in ("USD", "usd", None, ...)]
    assert len({response.json()["payment_id"] for response in responses}) == 4, "requests without a key"
    assert list(Payment.objects.values_list("currency", flat=True)) == ["usd"] * 4


def test_invalid_order_is_rejected_without_a_payment(api, user):
    assert_error(process(api, user, key=True, currency="XXX"), 400, "E1001")
    assert not PaymentAttempt.objects.exists()
    assert not IdempotencyRecord.objects.exists()


def test_payments_have_a_separate_rate_limit(api, user, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "payment": 2}
    statuses = [process(api, user).status_code for _ in range(3)]
    assert statuses == [200, 200, 429]


def test_card_payment_executes_a_fixed_number_of_sql_statements_and_commits(committed, api, user, key):
    process(api, user)  # This payment creates the records that each process creates once.
    with CaptureQueriesContext(connection) as context:
        assert process(api, user, key=key).status_code == 200
    statements = [query["sql"] for query in context.captured_queries]
    work = [sql for sql in statements if "sandboxcharge" not in sql and "ratecounter" not in sql]
    written = [sql for sql in work if sql.startswith(("INSERT", "UPDATE", "SELECT"))]
    # The statements find the key, store payment, token, and attempt, and then store outcome, event, and response.
    assert len(written) == 10, written
    # The commits are the intent, the outcome, and the sandbox's own commit.
    assert sum(sql.startswith("COMMIT") for sql in statements) == 3, statements


def test_card_processor_is_called_outside_of_database_transactions(committed, api, user, monkeypatch):
    open_transactions = []
    charge = SandboxProcessor.charge

    def record_and_charge(self, payment, **how):
        open_transactions.append(transaction.get_connection().in_atomic_block)
        return charge(self, payment, **how)

    monkeypatch.setattr(SandboxProcessor, "charge", record_and_charge)
    assert process(api, user, key=True).status_code == 200
    assert open_transactions == [False]
