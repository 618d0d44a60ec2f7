"""Crypto payments when calls to the node fail, or run concurrently."""

from datetime import timedelta
from functools import partial

import psycopg
import pytest
from django.db import connection
from django.utils import timezone

from payments.crypto import broadcast as crypto
from payments.crypto.models import CryptoPayment, CryptoTransaction
from payments.crypto.settlement import settle_crypto
from tests.api import assert_error
from tests.payments.crypto_support import AMOUNT, Payer, statuses, stored
from tests.payments.http_double import HTML, Reply, unused_address
from tests.payments.wallet_support import events
from tests.races import run_concurrently

SEND = "eth_sendRawTransaction"
FAULTY_RESPONSES = [
    Reply(status=500, content={}),
    Reply(status=429, content={"jsonrpc": "2.0", "id": 1, "error": {"code": 429, "message": "slow down"}}),
    HTML,
    Reply(raw=b'{"jsonrpc": "2.0", "id": 1, "res'),
    Reply(status=302, content={}, headers={"Location": "http://127.0.0.1:9/"}),
    {"error": {"code": -32603, "message": "internal error"}},
    {"error": {"code": -32005, "message": "limit exceeded"}},
]


def settle(*, minutes=2):
    """Run the settlement worker with the clock advanced by `minutes`."""
    return settle_crypto(now=timezone.now() + timedelta(minutes=minutes))


@pytest.mark.parametrize(("fault", "broadcasts"), [("before", 2), ("after", 1)])
def test_retried_crypto_confirmation_finds_or_sends_the_transaction_after_a_lost_response(
    payer, node, fault, broadcasts
):
    payment = payer.initiate()
    signed = payer.sign(payment["transaction"])
    node.faults[SEND] = fault
    assert_error(payer.confirm(payment, signed), 502, "E5003")
    assert stored(payment["payment_id"]).status == "broadcasting"
    node.faults.clear()
    response = payer.confirm(payment, signed)
    assert (response.status_code, response.json()["status"]) == (200, "submitted")
    assert node.broadcasts == broadcasts
    payer.chain.mined(response.json()["tx_hash"])
    assert payer.balances()[1] == AMOUNT


def test_crypto_confirmation_with_an_invalid_node_response_returns_502_and_can_be_retried(payer, node):
    payment = payer.initiate()
    signed = payer.sign(payment["transaction"])
    for fault in FAULTY_RESPONSES:
        node.faults[SEND] = fault
        assert_error(payer.confirm(payment, signed), 502, "E5003")
        assert stored(payment["payment_id"]).status == "broadcasting"
    node.faults.clear()
    assert payer.confirm(payment, signed).status_code == 200


def test_second_transaction_of_a_payment_is_rejected_while_the_first_outcome_is_unknown(payer, node):
    payment = payer.initiate()
    node.faults[SEND] = "after"
    assert_error(payer.confirm(payment, payer.sign(payment["transaction"])), 502, "E5003")
    node.faults.clear()
    for changes in ({"nonce": 1}, {"gas": 90_000}):
        assert_error(payer.confirm(payment, payer.sign(payment["transaction"], **changes)), 400, "E3007")
    assert node.broadcasts == 1


def test_crypto_payment_remains_broadcasting_after_an_unverified_rejection_by_the_node(payer, node):
    payment = payer.initiate()
    signed = payer.sign(payment["transaction"])
    node.faults = {SEND: {"error": {"code": -32000, "message": "no"}}, "eth_getTransactionByHash": "before"}
    assert_error(payer.confirm(payment, signed), 502, "E5003")
    assert stored(payment["payment_id"]).status == "broadcasting"


def test_confirmation_of_a_transaction_that_is_already_known_to_the_node_submits_the_payment(payer, node):
    """The node's error `already known` is a success for the sender."""
    payment = payer.initiate()
    signed = payer.sign(payment["transaction"])
    payer.chain.mine_by_hand()
    payer.chain.rpc(SEND, signed)
    assert payer.confirm(payment, signed).json()["status"] == "submitted"


def test_crypto_payment_remains_unsigned_if_the_node_is_unreachable_or_the_chain_disabled(payer, node, settings):
    payment, reachable = payer.initiate(), settings.SETTLEMENT_RPC_URL
    for address in ("", unused_address()):
        settings.SETTLEMENT_RPC_URL = address
        assert_error(payer.confirm(payment, payer.sign(payment["transaction"])), 502, "E5003")
        assert stored(payment["payment_id"]).status == "awaiting_signature"
    settings.SETTLEMENT_RPC_URL = reachable
    assert payer.confirm(payment, payer.sign(payment["transaction"], gas=90_000)).status_code == 200


@pytest.mark.parametrize("fault", ["before", "after"])
def test_the_settlement_worker_completes_abandoned_payments(payer, node, fault):
    payment = payer.initiate()
    node.faults[SEND] = fault
    assert_error(payer.confirm(payment, payer.sign(payment["transaction"])), 502, "E5003")
    node.faults.clear()
    tx_hash = stored(payment["payment_id"]).tx_hash
    settle()
    payer.chain.mined(tx_hash)
    settle()
    assert stored(payment["payment_id"]).status == "confirmed"
    assert payer.balances()[1] == AMOUNT
    assert node.broadcasts == {"before": 2, "after": 1}[fault]


