"""Test `/v1/payments/crypto` without a configured chain, and that the code contains no private key."""

import re
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from django.utils import timezone

from payments.chain.addresses import parse_transaction_hash
from payments.chain.transactions import read_transfer
from payments.crypto.models import CryptoPayment
from tests.api import assert_error
from tests.payments.crypto_support import (
    AMOUNT,
    INITIATED_MEMBERS,
    TRANSACTION_MEMBERS,
    confirm,
    initiate,
    statuses,
    stored,
)
from tests.payments.wallet_support import MISTYPED_ADDRESS, NETWORK, OTHER_ADDRESS, connected, custodial, events


@pytest.fixture
def payment_id(api, user):
    """Return the id of a simulated payment that waits for its signature."""
    return initiate(api, user, connected(user)).json()["payment_id"]


def overdue(payment_id):
    """Move the signing deadline of a payment into the past."""
    CryptoPayment.objects.filter(pk=payment_id).update(expires_at=timezone.now() - timedelta(seconds=1))


def test_crypto_confirmation_is_marked_as_simulated_if_no_chain_is_configured(api, user, payment_id):
    response = confirm(api, payment_id, "0xabcdef")
    assert response.status_code == 200
    body = response.json()
    assert set(body) == {"payment_id", "tx_hash", "status", "simulated"}
    assert (body["payment_id"], body["status"], body["simulated"]) == (payment_id, "submitted", True)
    assert parse_transaction_hash(body["tx_hash"]) == body["tx_hash"]
    assert statuses(payment_id) == ["broadcasting", "submitted"]
    (event,) = events(user, "payment.crypto.submitted")
    assert (event["payment_id"], event["tx_hash"], event["status"]) == (payment_id, body["tx_hash"], "submitted")


def test_repeated_crypto_confirmation_returns_the_same_response_after_the_deadline(api, user, payment_id):
    first = confirm(api, payment_id, "0xabcdef").json()
    other = initiate(api, user, connected(user)).json()["payment_id"]
    overdue(payment_id)
    assert confirm(api, payment_id, "0xabcdef").json() == first
    assert confirm(api, other, "0xabcdef").json()["tx_hash"] != first["tx_hash"]
    assert len(statuses(payment_id)) == 2
    assert len(events(user, "payment.crypto.submitted")) == 2


def test_crypto_confirmation_after_the_deadline_is_rejected_as_expired(api, user, payment_id):
    overdue(payment_id)
    for _ in range(2):
        assert_error(confirm(api, payment_id, "0xabcdef"), 400, "E3008")
    assert stored(payment_id).status == "expired"
    (event,) = events(user, "payment.crypto.expired")
    assert event["payment_id"] == payment_id


def test_crypto_confirmation_for_another_network_is_rejected(api, payment_id):
    body = assert_error(confirm(api, payment_id, "0xabcdef", network="ethereum"), 400, "E3007")
    assert body["details"][0]["field"] == "network"
    assert_error(confirm(api, payment_id, "0xabcdef", network="nowhere"), 400, "E1001")
    assert stored(payment_id).status == "awaiting_signature"
    assert confirm(api, payment_id, "0xabcdef", network="base").status_code == 200


def test_crypto_payment_of_another_account_returns_404(api, stranger_api, payment_id):
    assert_error(confirm(stranger_api, payment_id, "0xabcdef"), 404, "E4010")
    for unknown in ("x", "01890000-0000-7000-8000-000000000000", "1" * 255, payment_id.upper()):
        assert_error(confirm(api, unknown, "0xabcdef"), 404, "E4010")
    assert stored(payment_id).status == "awaiting_signature"


def test_crypto_transaction_is_a_marked_placeholder_if_no_chain_is_configured(api, user):
    wallet, before = connected(user), timezone.now()
    response = initiate(api, user, wallet, description="rent")
    assert response.status_code == 200
    body = response.json()
    assert set(body) == INITIATED_MEMBERS
    assert set(body["transaction"]) == TRANSACTION_MEMBERS
    assert (body["status"], body["simulated"]) == ("awaiting_signature", True)
    assert (body["wallet_id"], body["to_address"]) == (str(wallet.pk), OTHER_ADDRESS)
    assert (body["amount_usdc"], body["network"]) == (AMOUNT, NETWORK)
    # The placeholder transfers nothing, even if a user signs and sends the placeholder.
    assert read_transfer(body["transaction"]["data"]) is None
    assert body["transaction"]["value"] == 0
    assert timedelta(minutes=15) <= datetime.fromisoformat(body["expires_at"]) - before < timedelta(minutes=16)
    assert events(user, "payment.crypto.initiated") == [
        {
            "payment_id": body["payment_id"], "status": "awaiting_signature", "network": NETWORK, "tx_hash": None,
            "simulated": True,
        }
    ]  # fmt: skip
    payment = stored(body["payment_id"])
    assert (payment.simulated, payment.description, payment.user_id) == (True, "rent", user.pk)


