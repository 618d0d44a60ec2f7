"""Test the status, balance, list, default, and disconnection of wallets at /v1/wallet."""

import pytest
from django.db import IntegrityError, transaction

from payments.chain.addresses import parse_address
from payments.crypto.models import CryptoPayment
from payments.wallets.models import CustodyAccount, Wallet
from payments.wallets.services import WalletBalance
from tests.api import assert_error
from tests.backoffice.conftest import backoffice_client, staff_of
from tests.payments.crypto_support import confirm, initiate
from tests.payments.test_crypto_offers import KEYLESS_ADDRESSES
from tests.payments.wallet_support import (
    ADDRESS,
    MISTYPED_ADDRESS,
    NETWORK,
    OTHER_ADDRESS,
    WALLET_MEMBERS,
    connected,
    custodial,
    events,
    stored,
)


def test_wallet_status_endpoint_returns_the_status(api, user):
    wallet = connected(user)
    body = api.read(f"/wallet/status/{wallet.pk}").json()
    assert body == {
        "wallet_id": str(wallet.pk), "status": "connected", "kind": "walletconnect", "account_id": wallet.account_id,
        "is_default": True, "custodial": False, "connected_at": body["connected_at"],
    }  # fmt: skip
    assert api.read(f"/wallet/status/{custodial(user).pk}").json()["custodial"] is True


def test_wallet_balance_is_simulated_or_from_the_sandbox_if_no_chain_is_configured(api, user):
    wallet = connected(user)
    body = api.read(f"/wallet/balance/{wallet.pk}").json()
    assert body == {
        "wallet_id": str(wallet.pk), "asset": "USDC", "amount": "0", "decimals": 6, "amount_usdc": 0,
        "as_of": body["as_of"], "source": "simulated",
    }  # fmt: skip
    body = api.read(f"/wallet/balance/{custodial(user).pk}").json()
    assert (body["source"], body["amount_usdc"]) == ("sandbox", 0)


def test_wallet_balance_is_exact_in_amount_and_amount_usdc():
    for units, decimals, amount, amount_usdc in (
        (0, 6, "0", 0), (1, 6, "0.000001", 1), (1_500_000, 6, "1.5", 1_500_000), (10_000_000, 6, "10", 10_000_000),
        (7, 0, "7", 7), (2**63 - 1, 6, "9223372036854.775807", 2**63 - 1), (2**63, 6, "9223372036854.775808", None),
        (None, 6, None, None),
    ):  # fmt: skip
        balance = WalletBalance(units=units, decimals=decimals, source="chain")
        assert (balance.amount, balance.amount_usdc) == (amount, amount_usdc)


def test_wallet_list_contains_own_wallets_oldest_first(api, user, stranger):
    wallets = [custodial(user), connected(user, ADDRESS), connected(user, OTHER_ADDRESS)]
    connected(stranger, ADDRESS)
    response = api.read(f"/wallet/list/{user.pk}")
    assert response.status_code == 200
    body = response.json()
    assert set(body) == {"wallets", "total"}
    assert [wallet["id"] for wallet in body["wallets"]] == [str(wallet.pk) for wallet in wallets]
    assert body["total"] == 3
    assert all(set(wallet) == WALLET_MEMBERS for wallet in body["wallets"])


def test_disconnected_wallet_returns_404(api, user):
    wallet = connected(user)
    response = api.remove(f"/wallet/disconnect/{wallet.pk}")
    assert (response.status_code, response.content) == (200, b"")
    row = stored(wallet)
    assert (row.status, row.is_default) == ("disconnected", False)
    assert row.disconnected_at is not None
    before = list(Wallet.objects.values())
    for method, place in (("GET", "status"), ("GET", "balance"), ("POST", "default"), ("DELETE", "disconnect")):
        assert_error(api.call(method, f"/wallet/{place}/{wallet.pk}"), 404, "E4006")
    assert list(Wallet.objects.values()) == before
    assert api.read(f"/wallet/list/{user.pk}").json() == {"wallets": [], "total": 0}
    assert events(user, "wallet.disconnected") == [{"wallet_id": str(wallet.pk), "status": "disconnected"}]


