"""Test refund and dispute events of card payments that arrive twice, late, and in any order."""

import json
from itertools import permutations

import pytest
from django.core.management import call_command

from payments.cards.models import Payment, PaymentAttempt, ProcessorEvent
from tests.backoffice.conftest import backoffice_client, staff_of
from tests.backoffice.pages import text_of
from tests.factories import UserFactory
from tests.payments.card_support import only_payment, process
from tests.payments.stripe_double import sign_event
from tests.payments.wallet_support import events

SECRET = "whsec_of_the_tests"
AMOUNT = 10_000


@pytest.fixture(autouse=True)
def _secret(settings):
    settings.STRIPE_WEBHOOK_SECRET = SECRET


@pytest.fixture
def payment(api, user):
    process(api, user)
    return only_payment()


@pytest.fixture
def emit(anonymous, payment):
    """Return a function that sends an event of the processor about the payment and returns the response."""

    def send(kind, at=1, *, identifier=None, **members):
        content = {"payment_intent": payment.transaction_id, "currency": "usd", **members}
        event = {"id": identifier or f"evt_{kind}_{at}", "type": kind, "created": at, "data": {"object": content}}
        body = json.dumps(event).encode()
        signature = sign_event(body, SECRET)
        return anonymous.call("POST", "/payments/processor-events", raw=body, Stripe_Signature=signature)

    return send


def charge(refunded, **members):
    return {"id": "ch_1", "object": "charge", "amount": AMOUNT, "amount_refunded": refunded, **members}


def refund(name, amount, status):
    return {"id": name, "object": "refund", "amount": amount, "status": status}


def dispute(status, name="dp_1", amount=AMOUNT):
    """Return the fields of a dispute, which only its intent links to the payment."""
    return {"id": name, "object": "dispute", "amount": amount, "status": status, "metadata": {}}


def refunded_and_disputed(api, payment):
    """Return (refunded, disputed) of the payment from the API."""
    body = api.read(f"/payments/{payment.pk}").json()
    assert body["status"] == "Completed"
    return body["refunded_cents"], body["disputed"]


def test_repeated_refund_is_returned_with_the_payment_and_emits_an_event_once(api, user, payment, emit):
    assert refunded_and_disputed(api, payment) == (0, False)
    for _ in range(3):
        assert emit("charge.refunded", **charge(2_500)).status_code == 200
    assert (ProcessorEvent.objects.count(), PaymentAttempt.objects.filter(action="event").count()) == (1, 1)
    assert refunded_and_disputed(api, payment) == (2_500, False)
    assert events(user, "payment.refunded") == [{"payment_id": payment.pk, "status": "Completed"}]
    expanded = {"id": payment.transaction_id, "object": "payment_intent"}
    emit("charge.refunded", at=2, payment_intent=expanded, **charge(AMOUNT))
    assert refunded_and_disputed(api, payment) == (AMOUNT, False)
    assert len(events(user, "payment.refunded")) == 2


def test_dispute_event_is_matched_to_the_payment_by_its_intent(api, user, payment, emit):
    assert emit("charge.dispute.created", currency="eur", **dispute("needs_response", amount=12_345)).status_code == 200
    assert refunded_and_disputed(api, payment) == (0, True)
    assert events(user, "payment.disputed") == [{"payment_id": payment.pk, "status": "Completed", "disputed": True}]
    emit("charge.dispute.closed", at=2, **dispute("won"))
    assert [event["disputed"] for event in events(user, "payment.disputed")] == [True, False]
    for name in ("dp_2", "dp_3"):
        emit("charge.dispute.created", at=3, identifier=name, **dispute("needs_response", name=name))
    emit("charge.dispute.closed", at=4, **dispute("won", name="dp_2"))
    assert refunded_and_disputed(api, payment) == (0, True), "the third dispute is open"
    emit("charge.dispute.closed", at=5, **dispute("won", name="dp_3"))
    assert refunded_and_disputed(api, payment) == (0, False)


def forget_events():
    ProcessorEvent.objects.all().delete()
    Payment.objects.update(refunded_cents=0, disputed=False)


