"""GET /v1/payments/crypto/receipt/{tx_hash} and its details."""

import pytest

from tests.api import assert_error

HASH = "0x" + "ab" * 32
BOTH = pytest.mark.parametrize("ending", ["", "/details"])


def read(api, tx_hash, ending=""):
    """Read a receipt."""
    return api.read(f"/payments/crypto/receipt/{tx_hash}{ending}")


def test_without_a_chain_nothing_is_verified(api):
    assert read(api, HASH).json() == {"tx_hash": HASH, "verified": False, "network": "eip155:8453"}


def test_without_a_chain_the_receipt_has_no_details(api):
    assert read(api, HASH, "/details").json() == {
        "tx_hash": HASH, "verified": False, "network": "eip155:8453", "block_number": None, "from": None, "to": None,
        "amount_usdc": None, "confirmations": 0, "receipt": None,
    }  # fmt: skip


@BOTH
def test_an_invalid_hash_is_rejected(api, ending):
    for tx_hash in ("abc", "%00", HASH[2:]):
        assert_error(read(api, tx_hash, ending), 400, "E1001")