def test_the_settlement_worker_sends_a_committed_but_unsent_transaction(payer):
    """Creates the state of a process that died immediately after its commit."""
    payment = payer.initiate()
    signed = crypto.decode_signed(payer.sign(payment["transaction"]))
    record = stored(payment["payment_id"])
    crypto._claim(record, signed, actor=crypto.Actor(payer.user, "jwt:x"), now=timezone.now())
    assert settle(minutes=0)["resumed"] == 0  # another process may still send the transaction
    assert settle()["resumed"] == 1
    payer.chain.mined(signed.tx_hash)
    assert payer.balances()[1] == AMOUNT


def test_crypto_payment_with_a_rejected_transaction_waits_for_a_signature_and_expires(payer, node):
    payment = payer.initiate()
    node.faults[SEND] = "before"
    assert_error(payer.confirm(payment, payer.sign(payment["transaction"])), 502, "E5003")
    node.faults[SEND] = {"error": {"code": -32000, "message": "no"}}
    settle()
    assert stored(payment["payment_id"]).status == "awaiting_signature"
    settle(minutes=20)
    assert stored(payment["payment_id"]).status == "expired"
    assert len(events(payer.user, "payment.crypto.expired")) == 1


@pytest.mark.usefixtures("committed", "needs_postgresql")
def test_ethereum_node_is_called_outside_of_database_transactions(payer, node):
    """During each call to the node, another session reads the state of this session from PostgreSQL."""
    states = []
    with psycopg.connect(
        host=connection.settings_dict["HOST"], user=connection.settings_dict["USER"], dbname="postgres",
        port=connection.settings_dict["PORT"] or 5432, autocommit=True,
    ) as outside:  # fmt: skip
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_backend_pid()")
            (own_pid,) = cursor.fetchone()

        def note(method):
            row = outside.execute("SELECT state FROM pg_stat_activity WHERE pid = %s", [own_pid]).fetchone()
            states.append((method, row[0]))

        node.before_each = note
        paid = payer.pay()
        payer.chain.mined(paid["tx_hash"])
        settle()
        payer.api.read(f"/payments/crypto/receipt/{paid['tx_hash']}/details")
        payer.api.read(f"/wallet/balance/{payer.wallet.pk}")
        node.before_each = None
    assert {method for method, _ in states} >= {SEND, "eth_getTransactionReceipt", "eth_call", "eth_estimateGas"}
    assert {state for _, state in states} == {"idle"}
    assert stored(paid["payment_id"]).status == "confirmed"


@pytest.mark.usefixtures("committed", "needs_postgresql", "no_rate_limits")
class TestConcurrentConfirmations:
    """Concurrent confirmations and settlements."""

    def test_concurrent_confirmations_of_a_transaction_pay_only_once(self, payer):
        for nonce in range(5):
            payment = payer.initiate()
            assert payment["transaction"]["nonce"] == nonce
            signed = payer.sign(payment["transaction"])
            answers = run_concurrently(*[partial(payer.confirm, payment, signed)] * 6)
            assert {answer.status_code for answer in answers} <= {200, 409}
            assert len({answer.content for answer in answers if answer.status_code == 200}) == 1
            payer.chain.mined(stored(payment["payment_id"]).tx_hash)
            assert CryptoTransaction.objects.filter(payment_id=payment["payment_id"]).count() == 1
            assert statuses(payment["payment_id"])[-1] == "submitted"
        assert payer.balances()[1] == 5 * AMOUNT

    def test_concurrent_different_transactions_for_a_payment_result_in_one_sent_transaction(self, evm, api, user, node):
        for _ in range(5):
            payer = Payer(evm, api, user)
            payment = payer.initiate()
            signed = [payer.sign(payment["transaction"], nonce=ahead) for ahead in range(4)]
            sent = node.broadcasts
            answers = run_concurrently(*[partial(payer.confirm, payment, item) for item in signed])
            assert sorted(answer.status_code for answer in answers) == [200, 400, 400, 400]
            assert node.broadcasts == sent + 1
            assert CryptoTransaction.objects.filter(payment_id=payment["payment_id"]).count() == 1

    def test_transaction_confirmed_concurrently_for_two_crypto_payments_pays_only_one_payment(self, payer):
        first, second = payer.initiate(), payer.initiate()
        signed = payer.sign(first["transaction"])
        answers = run_concurrently(*[partial(payer.confirm, payment, signed) for payment in (first, second)])
        assert sorted(answer.status_code for answer in answers) == [200, 400]
        assert CryptoPayment.objects.filter(status="submitted").count() == 1

    def test_concurrent_settlement_workers_settle_each_payment_only_once(self, payer):
        paid = [payer.pay() for _ in range(4)]
        for item in paid:
            payer.chain.mined(item["tx_hash"])
        run_concurrently(*[settle] * 4)
        for item in paid:
            assert statuses(item["payment_id"]) == ["broadcasting", "submitted", "confirmed"]
        assert len(events(payer.user, "payment.crypto.confirmed")) == 4