def test_dispute_status_does_not_depend_on_the_order_of_dispute_events(api, payment, emit):
    for status, disputed in (
        ("won", False), ("lost", True), ("warning_closed", False), ("prevented", False), ("charge_refunded", False),
        ("needs_response", True), ("under_review", True), ("warning_needs_response", True),
        ("warning_under_review", True), ("a_later_word", True),
    ):  # fmt: skip
        stages = [("charge.dispute.created", 1, "needs_response"), ("charge.dispute.closed", 2, status)]
        for order in (1, -1):
            forget_events()
            for kind, at, state in stages[::order]:
                assert emit(kind, at, **dispute(state)).status_code == 200
            assert refunded_and_disputed(api, payment) == (0, disputed), (status, order)


# Sequences of (type, time, fields), and the final refunded amount.
FAILED = refund("re_1", AMOUNT, "failed")
STORIES = {
    "two refunds": ([("charge.refunded", 1, charge(1_000)), ("charge.refunded", 2, charge(3_000))], 3_000),
    "one of two refunds fails": ([
        ("charge.refunded", 1, charge(1_000)), ("charge.refunded", 2, charge(3_000)),
        ("charge.refund.updated", 3, refund("re_1", 1_000, "failed")),
    ], 2_000),
    "a refund after a failed refund": ([
        ("charge.refunded", 1, charge(3_000)), ("refund.failed", 2, refund("re_1", 3_000, "failed")),
        ("charge.refunded", 3, charge(2_000)),
    ], 2_000),
    "two events about one failure": ([
        ("charge.refunded", 1, charge(AMOUNT)), ("refund.failed", 2, FAILED), ("refund.updated", 2, FAILED),
    ], 0),
    "two other events about one failure": ([
        ("charge.refunded", 1, charge(AMOUNT)), ("refund.failed", 2, FAILED), ("charge.refund.updated", 2, FAILED),
    ], 0),
    "a failure in the same second": (
        [("charge.refunded", 5, charge(700)), ("refund.failed", 5, refund("re_1", 700, "canceled"))], 0,
    ),
    "a successful refund": ([
        ("charge.refunded", 1, charge(500)), ("refund.created", 1, refund("re_1", 500, "pending")),
        ("refund.updated", 2, refund("re_1", 500, "succeeded")),
    ], 500),
    "a failure without a refund": ([("refund.failed", 1, refund("re_1", 500, "failed"))], 0),
    "two refunds fail": ([
        ("charge.refunded", 1, charge(900)), ("refund.failed", 2, refund("re_1", 400, "failed")),
        ("refund.failed", 3, refund("re_2", 500, "failed")),
    ], 0),
    "the larger amount of one second is used": (
        [("charge.refunded", 1, charge(300)), ("charge.refunded", 1, charge(800)), ("charge.refunded", 1, charge(0))],
        800,
    ),
    "a refund and a dispute": (
        [("charge.refunded", 1, charge(300)), ("charge.dispute.created", 2, dispute("needs_response"))], 300,
    ),
}  # fmt: skip


def test_refund_and_dispute_events_in_any_order_have_the_same_result(api, payment, emit):
    for name, (story, refunded) in STORIES.items():
        for number, order in enumerate(permutations(enumerate(story))):
            forget_events()
            for _ in range(2):
                for place, (kind, at, members) in order:
                    answer = emit(kind, at, identifier=f"evt_{number}_{place}", **members)
                    assert answer.status_code == 200
            assert refunded_and_disputed(api, payment) == (refunded, name == "a refund and a dispute"), (name, order)


def test_refund_events_stored_by_version_1_0_are_ignored(api, payment, emit):
    facts = {"intent": "ch_1", "amount": AMOUNT, "currency": "usd", "payment_id": str(payment.pk), "payment_key": ""}
    for number, kind in enumerate(("charge.refunded", "charge.dispute.created", "refund.failed")):
        ProcessorEvent.objects.create(
            id=f"evt_old_{number}", type=kind, payment=payment, detail=facts, received_at=payment.created_at,
            applied_at=payment.created_at,
        )  # fmt: skip
    emit("charge.refunded", **charge(2_500))
    assert refunded_and_disputed(api, payment) == (2_500, False)


