"""GET /v1/payments/crypto/receipt/{tx_hash} and its details."""

import pytest

from payments.chain.transactions import TRANSFER_TOPIC, transfer_call_data
from tests.api import assert_error
from tests.payments.crypto_support import AMOUNT
from tests.payments.http_double import unused_address
from tests.payments.test_crypto_confirm import HASH, read

BOTH = pytest.mark.parametrize("ending", ["", "/details"])


def test_the_receipt_of_a_mined_payment_is_verified_with_its_transfer(payer):
    paid = payer.pay()
    mined = payer.chain.mined(paid["tx_hash"])
    fields = {"tx_hash": paid["tx_hash"], "verified": True, "network": "eip155:31337"}
    assert read(payer.api, paid["tx_hash"]).json() == fields
    details = read(payer.api, paid["tx_hash"], "/details").json()
    receipt = details.pop("receipt")
    assert details == {
        **fields,
        "block_number": int(mined["blockNumber"], 16),
        "from": payer.account.address,
        "to": payer.recipient,
        "amount_usdc": AMOUNT,
        "confirmations": 1,
    }
    assert receipt["transactionHash"] == paid["tx_hash"]
    assert receipt["blockHash"] == mined["blockHash"]
    assert len(receipt["logs"]) == 1


@BOTH
def test_the_receipt_of_a_pending_payment_is_not_verified(payer, ending):
    payer.chain.mine_by_hand()
    assert read(payer.api, payer.pay()["tx_hash"], ending).json()["verified"] is False


@BOTH
def test_the_receipt_of_a_payment_in_a_replaced_block_is_not_verified(payer, ending):
    paid = payer.pay()
    payer.chain.mined(paid["tx_hash"])
    assert read(payer.api, paid["tx_hash"], ending).json()["verified"] is True
    payer.chain.rpc("anvil_reorg", 1, [])
    assert read(payer.api, paid["tx_hash"], ending).json()["verified"] is False


@BOTH
def test_the_receipt_of_a_transfer_outside_the_platform_is_verified(payer, ending):
    data = transfer_call_data(payer.recipient, 7)
    tx_hash = payer.chain.send(payer.account, to=payer.chain.token, data=data)
    payer.chain.mined(tx_hash)
    assert read(payer.api, tx_hash, ending).json()["verified"] is True


@BOTH
def test_the_receipt_of_a_transaction_without_a_transfer_is_not_verified(payer, ending):
    tx_hash = payer.chain.send(payer.account, to=payer.recipient, data="0x")
    payer.chain.mined(tx_hash)
    assert read(payer.api, tx_hash, ending).json()["verified"] is False


@BOTH
def test_receipt_for_a_transfer_of_another_token_is_not_verified(payer, settings, ending):
    paid = payer.pay()
    payer.chain.mined(paid["tx_hash"])
    settings.SETTLEMENT_TOKEN_ADDRESS = payer.recipient
    assert read(payer.api, paid["tx_hash"], ending).json()["verified"] is False


def test_a_reverted_transaction_has_a_receipt_and_is_not_verified(payer):
    tx_hash = payer.chain.send(payer.account, to=payer.chain.token, data="0x12345678")
    payer.chain.mined(tx_hash)
    details = read(payer.api, tx_hash, "/details").json()
    assert (details["verified"], details["receipt"]["status"]) == (False, "0x0")


@BOTH
def test_the_receipt_of_an_unknown_transaction_hash_is_not_verified(api, node, ending):
    assert read(api, HASH, ending).json()["verified"] is False


def test_a_malformed_receipt_from_the_node_returns_502(api, node):
    for receipt in (
        "x",
        {},
        {"transactionHash": HASH, "blockNumber": "0x1"},
        {"transactionHash": HASH, "blockNumber": 5, "status": "0x1"},
        {"transactionHash": "0x" + "cd" * 32, "blockNumber": "0x1", "status": "0x1"},
        {"transactionHash": HASH, "blockNumber": "0x1", "status": "yes", "logs": []},
    ):
        node.faults["eth_getTransactionReceipt"] = {"result": receipt}
        for ending in ("", "/details"):
            assert_error(read(api, HASH, ending), 502, "E5003")


ZEROES = "0x" + "00" * 32


def test_a_receipt_with_other_or_malformed_event_logs_is_not_verified(api, node, evm):
    ours = {"address": evm.token, "data": ZEROES}
    receipt = {"transactionHash": HASH, "blockNumber": "0x1", "status": "0x1", "gasUsed": 2**70, "type": "\ud800\0"}
    for log in (
        "x",
        None,
        {},
        {"address": evm.token},
        {**ours, "topics": 5, "data": "0x"},
        {**ours, "topics": [TRANSFER_TOPIC, "0x12", "0x34"]},
        {**ours, "topics": [TRANSFER_TOPIC, 1, 2]},
        {**ours, "topics": [TRANSFER_TOPIC, "0x" + "zz" * 32, ZEROES]},
        {**ours, "topics": [TRANSFER_TOPIC, ZEROES, ZEROES], "data": "0x1"},
        {**ours, "topics": [TRANSFER_TOPIC, ZEROES]},
    ):
        node.faults["eth_getTransactionReceipt"] = {"result": {**receipt, "logs": [log]}}
        for ending in ("", "/details"):
            response = read(api, HASH, ending)
            assert (response.status_code, response.json()["verified"]) == (200, False), log


@BOTH
def test_a_receipt_request_with_an_unreachable_node_returns_502(api, node, settings, ending):
    settings.SETTLEMENT_RPC_URL = unused_address()
    assert_error(read(api, HASH, ending), 502, "E5003")
