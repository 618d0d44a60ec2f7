"""GET /v1/payments/crypto/status/{tx_hash}."""

import pytest

from tests.api import assert_error
from tests.payments.http_double import unused_address

HASH = "0x" + "ab" * 32


def test_without_a_chain_the_answer_is_static_and_says_so(api):
    assert api.read(f"/payments/crypto/status/{HASH}").json() == {
        "tx_hash": HASH,
        "status": "confirmed",
        "confirmations": 12,
        "simulated": True,
    }


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


def test_a_hash_may_be_spelt_in_upper_case(api):
    assert api.read(f"/payments/crypto/status/0x{'AB' * 32}").json()["tx_hash"] == HASH


@pytest.mark.parametrize("tx_hash", ["abc", "%00", "a" * 3000, HASH[2:], HASH + "0", HASH[:-1] + "g", "0X" + HASH[2:]])
def test_what_is_no_hash_is_refused(api, tx_hash):
    assert_error(api.read(f"/payments/crypto/status/{tx_hash}"), 400, "E1001")


def test_a_node_that_is_down_is_a_provider_that_cannot_be_used(api, node, settings):
    settings.SETTLEMENT_RPC_URL = unused_address()
    assert_error(api.read(f"/payments/crypto/status/{HASH}"), 502, "E5003")


def test_a_key_with_the_scope_may_read(scoped_api):
    assert scoped_api.read(f"/payments/crypto/status/{HASH}").status_code == 200


def test_it_needs_a_credential(anonymous, db):
    assert_error(anonymous.read(f"/payments/crypto/status/{HASH}"), 401, "E2001")
