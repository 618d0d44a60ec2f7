"""Test that a missing or wrongly typed member of a vendor's response becomes a documented error, and never a 500."""

import json

import pytest
from django.utils import timezone

from payments.cards.models import Payment, ProcessorEvent
from payments.cards.processors.base import ABSENT, SUCCEEDED, UNKNOWN
from payments.cards.processors.stripe import StripeProcessor
from payments.chain import rpc
from payments.wallets.models import CustodyAccount, Wallet
from tests.hostile_answers import alterations, try_each
from tests.payments.card_support import process
from tests.payments.circle_double import ENTITY_SECRET, coin
from tests.payments.crypto_support import NETWORK, initiate
from tests.payments.stripe_double import sign_event
from tests.payments.test_wallet_circle import circle  # noqa: F401  a fixture
from tests.payments.wallet_support import connected

pytestmark = pytest.mark.django_db
TRIES = 150
CODES = {"E5001", "E5002", "E5003", "E3009"}


@pytest.fixture(autouse=True)
def _no_limits(settings):
    settings.RATE_LIMITS = dict.fromkeys(settings.RATE_LIMITS)


def assert_documented(response):
    assert response.status_code in {200, 201, 400, 502}, response.content
    if response.status_code >= 400:
        assert response.json()["code"] in CODES, response.content


@pytest.mark.parametrize("method_id", ["pm_card_visa", "pm_declined", "pm_requires_action"])
def test_altered_stripe_charge_results_in_a_payment_or_a_documented_error(double, api, user, method_id):
    def pay():
        assert_documented(process(api, user, payment_method_id=method_id))

    assert try_each(double, "/v1/payment_intents", pay, TRIES, method="POST") > 0


@pytest.mark.parametrize("path", ["/v1/payment_intents/search", "/v1/payment_intents"])
def test_altered_stripe_list_results_in_a_known_payment_outcome(double, api, user, path):
    def look_up():
        result = StripeProcessor().find(Payment.objects.get(), now=timezone.now())
        assert result.outcome in {SUCCEEDED, UNKNOWN, ABSENT}

    double.search_lags = path != "/v1/payment_intents/search"
    process(api, user, payment_method_id="pm_card_visa")
    assert try_each(double, path, look_up, TRIES, method="GET") > 0


@pytest.mark.parametrize(
    "kind", ["payment_intent.succeeded", "charge.refunded", "charge.dispute.created", "refund.updated"]
)
def test_altered_stripe_event_is_accepted_or_causes_a_documented_error(double, api, anonymous, user, kind):
    process(api, user, payment_method_id="pm_card_visa")
    (intent,) = double.charges
    thing = {**intent, "payment_intent": intent["id"], "amount_refunded": 10, "status": "failed"}
    event = {"id": "evt_1", "type": kind, "created": 1_700_000_000, "data": {"object": thing}}
    for place, value, document in alterations(event, TRIES):
        ProcessorEvent.objects.all().delete()
        body = json.dumps(document).encode()
        response = anonymous.call(
            "POST", "/payments/processor-events", raw=body, Stripe_Signature=sign_event(body, "whsec_test")
        )
        assert response.status_code in {200, 400}, (place, value, response.content)


@pytest.mark.parametrize(
    ("path", "secret"),
    [
        ("/v1/w3s/developer/walletSets", ""),
        ("/v1/w3s/developer/wallets", ""),
        ("/v1/w3s/config/entity/publicKey", ENTITY_SECRET),
    ],
)
def test_altered_circle_response_results_in_a_wallet_or_a_documented_error(circle, api, settings, path, secret):  # noqa: F811
    settings.CIRCLE_ENTITY_SECRET, circle.requires_secret = secret, bool(secret)

    def connect():
        Wallet.objects.all().delete()
        CustodyAccount.objects.all().delete()
        assert_documented(api.send("/wallet/connect/circle", {}))

    assert try_each(circle, path, connect, TRIES) > 0


def test_altered_circle_list_results_in_a_wallet_or_a_documented_error(circle, api):  # noqa: F811
    circle.faults["/v1/w3s/developer/wallets"] = "after"
    api.send("/wallet/connect/circle", {})
    circle.faults.clear()

    def connect():
        Wallet.objects.all().delete()
        CustodyAccount.objects.update(address=None, provider_account_id=None, provisioned_at=None)
        assert_documented(api.send("/wallet/connect/circle", {}))

    assert try_each(circle, "/v1/w3s/wallets", connect, TRIES) > 0


def test_altered_circle_balance_results_in_a_balance_or_a_documented_error(circle, api):  # noqa: F811
    wallet = api.send("/wallet/connect/circle", {}).json()
    circle.balances[CustodyAccount.objects.get().provider_account_id] = [coin("1.5", "EURC"), coin("2.5")]

    def read():
        assert_documented(api.read(f"/wallet/balance/{wallet['id']}"))

    assert try_each(circle, "/v1/w3s/wallets/", read, TRIES) > 0


TX_HASH = "0x" + "ab" * 32


@pytest.mark.parametrize("path", ["status/{}", "receipt/{}", "receipt/{}/details"])
def test_altered_receipt_of_an_ethereum_node_is_returned_or_causes_a_documented_error(node, api, path):
    log = {"address": "0x1", "topics": ["0x" + "1" * 64] * 3, "data": "0x" + "2" * 64, "logIndex": "0x0"}
    receipt = {"transactionHash": TX_HASH, "blockNumber": "0x10", "status": "0x1", "logs": [log], "from": "0x1"}
    node.answers["eth_blockNumber"] = "0x20"
    for _place, _value, document in alterations(receipt, TRIES):
        node.answers["eth_getTransactionReceipt"] = document
        assert_documented(api.read(f"/payments/crypto/{path.format(TX_HASH)}"))


def test_altered_response_of_an_ethereum_node_results_in_a_payment_or_a_documented_error(node, api, user):
    wallet = connected(user, network=NETWORK)

    def begin():
        rpc._verified.clear()
        rpc._decimals.clear()
        assert_documented(initiate(api, user, wallet))

    assert try_each(node, "/", begin, TRIES) > 0
    for method, honest in dict(node.answers).items():
        for _place, _value, document in alterations({"result": honest}, 40):
            node.answers[method] = document.get("result") if isinstance(document, dict) else document
            begin()
        node.answers[method] = honest