def test_a_contradictory_refund_is_logged_and_ignored(api, user, payment, emit, caplog):
    for number, members in enumerate((
        {"amount": AMOUNT + 1}, {"amount": 1}, {"amount": None}, {"amount": "10000"}, {"amount": 10_000.0},
        {"amount": True}, {"amount_refunded": AMOUNT + 1}, {"amount_refunded": -1}, {"amount_refunded": None},
        {"amount_refunded": "5"}, {"amount_refunded": 2**63 - 1}, {"amount_refunded": True}, {"currency": "eur"},
        {"currency": None}, {"currency": 5},
    )):  # fmt: skip
        caplog.clear()
        answer = emit("charge.refunded", identifier=f"evt_{number}", **{**charge(2_500), **members})
        assert answer.status_code == 200
        assert refunded_and_disputed(api, payment) == (0, False), members
        assert "contradicts" in caplog.text, members
    assert not events(user, "payment.refunded")
    emit("charge.refunded", at=2, **charge(2_500))
    assert refunded_and_disputed(api, payment) == (2_500, False)


def test_refund_event_of_an_unknown_stripe_intent_is_not_applied(api, payment, emit):
    for number, intent in enumerate(
        (None, "", "pi_of_another", 5, [], {}, {"id": None}, {"id": "pi_of_another"}, "x" * 300, True)
    ):
        for kind, members in (("charge.refunded", charge(2_500)), ("charge.dispute.created", dispute("lost"))):
            assert emit(kind, number, payment_intent=intent, **members).status_code == 200
    call_command("reconcile_payments", "--once")
    assert refunded_and_disputed(api, payment) == (0, False)
    assert set(ProcessorEvent.objects.values_list("applied_at", flat=True)) == {None}


def test_refund_and_dispute_events_are_applied_only_after_the_payment_is_completed(api, user, payment, emit):
    Payment.objects.update(status="Unknown", transaction_id=None, due_at="2099-01-01T00:00:00Z")
    emit("charge.refunded", **charge(2_500))
    emit("charge.dispute.created", **dispute("needs_response"))
    call_command("reconcile_payments", "--once")
    assert not ProcessorEvent.objects.exclude(applied_at=None).exists()
    Payment.objects.update(status="Completed", transaction_id=payment.transaction_id)
    call_command("reconcile_payments", "--once")
    assert refunded_and_disputed(api, payment) == (2_500, True)
    assert not ProcessorEvent.objects.filter(applied_at=None).exists()
    assert len(events(user, "payment.refunded")) == len(events(user, "payment.disputed")) == 1


def test_refund_event_without_a_valid_time_is_treated_as_the_earliest(api, payment, emit):
    for created in (None, "1", -1, 1.5, True, 2**70, [], {}, "2026-01-01T00:00:00Z", 0):
        forget_events()
        emit("charge.refunded", at=created, identifier="evt_a", **charge(2_500))
        emit("charge.refunded", at=7, identifier="evt_b", **charge(300))
        assert refunded_and_disputed(api, payment) == (300, False), created


MALFORMED = [
    {}, {"id": None}, {"id": 5, "status": 7}, {"status": None}, {"status": []}, {"id": "dp\0"}, {"status": "x" * 500},
    {"id": {"id": 1}}, {"metadata": 5}, {"metadata": {"payment_id": []}}, {"amount": {}}, {"id": "d" * 300},
]  # fmt: skip


@pytest.mark.parametrize("kind", ["charge.refunded", "refund.failed", "charge.refund.updated", "charge.dispute.closed"])
def test_malformed_refund_event_causes_no_internal_error(api, payment, emit, kind):
    for number, members in enumerate(MALFORMED):
        assert emit(kind, identifier=f"evt_{number}", **members).status_code in {200, 400}, members
        assert refunded_and_disputed(api, payment)[0] == 0, members


def test_back_office_shows_and_exports_refunds_and_can_filter_by_disputes(payment, emit):
    emit("charge.refunded", **charge(2_500))
    emit("charge.dispute.created", **dispute("needs_response"))
    root = backoffice_client(UserFactory(is_staff=True, is_superuser=True))
    row = json.loads(b"".join(root.post("/admin/payments/payment/export/jsonl/").streaming_content))
    assert (row["amount_cents"], row["refunded_cents"], row["disputed"]) == (AMOUNT, 2_500, True)
    assert "method_token" not in row
    client = backoffice_client(staff_of("Support"))
    assert "25.00 USD" in text_of(client.get(f"/admin/payments/payment/{payment.pk}/change/"))
    place = f"/payments/payment/{payment.pk}/change/"
    for query, expected in (("disputed__exact=1", True), ("disputed__exact=0", False)):
        assert (place in client.get(f"/admin/payments/payment/?{query}").content.decode()) == expected
