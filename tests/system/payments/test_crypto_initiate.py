"""POST /v1/payments/crypto/initiate, simulated and on the chain."""

from payments.chain.transactions import read_transfer
from payments.crypto.models import CryptoPayment
from tests.api import assert_error
from tests.payments.crypto_support import AMOUNT, TRANSACTION_MEMBERS, initiate
from tests.payments.http_double import Reply, unused_address
from tests.payments.wallet_support import connected


def test_initiated_crypto_payment_contains_an_unsigned_transfer(payer, node):
    body = payer.initiate()
    transaction = body["transaction"]
    assert (body["simulated"], body["network"]) == (False, "eip155:31337")
    assert set(transaction) == TRANSACTION_MEMBERS
    assert transaction["to"] == payer.chain.token
    assert read_transfer(transaction["data"]) == (payer.recipient, AMOUNT)
    assert (transaction["value"], transaction["chain_id"], transaction["nonce"]) == (0, 31337, 0)
    assert 30_000 < transaction["gas"] < 100_000
    base_fee = int(payer.chain.rpc("eth_getBlockByNumber", "latest", False)["baseFeePerGas"], 16)
    assert transaction["max_fee_per_gas"] >= base_fee
    assert 0 < transaction["max_priority_fee_per_gas"] <= transaction["max_fee_per_gas"]
    assert node.broadcasts == 0


def test_the_nonce_of_a_new_payment_includes_pending_transactions(payer):
    payer.chain.mine_by_hand()
    payer.pay()
    assert payer.initiate()["transaction"]["nonce"] == 1


def test_initiating_a_crypto_payment_without_sufficient_balance_returns_400(api, user, evm, node):
    wallet = connected(user, evm.new_account().address, network="eip155:31337")
    assert_error(initiate(api, user, wallet), 400, "E3017")
    assert not CryptoPayment.objects.exists()


def test_maximum_and_priority_fees_equal_the_gas_price_on_a_chain_without_eip_1559(payer, node):
    node.faults["eth_getBlockByNumber"] = {"result": {"number": "0x1"}}
    transaction = payer.initiate()["transaction"]
    assert transaction["max_fee_per_gas"] == transaction["max_priority_fee_per_gas"] > 0


def test_initiating_a_crypto_payment_with_a_failing_node_returns_502_and_stores_no_payment(payer, node, settings):
    for method in ("eth_getTransactionCount", "eth_getBlockByNumber", "eth_estimateGas"):
        for fault in ("before", Reply(status=503, content={}), Reply(raw=b"{")):
            node.faults = {method: fault}
            assert_error(initiate(payer.api, payer.user, payer.wallet), 502, "E5003")
    settings.SETTLEMENT_RPC_URL = unused_address()
    assert_error(initiate(payer.api, payer.user, payer.wallet), 502, "E5003")
    assert not CryptoPayment.objects.exists()


def test_initiating_a_crypto_payment_on_another_network_than_the_settlement_network_returns_400(payer):
    assert_error(initiate(payer.api, payer.user, payer.wallet, network="base"), 400, "E1001")