def test_crypto_payment_accepts_amounts_from_0_to_the_int64_maximum(api, user):
    wallet = connected(user)
    for amount in (0, 2**63 - 1):
        assert initiate(api, user, wallet, amount_usdc=amount).json()["amount_usdc"] == amount


def test_crypto_payment_with_an_invalid_address_network_or_wallet_is_rejected(api, user):
    wallet = connected(user)
    for changes in (
        {"to_address": MISTYPED_ADDRESS}, {"to_address": "0x" + "z" * 40}, {"network": "solana:mainnet"},
        {"network": "eip155:0"}, {"network": "nowhere"},
    ):  # fmt: skip
        assert_error(initiate(api, user, wallet, **changes), 400, "E1001")
    body = assert_error(initiate(api, user, custodial(user)), 400, "E1001")
    assert body["details"][0]["field"] == "wallet_id"
    for network in (None, "base", "eip155:8453"):
        assert initiate(api, user, wallet, network=network).json()["network"] == NETWORK


def test_crypto_payment_from_a_foreign_or_disconnected_wallet_returns_404(api, user, stranger):
    assert_error(initiate(api, user, connected(stranger)), 404, "E4006")
    wallet = connected(user)
    api.remove(f"/wallet/disconnect/{wallet.pk}")
    assert_error(initiate(api, user, wallet), 404, "E4006")


HASH = "0x" + "ab" * 32


def test_transaction_receipt_is_not_verified_and_has_no_details_if_no_chain_is_configured(api):
    unverified = {"tx_hash": HASH, "verified": False, "network": "eip155:8453"}
    assert api.read(f"/payments/crypto/receipt/{HASH}").json() == unverified
    assert api.read(f"/payments/crypto/receipt/{HASH}/details").json() == {
        **unverified, "block_number": None, "from": None, "to": None, "amount_usdc": None, "confirmations": 0,
        "receipt": None,
    }  # fmt: skip


def test_chain_request_with_an_invalid_transaction_hash_is_rejected(api):
    for path in ("receipt/{}", "receipt/{}/details", "status/{}"):
        for tx_hash in ("abc", "%00", HASH[2:], "0X" + HASH[2:]):
            assert_error(api.read(f"/payments/crypto/{path.format(tx_hash)}"), 400, "E1001")


def test_blockchain_status_without_a_configured_chain_is_marked_as_static(api):
    for tx_hash in (HASH, f"0x{'AB' * 32}"):
        assert api.read(f"/payments/crypto/status/{tx_hash}").json() == {
            "tx_hash": HASH, "status": "confirmed", "confirmations": 12, "simulated": True,
        }  # fmt: skip


ROOT = Path(__file__).resolve().parents[2]
APPS = ("config", "identity", "payments", "credit", "claims", "staging")
# Signing for a chain requires these names of the installed library and JSON-RPC.
SIGNING = re.compile(
    r"private_?key|\.from_key|mnemonic|sign_?transaction|sign_message|signhash|unsafe_sign|sign_typed_data|eth_sign"
    r"|eth_sendtransaction|personal_(?:sign|send|unlock|import)|account\.(?:create|decrypt|encrypt)\b|localaccount|keystore"
    r"|eth_keyfile"
)
# These apps have keys of other kinds: identity signs the platform's tokens.
NOT_OF_THE_CHAIN = {"identity"}


def sources(app):
    """Return the Python files of an app, except for the signing of ledger records, migrations, and privacy."""
    left_out = {"anchoring", "migrations", "privacy"}  # The privacy register contains column names.
    return sorted(path for path in (ROOT / app).rglob("*.py") if not left_out & set(path.with_suffix("").parts))


def test_product_code_contains_no_private_key_and_does_not_sign():
    texts = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for app in APPS if app not in NOT_OF_THE_CHAIN
        for path in sources(app)
        for number, line in enumerate(path.read_text().lower().splitlines(), 1)
        if SIGNING.search(line) and "no private key" not in line
    ]  # fmt: skip
    assert texts == []


def test_signing_libraries_are_used_only_in_the_transactions_module():
    users = {
        path.relative_to(ROOT).as_posix()
        for app in APPS
        for path in sources(app)
        if re.search(r"\b(?:eth_account|eth_keys)\b", path.read_text())
    }
    assert users == {"payments/chain/transactions.py"}
    assert all(sources(app) for app in APPS)
