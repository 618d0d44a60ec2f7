"""GET /v1/payments/crypto/status/{tx_hash}."""

from tests.api import assert_error
from tests.payments.http_double import unused_address
from tests.payments.test_crypto_confirm import HASH


def test_a_transaction_is_followed_from_the_pool_to_its_depth(payer, settings):
    settings.SETTLEMENT_CONFIRMATIONS = 3
    payer.chain.mine_by_hand()
    paid = payer.pay()

    def status():
        body = payer.api.read(f"/payments/crypto/status/{paid['tx_hash']}").json()
        assert (body["tx_hash"], body["simulated"]) == (paid["tx_hash"], False)
        return body["status"], body["confirmations"]

    assert status() == ("submitted", 0)
    payer.chain.mine()
    assert status() == ("submitted", 1)
    payer.chain.mine()
    assert status() == ("submitted", 2)
    payer.chain.mine()
    assert status() == ("confirmed", 3)


def test_a_transaction_that_reverted_has_failed(payer):
    tx_hash = payer.chain.send(payer.account, to=payer.chain.token, data="0x12345678")
    payer.chain.mined(tx_hash)
    body = payer.api.read(f"/payments/crypto/status/{tx_hash}").json()
    assert body["status"] == "failed"
    assert body["confirmations"] >= 1


def test_a_hash_that_the_chain_does_not_know_is_not_found(api, node):
    assert api.read(f"/payments/crypto/status/{HASH}").json() == {
        "tx_hash": HASH,
        "status": "not_found",
        "confirmations": 0,
        "simulated": False,
    }


def test_a_node_that_is_down_is_a_provider_that_cannot_be_used(api, node, settings):
    settings.SETTLEMENT_RPC_URL = unused_address()
    assert_error(api.read(f"/payments/crypto/status/{HASH}"), 502, "E5003")
