"""`settle_crypto` settles submitted payments, and expires unsigned payments."""

from datetime import timedelta

import pytest
from django.db import DatabaseError, transaction
from django.utils import timezone

from payments.chain.transactions import transfer_call_data
from payments.crypto import settlement as crypto
from payments.crypto.models import CryptoPaymentHistory, CryptoTransaction
from tests.api import assert_error
from tests.payments.crypto_support import AMOUNT, statuses, stored
from tests.payments.http_double import unused_address
from tests.payments.test_crypto_settlement import NOTHING, settle
from tests.payments.wallet_support import events


def test_a_payment_is_confirmed_after_enough_blocks(payer, settings):
    settings.SETTLEMENT_CONFIRMATIONS = 3
    payer.chain.mine_by_hand()
    paid = payer.pay()
    for _ in range(3):
        assert settle() == {**NOTHING, "waiting": 1}
        assert stored(paid["payment_id"]).status == "submitted"
        payer.chain.mine()
    assert settle() == {**NOTHING, "confirmed": 1}
    payment = stored(paid["payment_id"])
    mined = payer.chain.mined(paid["tx_hash"])
    assert (payment.status, payment.block_number) == ("confirmed", int(mined["blockNumber"], 16))
    assert payment.settled_at is not None
    (event,) = events(payer.user, "payment.crypto.confirmed")
    assert (event["payment_id"], event["tx_hash"]) == (paid["payment_id"], paid["tx_hash"])
    assert settle() == NOTHING


def test_a_pending_payment_is_checked_every_ten_seconds(payer, node, monkeypatch):
    monkeypatch.setattr("payments.crypto.settlement.LOOK_AGAIN_SECONDS", 10)
    payer.chain.mine_by_hand()
    payer.pay()
    now = timezone.now()
    assert crypto.settle_crypto(now=now) == {**NOTHING, "waiting": 1}
    count = len(node.received)
    assert crypto.settle_crypto(now=now + timedelta(seconds=9)) == NOTHING
    assert len(node.received) == count
    payer.chain.mine()
    assert crypto.settle_crypto(now=now + timedelta(seconds=10)) == {**NOTHING, "confirmed": 1}


def test_a_repeated_confirmation_of_a_settled_payment_returns_its_status(payer):
    payment = payer.initiate()
    signed = payer.sign(payment["transaction"])
    tx_hash = payer.confirm(payment, signed).json()["tx_hash"]
    payer.chain.mined(tx_hash)
    settle()
    assert payer.confirm(payment, signed).json()["status"] == "confirmed"


def test_a_payment_with_a_reverted_transfer_fails(payer):
    """The payer spends the tokens before the transfer is mined."""
    payer.chain.mine_by_hand()
    payment = payer.initiate()
    spent = transfer_call_data(payer.chain.issuer.address, 10 * AMOUNT)
    payer.chain.send(payer.account, to=payer.chain.token, data=spent)
    tx_hash = payer.confirm(payment, payer.sign(payment["transaction"], nonce=1)).json()["tx_hash"]
    payer.chain.mine()
    assert payer.chain.mined(tx_hash)["status"] == "0x0"
    assert settle() == {**NOTHING, "failed": 1}
    failed = stored(payment["payment_id"])
    assert (failed.status, failed.failure) == ("failed", "reverted")
    assert payer.balances()[1] == 0
    assert len(events(payer.user, "payment.crypto.failed")) == 1


def test_a_payment_whose_receipt_has_no_transfer_fails(payer, node):
    """Some tokens return false instead of reverting the transaction."""
    paid = payer.pay()
    receipt = payer.chain.mined(paid["tx_hash"])
    node.faults["eth_getTransactionReceipt"] = {"result": {**receipt, "logs": []}}
    assert settle() == {**NOTHING, "failed": 1}
    assert stored(paid["payment_id"]).failure == "no_transfer"


def test_a_payment_whose_block_was_replaced_is_sent_again_and_settles(payer, settings, node):
    settings.SETTLEMENT_CONFIRMATIONS = 2
    paid = payer.pay()
    payer.chain.mined(paid["tx_hash"])
    assert settle() == {**NOTHING, "waiting": 1}
    payer.chain.rpc("anvil_reorg", 1, [])
    assert payer.balances()[1] == 0
    sent = node.broadcasts
    outcome = settle()
    assert outcome in ({**NOTHING, "resumed": 1}, {**NOTHING, "waiting": 1})  # the transaction may still be in the pool
    assert node.broadcasts == sent + outcome["resumed"]
    payer.chain.mine()
    payer.chain.mined(paid["tx_hash"])
    payer.chain.mine(2)
    assert settle() == {**NOTHING, "confirmed": 1}
    assert payer.balances()[1] == AMOUNT
    assert statuses(paid["payment_id"]) == ["broadcasting", "submitted", "confirmed"]


