"""POST /v1/wallet/connect/walletconnect."""

import pytest

from payments.wallets.models import Wallet
from tests.api import assert_error
from tests.payments.wallet_support import ADDRESS, MISTYPED_ADDRESS, NETWORK, WALLET_MEMBERS, events, stored

PATH = "/wallet/connect/walletconnect"


def test_an_address_becomes_a_wallet(api, user):
    response = api.send(PATH, {"address": ADDRESS, "label": "my phone"})
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


def test_the_same_address_twice_is_the_same_wallet_however_it_is_spelt(api, user):
    first = api.send(PATH, {"address": ADDRESS}).json()
    for spelling in (ADDRESS, ADDRESS.lower(), "0x" + ADDRESS[2:].upper()):
        assert api.send(PATH, {"address": spelling, "label": "again"}).json() == first
    assert Wallet.objects.count() == 1
    assert len(events(user, "wallet.connected")) == 1


def test_the_same_address_on_another_network_is_another_wallet(api):
    first = api.send(PATH, {"address": ADDRESS}).json()
    second = api.send(PATH, {"address": ADDRESS, "network": "ethereum"}).json()
    assert second["account_id"] == f"eip155:1:{ADDRESS}"
    assert second["id"] != first["id"]
    assert (first["is_default"], second["is_default"]) == (True, False)


@pytest.mark.parametrize(
    ("given", "kept"), [("base", "eip155:8453"), ("Polygon", "eip155:137"), ("eip155:31337", "eip155:31337")]
)
def test_a_network_may_be_named_by_its_id_or_by_an_alias(api, given, kept):
    assert api.send(PATH, {"address": ADDRESS, "network": given}).json()["network"] == kept


def test_an_address_of_another_person_may_be_referred_to(api, stranger_api):
    theirs = stranger_api.send(PATH, {"address": ADDRESS}).json()
    response = api.send(PATH, {"address": ADDRESS})
    assert response.status_code == 200
    assert response.json()["id"] != theirs["id"]


def test_a_disconnected_address_can_be_connected_again_as_a_new_wallet(api):
    first = api.send(PATH, {"address": ADDRESS}).json()
    api.remove(f"/wallet/disconnect/{first['id']}")
    second = api.send(PATH, {"address": ADDRESS}).json()
    assert second["id"] != first["id"]
    assert second["is_default"] is True


@pytest.mark.parametrize(
    "changes",
    [{"address": address} for address in (
        ADDRESS[2:] + "00", "0X" + ADDRESS[2:].lower(), "0x" + "g" * 40, "0x" + "\uff11" * 40, MISTYPED_ADDRESS,
    )] + [{"network": network} for network in ("solana", "eip155:", "eip155:01")],
)  # fmt: skip
def test_an_invalid_address_or_network_is_rejected(api, changes):
    assert_error(api.send(PATH, {"address": ADDRESS, **changes}), 400, "E1001")
    assert not Wallet.objects.exists()


def test_a_user_id_in_the_body_is_the_callers_as_a_text_or_a_number(api, user):
    for other in ("999999", 999999, "042", True):
        assert_error(api.send(PATH, {"address": ADDRESS, "user_id": other}), 401, "E2004")
    for own in (str(user.pk), user.pk):
        assert api.send(PATH, {"address": ADDRESS, "user_id": own}).status_code == 200
