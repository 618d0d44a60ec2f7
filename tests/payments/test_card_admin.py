"""Card payments at the back office: found, read with their whole story, and never changed."""

import pytest

from payments.cards.models import Payment, ProcessorEvent
from tests.backoffice.conftest import backoffice_client, staff_of
from tests.backoffice.pages import text_of
from tests.payments.card_support import only_payment, process

SEEN_BY = {
    "Support": {"payment": 200, "paymentmethod": 200, "processorevent": 403},
    "Operations": {"payment": 200, "paymentmethod": 403, "processorevent": 200},
    "Reviewer": {"payment": 200, "paymentmethod": 200, "processorevent": 403},
}


@pytest.fixture
def told(api, user, settings):
    """A payment whose answer was lost and found again, a kept method, and an event that waits."""
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


@pytest.mark.parametrize("group", SEEN_BY)
def test_each_group_sees_what_its_work_needs(told, group):
    client = backoffice_client(staff_of(group))
    assert {model: client.get(f"/admin/payments/{model}/").status_code for model in SEEN_BY[group]} == SEEN_BY[group]


def test_a_payment_shows_requests_and_responses(told):
    text = text_of(backoffice_client(staff_of("Support")).get(f"/admin/payments/payment/{told.pk}/change/"))
    for shown in ("Completed", "10,000 USD", "150 USD", told.transaction_id, told.processor_key, "timeout"):
        assert shown in text, shown
    story = text.partition("Requests and responses")[2]
    places = [story.index(word) for word in ("sent", "unknown", "succeeded")]
    assert places == sorted(places)


def test_no_token_and_no_text_of_the_person_is_shown_to_support(told, user):
    client = backoffice_client(staff_of("Support"))
    method = user.payment_methods.get()
    for path in (f"payment/{told.pk}/change/", f"paymentmethod/{method.pk}/change/", "payment/", "paymentmethod/"):
        content = client.get(f"/admin/payments/{path}").content.decode()
        assert "Rent for May" not in content
        assert "tok_secret_part" not in content


def test_a_payment_is_found_by_its_number_and_its_person(told, user, stranger_api, stranger):
    process(stranger_api, stranger)
    other = Payment.objects.exclude(pk=told.pk).get()
    client = backoffice_client(staff_of("Support"))
    for term in (told.pk, f"%23{told.pk}", user.pk, user.username):
        content = client.get(f"/admin/payments/payment/?q={term}").content.decode()
        assert f"/payments/payment/{told.pk}/change/" in content, term
    assert f"/payments/payment/{other.pk}/change/" not in content