def test_dropped_transaction_is_sent_again_until_accepted_by_the_node(payer, node):
    payer.chain.mine_by_hand()
    paid = payer.pay()
    payer.chain.rpc("anvil_dropTransaction", paid["tx_hash"])
    payer.chain.rpc("anvil_setBalance", payer.account.address, "0x0")
    assert settle() == {**NOTHING, "waiting": 1}
    assert stored(paid["payment_id"]).status == "submitted"
    payer.chain.rpc("anvil_setBalance", payer.account.address, hex(10**18))
    assert settle(minutes=20) == {**NOTHING, "resumed": 1}
    assert node.broadcasts == 3
    payer.chain.mine()
    payer.chain.mined(paid["tx_hash"])
    assert settle(minutes=40) == {**NOTHING, "confirmed": 1}
    assert payer.balances()[1] == AMOUNT


def test_a_payment_whose_transaction_was_replaced_fails_after_enough_blocks(payer, settings):
    """The payer sends another transaction with the same nonce and a higher fee."""
    settings.SETTLEMENT_CONFIRMATIONS = 2
    payer.chain.mine_by_hand()
    paid = payer.pay()
    payer.chain.send(
        payer.account, to=payer.recipient, data="0x", nonce=0, maxFeePerGas=10**11, maxPriorityFeePerGas=10**11
    )
    payer.chain.mine()
    assert settle()["failed"] == 0  # the block of the replacement may still be replaced
    payer.chain.mine()
    assert settle() == {**NOTHING, "failed": 1}
    failed = stored(paid["payment_id"])
    assert (failed.status, failed.failure) == ("failed", "replaced")
    assert payer.balances()[1] == 0


def test_a_payment_with_two_transactions_settles_with_the_mined_transaction(payer, node):
    """The node rejects the first transaction. The payer sends a second, but the first is sent elsewhere and mined."""
    payer.chain.mine_by_hand()
    payment = payer.initiate()
    first = payer.sign(payment["transaction"], maxFeePerGas=10**11, maxPriorityFeePerGas=10**11)
    node.faults["eth_sendRawTransaction"] = {"error": {"code": -32000, "message": "no"}}
    assert_error(payer.confirm(payment, first), 400, "E3009")
    node.faults.clear()
    second = payer.confirm(payment, payer.sign(payment["transaction"])).json()["tx_hash"]
    winner = payer.chain.rpc("eth_sendRawTransaction", first)
    payer.chain.mine()
    payer.chain.mined(winner)
    assert settle() == {**NOTHING, "confirmed": 1}
    settled = stored(payment["payment_id"])
    assert (settled.status, settled.tx_hash) == ("confirmed", winner)
    assert winner != second
    assert payer.balances()[1] == AMOUNT


def test_a_payment_without_a_signature_expires_after_15_minutes(payer):
    payment = payer.initiate()
    assert settle(minutes=14) == NOTHING
    assert settle(minutes=15) == {**NOTHING, "expired": 1}
    assert stored(payment["payment_id"]).status == "expired"
    (event,) = events(payer.user, "payment.crypto.expired")
    assert (event["payment_id"], event["tx_hash"]) == (payment["payment_id"], None)
    assert_error(payer.confirm(payment, payer.sign(payment["transaction"])), 400, "E3008")


def test_a_payment_whose_rejected_transaction_is_mined_does_not_expire(payer, node):
    payment = payer.initiate()
    signed = payer.sign(payment["transaction"])
    node.faults["eth_sendRawTransaction"] = {"error": {"code": -32000, "message": "no"}}
    assert_error(payer.confirm(payment, signed), 400, "E3009")
    node.faults.clear()
    payer.chain.mined(payer.chain.rpc("eth_sendRawTransaction", signed))
    assert settle(minutes=20)["expired"] == 0
    assert stored(payment["payment_id"]).status == "submitted"
    assert settle(minutes=20)["confirmed"] == 1


def test_settlement_with_an_unreachable_node_or_a_disabled_chain_changes_no_payment(payer, settings):
    paid = payer.pay()
    for address, minutes, outcome in ((unused_address(), 20, "unreachable"), ("", 40, "waiting")):
        settings.SETTLEMENT_RPC_URL = address
        assert settle(minutes=minutes) == {**NOTHING, outcome: 1}
        assert stored(paid["payment_id"]).status == "submitted"


def test_the_database_rejects_changes_of_payment_history_and_transactions(payer):
    payment = payer.pay()["payment_id"]
    for rows in (CryptoPaymentHistory.objects.all(), CryptoTransaction.objects.all()):
        for change in (rows.delete, lambda rows=rows: rows.update(payment=payment)):
            with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
                change()
