"""GET /v1/payments/crypto/receipt/{tx_hash} and its details."""

from payments.chain.transactions import TRANSFER_TOPIC, transfer_call_data
from tests.api import assert_error
from tests.payments.crypto_support import AMOUNT
from tests.payments.http_double import unused_address
from tests.payments.test_crypto_confirm import HASH

ENDINGS = ("", "/details")


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


def read(api, tx_hash, ending=""):
    """Request the receipt of a transaction, or with `/details` its details."""
    return api.read(f"/payments/crypto/receipt/{tx_hash}{ending}")


def is_verified(api, tx_hash):
    """Return whether a transaction is verified: both operations return the same."""
    (verdict,) = {read(api, tx_hash, ending).json()["verified"] for ending in ENDINGS}
    return verdict


def test_the_receipt_of_a_pending_payment_is_not_verified(payer):
    payer.chain.mine_by_hand()
    assert not is_verified(payer.api, payer.pay()["tx_hash"])


def test_the_receipt_of_a_payment_in_a_replaced_block_is_not_verified(payer):
    paid = payer.pay()
    payer.chain.mined(paid["tx_hash"])
    assert is_verified(payer.api, paid["tx_hash"])
    payer.chain.rpc("anvil_reorg", 1, [])
    assert not is_verified(payer.api, paid["tx_hash"])


def test_only_the_receipt_of_a_transfer_of_the_settlement_token_is_verified(payer, settings):
    token, transfer = payer.chain.token, transfer_call_data(payer.recipient, 7)
    outside, without_transfer = (
        payer.chain.send(payer.account, to=to, data=data) for to, data in ((token, transfer), (payer.recipient, "0x"))
    )
    for tx_hash in (outside, without_transfer):
        payer.chain.mined(tx_hash)
    assert is_verified(payer.api, outside)
    assert not is_verified(payer.api, without_transfer)
    assert not is_verified(payer.api, HASH)  # an unknown transaction
    settings.SETTLEMENT_TOKEN_ADDRESS = payer.recipient
    assert not is_verified(payer.api, outside)


def test_a_reverted_transaction_has_a_receipt_and_is_not_verified(payer):
    tx_hash = payer.chain.send(payer.account, to=payer.chain.token, data="0x12345678")
    payer.chain.mined(tx_hash)
    details = read(payer.api, tx_hash, "/details").json()
    assert (details["verified"], details["receipt"]["status"]) == (False, "0x0")


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
        for ending in ENDINGS:
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
        for ending in ENDINGS:
            response = read(api, HASH, ending)
            assert (response.status_code, response.json()["verified"]) == (200, False), log


def test_a_receipt_request_with_an_unreachable_node_returns_502(api, node, settings):
    settings.SETTLEMENT_RPC_URL = unused_address()
    for ending in ENDINGS:
        assert_error(read(api, HASH, ending), 502, "E5003")
