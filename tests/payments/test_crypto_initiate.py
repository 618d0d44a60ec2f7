"""POST /v1/payments/crypto/initiate, simulated and on the chain."""

from datetime import datetime, timedelta

import pytest
from django.utils import timezone

from payments.chain.transactions import read_transfer
from payments.crypto.models import CryptoPayment
from tests.api import assert_error
from tests.payments.crypto_support import AMOUNT, INITIATED_MEMBERS, TRANSACTION_MEMBERS, initiate, stored
from tests.payments.wallet_support import MISTYPED_ADDRESS, NETWORK, OTHER_ADDRESS, connected, custodial, events


def test_without_a_chain_the_payload_is_a_placeholder_and_says_so(api, user):
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


def test_it_is_told_with_ids_and_statuses_only(api, user):
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


def test_an_amount_of_zero_is_allowed(api, user):
    assert initiate(api, user, connected(user), amount_usdc=0).json()["amount_usdc"] == 0


def test_the_largest_amount_is_kept(api, user):
    assert initiate(api, user, connected(user), amount_usdc=2**63 - 1).json()["amount_usdc"] == 2**63 - 1


@pytest.mark.parametrize("address", ["", "0x12", OTHER_ADDRESS + "0", MISTYPED_ADDRESS, "0x" + "z" * 40, 5, None])
def test_a_recipient_that_is_no_address_is_refused(api, user, address):
    assert_error(initiate(api, user, connected(user), to_address=address), 400, "E1001")


@pytest.mark.parametrize("network", ["solana:mainnet", "eip155:0", "nowhere", 1, ""])
def test_a_network_that_is_none_is_refused(api, user, network):
    assert_error(initiate(api, user, connected(user), network=network), 400, "E1001")


@pytest.mark.parametrize("given", [None, "base", "eip155:8453"])
def test_the_settlement_network_is_the_default(api, user, given):
    assert initiate(api, user, connected(user), network=given).json()["network"] == NETWORK


def test_a_wallet_whose_keys_a_provider_holds_cannot_pay(api, user):
    body = assert_error(initiate(api, user, custodial(user)), 400, "E1001")
    assert body["details"][0]["field"] == "wallet_id"


def test_another_persons_wallet_is_not_there(api, user, stranger):
    assert_error(initiate(api, user, connected(stranger)), 404, "E4006")


def test_a_disconnected_wallet_is_not_there(api, user):
    wallet = connected(user)
    api.remove(f"/wallet/disconnect/{wallet.pk}")
    assert_error(initiate(api, user, wallet), 404, "E4006")


@pytest.mark.parametrize("user_id", ["0", "1000000", "042"])
def test_a_user_id_that_is_not_the_callers_is_a_mismatch_before_anything_else(api, user, stranger, user_id):
    assert_error(initiate(api, user, connected(stranger), user_id=user_id), 401, "E2004")


@pytest.mark.parametrize("member", ["description", "wallet_id", "to_address", "nowhere"])
def test_a_card_number_in_any_member_is_refused_and_not_kept(api, user, member, caplog):
    number = "4242 4242 4242 4242"
    body = assert_error(initiate(api, user, connected(user), **{member: number}), 400, "E1012")
    assert "4242" not in str(body) + caplog.text
    assert not CryptoPayment.objects.exists()
