"""GET /v1/payments/crypto/status/{tx_hash}."""

from tests.api import assert_error

HASH = "0x" + "ab" * 32


def test_without_a_chain_the_answer_is_marked_as_static(api):
    assert api.read(f"/payments/crypto/status/{HASH}").json() == {
        "tx_hash": HASH, "status": "confirmed", "confirmations": 12, "simulated": True,
    }  # fmt: skip


def test_a_hash_may_be_spelt_in_upper_case(api):
    assert api.read(f"/payments/crypto/status/0x{'AB' * 32}").json()["tx_hash"] == HASH


def test_an_invalid_hash_is_rejected(api):
    for tx_hash in ("abc", "%00", "0X" + HASH[2:]):
        assert_error(api.read(f"/payments/crypto/status/{tx_hash}"), 400, "E1001")