def test_another_wallet_can_become_the_default(api, user):
    first, second = connected(user, ADDRESS), connected(user, OTHER_ADDRESS)
    assert api.send(f"/wallet/default/{first.pk}").status_code == 200
    assert events(user, "wallet.default_changed") == [], "it is the default already"
    response = api.send(f"/wallet/default/{second.pk}")
    assert response.status_code == 200
    assert response.json()["is_default"] is True
    assert (stored(first).is_default, stored(second).is_default) == (False, True)
    assert events(user, "wallet.default_changed") == [
        {"wallet_id": str(second.pk), "previous_wallet_id": str(first.pk)}
    ]
    api.remove(f"/wallet/disconnect/{second.pk}")
    assert not stored(first).is_default, "the default is not passed to another wallet"
    assert api.send(f"/wallet/default/{first.pk}").json()["is_default"] is True
    newest = events(user, "wallet.default_changed")[-1]
    assert newest == {"wallet_id": str(first.pk), "previous_wallet_id": None}


def test_the_database_allows_only_one_default_wallet_per_user(user, stranger):
    connected(user, ADDRESS)
    second = connected(user, OTHER_ADDRESS)
    connected(stranger, ADDRESS)
    with pytest.raises(IntegrityError), transaction.atomic():
        Wallet.objects.filter(pk=second.pk).update(is_default=True)


def test_the_database_rejects_inconsistent_columns_of_a_wallet(user):
    wallet = connected(user)
    for columns in (
        {"status": "gone"}, {"status": "disconnected"}, {"kind": "circle"}, {"disconnected_at": wallet.connected_at},
    ):  # fmt: skip
        with pytest.raises(IntegrityError), transaction.atomic():
            Wallet.objects.filter(pk=wallet.pk).update(**columns)


PATH = "/wallet/connect/circle"


def test_custodial_wallet_request_provisions_a_wallet(api, user):
    response = api.send(PATH, {"label": "savings"})
    assert response.status_code == 200
    body = response.json()
    assert set(body) == WALLET_MEMBERS
    assert (body["kind"], body["label"], body["status"]) == ("circle", "savings", "connected")
    assert body["is_default"] is True
    assert parse_address(body["address"]) == body["address"]
    assert body["account_id"] == f"{NETWORK}:{body['address']}"
    account = stored(body["id"]).custody_account
    assert (account.provider, account.address, account.user_id) == ("sandbox", body["address"], user.pk)
    assert [event["wallet_id"] for event in events(user, "wallet.connected")] == [body["id"]]


def test_second_custodial_wallet_request_of_a_user_returns_the_same_wallet(api, stranger_api):
    assert_error(api.send(PATH, {"network": "solana"}), 400, "E1001")
    assert not CustodyAccount.objects.exists()
    first = api.send(PATH, {"network": "base"}).json()
    assert api.send(PATH, {"network": "eip155:8453"}).json() == first
    assert CustodyAccount.objects.count() == Wallet.objects.count() == 1
    assert stranger_api.send(PATH, {}).json()["address"] != first["address"]


def test_custodial_wallet_request_with_another_label_or_network_creates_another_wallet(api):
    bodies = [{}, {"label": "savings"}, {"network": "polygon"}]
    assert len({api.send(PATH, body).json()["address"] for body in bodies}) == 3


def test_reconnecting_a_custodial_wallet_uses_the_same_account(api):
    first = api.send(PATH, {}).json()
    api.remove(f"/wallet/disconnect/{first['id']}")
    assert CustodyAccount.objects.get().address == first["address"]
    second = api.send(PATH, {}).json()
    assert second["id"] != first["id"]
    assert second["address"] == first["address"]
    assert CustodyAccount.objects.count() == 1


WALLETCONNECT = "/wallet/connect/walletconnect"


