"""GET /v1/payments/crypto/status/{tx_hash}."""

from tests.api import assert_error
from tests.payments.http_double import unused_address
from tests.payments.test_crypto_confirm import HASH


def test_the_status_of_a_transaction_depends_on_its_confirmations(payer, settings):
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


def test_the_status_of_a_reverted_transaction_is_failed(payer):
    tx_hash = payer.chain.send(payer.account, to=payer.chain.token, data="0x12345678")
    payer.chain.mined(tx_hash)
    body = payer.api.read(f"/payments/crypto/status/{tx_hash}").json()
    assert body["status"] == "failed"
    assert body["confirmations"] >= 1


def test_the_status_of_an_unknown_hash_is_not_found(api, node):
    assert api.read(f"/payments/crypto/status/{HASH}").json() == {
        "tx_hash": HASH,
        "status": "not_found",
        "confirmations": 0,
        "simulated": False,
    }


def test_a_status_request_with_an_unreachable_node_returns_502(api, node, settings):
    settings.SETTLEMENT_RPC_URL = unused_address()
    assert_error(api.read(f"/payments/crypto/status/{HASH}"), 502, "E5003")
