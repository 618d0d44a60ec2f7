"""POST /v1/wallet/connect/circle, with the sandbox; what Circle itself is asked stands in test_wallet_circle.py."""

from payments.chain.addresses import parse_address
from payments.wallets.models import CustodyAccount, Wallet
from tests.api import assert_error
from tests.payments.wallet_support import NETWORK, WALLET_MEMBERS, events, stored

PATH = "/wallet/connect/circle"


def test_a_wallet_is_provisioned(api, user):
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


def test_asking_again_returns_the_same_wallet(api):
    first = api.send(PATH, {"network": "base"}).json()
    assert api.send(PATH, {"network": "eip155:8453"}).json() == first
    assert CustodyAccount.objects.count() == Wallet.objects.count() == 1


def test_another_label_or_network_is_another_wallet(api):
    bodies = [{}, {"label": "savings"}, {"network": "polygon"}]
    assert len({api.send(PATH, body).json()["address"] for body in bodies}) == 3


def test_two_people_have_two_wallets(api, stranger_api):
    assert api.send(PATH, {}).json()["address"] != stranger_api.send(PATH, {}).json()["address"]


def test_connecting_after_disconnecting_finds_the_account_and_what_is_on_it(api):
    first = api.send(PATH, {}).json()
    api.remove(f"/wallet/disconnect/{first['id']}")
    second = api.send(PATH, {}).json()
    assert second["id"] != first["id"]
    assert second["address"] == first["address"]
    assert CustodyAccount.objects.count() == 1


def test_a_network_that_is_none_is_refused(api):
    assert_error(api.send(PATH, {"network": "solana"}), 400, "E1001")
    assert not CustodyAccount.objects.exists()