def test_blockchain_address_is_connected_as_a_wallet(api, user):
    response = api.send(WALLETCONNECT, {"address": ADDRESS, "label": "my phone"})
    assert response.status_code == 200
    body = response.json()
    assert set(body) == WALLET_MEMBERS
    assert body == {
        "id": body["id"], "kind": "walletconnect", "address": ADDRESS, "network": NETWORK,
        "account_id": f"{NETWORK}:{ADDRESS}", "label": "my phone", "status": "connected", "is_default": True,
        "connected_at": body["connected_at"],
    }  # fmt: skip
    assert stored(body["id"]).user_id == user.pk
    assert events(user, "wallet.connected") == [
        {
            "wallet_id": body["id"], "kind": "walletconnect", "network": NETWORK, "status": "connected",
            "is_default": True,
        }
    ]  # fmt: skip


def test_wallet_address_in_any_spelling_is_the_same_wallet(api, user):
    first = api.send(WALLETCONNECT, {"address": ADDRESS}).json()
    for spelling in (ADDRESS, ADDRESS.lower(), "0x" + ADDRESS[2:].upper()):
        assert api.send(WALLETCONNECT, {"address": spelling, "label": "again"}).json() == first
    assert Wallet.objects.count() == 1
    assert len(events(user, "wallet.connected")) == 1
    api.remove(f"/wallet/disconnect/{first['id']}")
    second = api.send(WALLETCONNECT, {"address": ADDRESS}).json()
    assert second["id"] != first["id"], "a disconnected address is a new wallet"
    assert second["is_default"] is True


def test_wallet_address_of_another_user_or_network_is_another_wallet(api, stranger_api):
    theirs = stranger_api.send(WALLETCONNECT, {"address": ADDRESS}).json()
    first = api.send(WALLETCONNECT, {"address": ADDRESS}).json()
    second = api.send(WALLETCONNECT, {"address": ADDRESS, "network": "ethereum"}).json()
    assert second["account_id"] == f"eip155:1:{ADDRESS}"
    assert len({theirs["id"], first["id"], second["id"]}) == 3
    assert (first["is_default"], second["is_default"]) == (True, False)
    for network, expected in (("base", NETWORK), ("Polygon", "eip155:137"), ("eip155:31337", "eip155:31337")):
        assert api.send(WALLETCONNECT, {"address": ADDRESS, "network": network}).json()["network"] == expected


def test_wallet_with_an_invalid_or_keyless_address_or_an_invalid_network_is_rejected(api):
    for changes in (*({"address": address} for address in (
        ADDRESS[2:] + "00", "0X" + ADDRESS[2:].lower(), "0x" + "g" * 40, "0x" + "\uff11" * 40, MISTYPED_ADDRESS,
        *KEYLESS_ADDRESSES,
    )), *({"network": network} for network in ("solana", "eip155:", "eip155:01"))):  # fmt: skip
        assert_error(api.send(WALLETCONNECT, {"address": ADDRESS, **changes}), 400, "E1001")
    assert not Wallet.objects.exists()


MODELS = ("wallet", "custodyaccount", "cryptopayment")


@pytest.fixture
def submitted_payment(api, user):
    """Create wallets of both kinds and payments in several statuses; return the submitted payment."""
    gone = connected(user, OTHER_ADDRESS)
    api.remove(f"/wallet/disconnect/{gone.pk}")
    wallet = connected(user, ADDRESS, label="Jane's phone")
    custodial(user)
    initiate(api, user, wallet, description="rent for May")
    payment_id = initiate(api, user, wallet).json()["payment_id"]
    confirm(api, payment_id, "0x12")
    return CryptoPayment.objects.get(pk=payment_id)


def page(client, model, pk=None):
    address = f"/admin/payments/{model}/" + (f"{pk}/change/" if pk else "")
    return client.get(address)


def test_support_can_find_and_view_a_crypto_payment_with_its_history(submitted_payment, user):
    client = backoffice_client(staff_of("Support"))
    for model in MODELS:
        assert page(client, model).status_code == 200
    content = page(client, "cryptopayment", submitted_payment.pk).content.decode()
    assert submitted_payment.tx_hash in content
    assert "broadcasting" in content
    assert "1.500000 USDC" in content
    terms = (submitted_payment.pk, submitted_payment.tx_hash, user.username, user.pk, "0x" + "00" * 32)
    pages = [client.get("/admin/payments/cryptopayment/", {"q": str(term)}).content.decode() for term in terms]
    assert [str(submitted_payment.pk)[-12:] in page for page in pages] == [True] * 4 + [False]
