"""POST /v1/payments/crypto/initiate, simulated and on the chain."""

from datetime import datetime, timedelta

import pytest
from django.utils import timezone

from payments.chain.transactions import read_transfer
from tests.api import assert_error
from tests.payments.crypto_support import AMOUNT, INITIATED_MEMBERS, TRANSACTION_MEMBERS, initiate, stored
from tests.payments.wallet_support import MISTYPED_ADDRESS, NETWORK, OTHER_ADDRESS, connected, custodial, events


def test_without_a_chain_the_payload_is_a_marked_placeholder(api, user):
    wallet = connected(user)
    response = initiate(api, user, wallet, description="rent")
    assert response.status_code == 200
    body = response.json()
    assert set(body) == INITIATED_MEMBERS
    assert set(body["transaction"]) == TRANSACTION_MEMBERS
    assert (body["status"], body["simulated"]) == ("awaiting_signature", True)
    assert (body["wallet_id"], body["to_address"]) == (str(wallet.pk), OTHER_ADDRESS)
    assert (body["amount_usdc"], body["network"]) == (AMOUNT, NETWORK)
    # Whoever signs and sends it all the same moves nothing.
    assert read_transfer(body["transaction"]["data"]) is None
    assert body["transaction"]["value"] == 0
    payment = stored(body["payment_id"])
    assert (payment.simulated, payment.description, payment.user_id) == (True, "rent", user.pk)


def test_the_event_has_ids_and_statuses_only(api, user):
    body = initiate(api, user, connected(user), description="rent").json()
    assert events(user, "payment.crypto.initiated") == [
        {
            "payment_id": body["payment_id"], "status": "awaiting_signature", "network": NETWORK, "tx_hash": None,
            "simulated": True,
        }
    ]  # fmt: skip


def test_there_are_fifteen_minutes_to_sign(api, user):
    before = timezone.now()
    expires_at = datetime.fromisoformat(initiate(api, user, connected(user)).json()["expires_at"])
    assert timedelta(minutes=15) <= expires_at - before < timedelta(minutes=16)


def test_any_amount_is_kept(api, user):
    wallet = connected(user)
    for amount in (0, 2**63 - 1):
        assert initiate(api, user, wallet, amount_usdc=amount).json()["amount_usdc"] == amount


@pytest.mark.parametrize(
    "changes",
    [{"to_address": MISTYPED_ADDRESS}, {"to_address": "0x" + "z" * 40}, {"network": "solana:mainnet"},
     {"network": "eip155:0"}, {"network": "nowhere"}],
)  # fmt: skip
def test_an_invalid_address_or_network_is_rejected(api, user, changes):
    assert_error(initiate(api, user, connected(user), **changes), 400, "E1001")


def test_the_settlement_network_is_the_default(api, user):
    wallet = connected(user)
    for given in (None, "base", "eip155:8453"):
        assert initiate(api, user, wallet, network=given).json()["network"] == NETWORK


def test_a_wallet_whose_keys_a_provider_holds_cannot_pay(api, user):
    body = assert_error(initiate(api, user, custodial(user)), 400, "E1001")
    assert body["details"][0]["field"] == "wallet_id"


def test_another_persons_and_a_disconnected_wallet_are_not_there(api, user, stranger):
    assert_error(initiate(api, user, connected(stranger)), 404, "E4006")
    wallet = connected(user)
    api.remove(f"/wallet/disconnect/{wallet.pk}")
    assert_error(initiate(api, user, wallet), 404, "E4006")


def test_a_user_id_that_is_not_the_callers_is_a_mismatch_before_anything_else(api, user, stranger):
    assert_error(initiate(api, user, connected(stranger), user_id="0"), 401, "E2004")
