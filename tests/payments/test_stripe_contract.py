"""Validate the platform's Stripe requests and the double's responses against Stripe's OpenAPI description."""

import pytest
import requests
from django.core.management import call_command

from tests.payments.card_support import process
from tests.payments.stripe_description import INTENTS, UNDESCRIBED, StripeDescription


@pytest.fixture(scope="module")
def stripe_api():
    return StripeDescription()


def test_every_kind_of_request_matches_the_openapi_description_of_stripe(stripe_api, double, api, user):
    process(api, user, payment_method_id="pm_1", description="Rent & heating: 50 %", provider_account_id="acct_7")
    process(api, user, payment_method_id="pm_1", currency="eur")
    process(api, user, payment_method_id="pm_requires_action")
    double.plan = ["500-before", "processing"]
    process(api, user, payment_method_id="pm_1")
    process(api, user, payment_method_id="pm_1")
    call_command("reconcile_payments", "--once")
    described = [delivery for delivery in double.received if delivery.path not in UNDESCRIBED]
    kinds = {(item.method, item.path.count("/"), item.path.endswith("/cancel")) for item in described}
    assert kinds == {("POST", 2, False), ("POST", 4, True), ("GET", 2, False), ("GET", 3, False)}
    for request in described:
        assert (
            stripe_api.request_errors(request.method, request.path, request.query, request.headers, request.data) == []
        ), request


def test_responses_of_the_stripe_test_double_match_the_openapi_description_of_stripe(stripe_api, double, api, user):
    headers = {"Idempotency-Key": "k", "Content-Type": "application/x-www-form-urlencoded"}

    def send(method, path, key="k", **form):
        answer = requests.request(
            method, double.url + path, data=form, headers={**headers, "Idempotency-Key": key}, timeout=5
        )
        return method, path.partition("?")[0], answer.status_code, answer.json()

    charge = {"amount": 500, "currency": "usd", "confirm": "true", "metadata[payment_id]": "9"}
    created = send("POST", INTENTS, payment_method="pm_1", **charge)
    response = send("POST", INTENTS, key="k3", payment_method="pm_requires_action", **charge)
    answers = [
        created, response, send("POST", INTENTS, key="k2", payment_method="pm_declined", **charge),
        send("GET", f"{INTENTS}/{created[3]['id']}"), send("POST", f"{INTENTS}/{response[3]['id']}/cancel", key="k4"),
        send("GET", f"{INTENTS}?created[gte]=0&created[lte]=9999999999&limit=1"),
    ]  # fmt: skip
    assert [status for _, _, status, _ in answers] == [200, 200, 402, 200, 200, 200]
    for answer in answers:
        assert stripe_api.response_errors(*answer) == [], answer


def test_stripe_validator_rejects_invalid_requests(stripe_api):
    for body in (
        b"currency=usd", b"amount=10.5&currency=usd", b"amount=500", b"amount=500&currency=usd&confirm=yes",
        b"amount=500&currency=usd&card_number=1", b"amount=500&currency=usd&transfer_data=acct_7",
        b"amount=500&currency=usd&automatic_payment_methods[allow_redirects]=never",
    ):  # fmt: skip
        assert stripe_api.request_errors("POST", INTENTS, {}, {}, body), body
    assert stripe_api.request_errors("POST", INTENTS, {}, {"Content-Type": "application/json"}, b"{}")
    assert stripe_api.request_errors("GET", INTENTS, {"metadata": "1"}, {}, b"")


def test_stripe_validator_rejects_invalid_responses(stripe_api):
    valid = {
        "id": "pi_1", "object": "payment_intent", "amount": 500, "currency": "usd", "status": "succeeded",
        "capture_method": "automatic", "confirmation_method": "automatic", "created": 1, "livemode": False,
        "payment_method_types": ["card"],
    }  # fmt: skip
    assert stripe_api.response_errors("GET", f"{INTENTS}/pi_1", 200, valid) == []
    for changes in ({"amount": "500"}, {"status": "paid"}, {"id": None}, {"object": "charge"}):
        assert stripe_api.response_errors("GET", f"{INTENTS}/pi_1", 200, {**valid, **changes}), changes
