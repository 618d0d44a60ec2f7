"""GET /v1/payments/crypto/receipt/{tx_hash} and its details."""

import pytest

from payments.chain.transactions import transfer_call_data
from tests.api import assert_error
from tests.payments.crypto_support import AMOUNT
from tests.payments.http_double import unused_address

HASH = "0x" + "ab" * 32
BOTH = pytest.mark.parametrize("ending", ["", "/details"])


def read(api, tx_hash, ending=""):
    """Read a receipt."""
    return api.read(f"/payments/crypto/receipt/{tx_hash}{ending}")


def test_without_a_chain_nothing_is_verified(api):
    assert read(api, HASH).json() == {"tx_hash": HASH, "verified": False, "network": "eip155:8453"}


def test_without_a_chain_there_are_no_details(api):
    assert read(api, HASH, "/details").json() == {
        "tx_hash": HASH,
        "verified": False,
        "network": "eip155:8453",
        "block_number": None,
        "from": None,
        "to": None,
        "amount_usdc": None,
        "confirmations": 0,
        "receipt": None,
    }


def test_a_payment_that_is_in_a_block_is_verified_with_all_that_it_moved(payer):
    paid = payer.pay()
    mined = payer.chain.mined(paid["tx_hash"])
    assert read(payer.api, paid["tx_hash"]).json() == {
        "tx_hash": paid["tx_hash"],
        "verified": True,
        "network": "eip155:31337",
    }
    details = read(payer.api, paid["tx_hash"], "/details").json()
    receipt = details.pop("receipt")
    assert details == {
        "tx_hash": paid["tx_hash"],
        "verified": True,
        "network": "eip155:31337",
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
def test_a_payment_that_waits_for_a_block_is_not_verified(payer, ending):
    payer.chain.mine_by_hand()
    assert read(payer.api, payer.pay()["tx_hash"], ending).json()["verified"] is False


@BOTH
def test_a_payment_whose_block_was_replaced_is_no_longer_verified(payer, ending):
    paid = payer.pay()
    payer.chain.mined(paid["tx_hash"])
    assert read(payer.api, paid["tx_hash"], ending).json()["verified"] is True
    payer.chain.rpc("anvil_reorg", 1, [])
    assert read(payer.api, paid["tx_hash"], ending).json()["verified"] is False


@BOTH
def test_a_transfer_outside_the_platform_is_verified_too(payer, ending):
    data = transfer_call_data(payer.recipient, 7)
    tx_hash = payer.chain.send(payer.account, to=payer.chain.token, data=data)
    payer.chain.mined(tx_hash)
    assert read(payer.api, tx_hash, ending).json()["verified"] is True


@BOTH
def test_a_transaction_that_moves_no_token_is_not_verified(payer, ending):
    tx_hash = payer.chain.send(payer.account, to=payer.recipient, data="0x")
    payer.chain.mined(tx_hash)
    assert read(payer.api, tx_hash, ending).json()["verified"] is False


@BOTH
def test_a_transfer_of_another_token_is_not_verified(payer, settings, ending):
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
def test_an_unknown_hash_is_not_verified(api, node, ending):
    assert read(api, HASH, ending).json()["verified"] is False


@pytest.mark.parametrize(
    "receipt",
    [
        "x",
        {},
        {"transactionHash": HASH, "blockNumber": "0x1"},
        {"transactionHash": HASH, "blockNumber": 5, "status": "0x1"},
        {"transactionHash": "0x" + "cd" * 32, "blockNumber": "0x1", "status": "0x1"},
        {"transactionHash": HASH, "blockNumber": "0x1", "status": "yes", "logs": []},
    ],
)
@BOTH
def test_a_receipt_that_cannot_be_read_is_no_answer(api, node, receipt, ending):
    node.faults["eth_getTransactionReceipt"] = {"result": receipt}
    assert_error(read(api, HASH, ending), 502, "E5003")


@pytest.mark.parametrize(
    "log",
    [
        "x",
        None,
        {},
        {"address": "TOKEN"},
        {"address": "TOKEN", "topics": 5, "data": "0x"},
        {"address": "TOKEN", "topics": ["TOPIC", "0x12", "0x34"], "data": "0x" + "00" * 32},
        {"address": "TOKEN", "topics": ["TOPIC", 1, 2], "data": "0x" + "00" * 32},
        {"address": "TOKEN", "topics": ["TOPIC", "0x" + "zz" * 32, "0x" + "00" * 32], "data": "0x" + "00" * 32},
        {"address": "TOKEN", "topics": ["TOPIC", "0x" + "00" * 32, "0x" + "00" * 32], "data": "0x1"},
        {"address": "TOKEN", "topics": ["TOPIC", "0x" + "00" * 32], "data": "0x" + "00" * 32},
    ],
)
@BOTH
def test_a_log_that_is_no_transfer_verifies_nothing_and_breaks_nothing(api, node, evm, log, ending):
    from payments.chain.transactions import TRANSFER_TOPIC

    if isinstance(log, dict) and log.get("address") == "TOKEN":
        log = {**log, "address": evm.token}
        if isinstance(log.get("topics"), list):
            log["topics"] = [TRANSFER_TOPIC if topic == "TOPIC" else topic for topic in log["topics"]]
    receipt = {
        "transactionHash": HASH,
        "blockNumber": "0x1",
        "status": "0x1",
        "logs": [log],
        "gasUsed": 2**70,
        "type": "\ud800\0",
    }
    node.faults["eth_getTransactionReceipt"] = {"result": receipt}
    response = read(api, HASH, ending)
    assert response.status_code == 200
    assert response.json()["verified"] is False


@BOTH
@pytest.mark.parametrize("tx_hash", ["abc", "%00", "a" * 3000, HASH[2:]])
def test_what_is_no_hash_is_refused(api, tx_hash, ending):
    assert_error(read(api, tx_hash, ending), 400, "E1001")


@BOTH
def test_a_node_that_is_down_is_a_provider_that_cannot_be_used(api, node, settings, ending):
    settings.SETTLEMENT_RPC_URL = unused_address()
    assert_error(read(api, HASH, ending), 502, "E5003")


@BOTH
def test_a_key_with_scopes_may_not_read_payments(scoped_api, ending):
    assert_error(read(scoped_api, HASH, ending), 403, "E2005")


@BOTH
def test_it_needs_a_credential(anonymous, db, ending):
    assert_error(read(anonymous, HASH, ending), 401, "E2001")
