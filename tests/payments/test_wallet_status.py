"""GET /v1/wallet/status/{wallet_id}."""

import pytest

from tests.api import assert_error
from tests.payments.wallet_support import connected, custodial


def test_it_says_how_a_wallet_stands(api, user):
    wallet = connected(user)
    body = api.read(f"/wallet/status/{wallet.pk}").json()
    assert body == {
        "wallet_id": str(wallet.pk),
        "status": "connected",
        "kind": "walletconnect",
        "account_id": wallet.account_id,
        "is_default": True,
        "custodial": False,
        "connected_at": body["connected_at"],
    }


def test_a_wallet_of_the_custody_provider_is_custodial(api, user):
    assert api.read(f"/wallet/status/{custodial(user).pk}").json()["custodial"] is True


def test_another_persons_wallet_is_not_there(api, stranger):
    assert_error(api.read(f"/wallet/status/{connected(stranger).pk}"), 404, "E4006")


def test_a_disconnected_wallet_is_not_there(api, user):
    wallet = connected(user)
    api.remove(f"/wallet/disconnect/{wallet.pk}")
    assert_error(api.read(f"/wallet/status/{wallet.pk}"), 404, "E4006")


@pytest.mark.parametrize("spell", [str.upper, lambda text: text.replace("-", ""), lambda text: f"{{{text}}}"])
def test_another_spelling_of_the_id_is_not_there(api, user, spell):
    assert_error(api.read(f"/wallet/status/{spell(str(connected(user).pk))}"), 404, "E4006")


@pytest.mark.parametrize("wallet_id", ["x", "%00", "01890000-0000-7000-8000-000000000000", "1" * 4000])
def test_an_unknown_id_is_not_there(api, wallet_id):
    assert_error(api.read(f"/wallet/status/{wallet_id}"), 404, "E4006")


def test_a_key_with_the_scope_may_read(scoped_api, user):
    assert scoped_api.read(f"/wallet/status/{connected(user).pk}").status_code == 200


def test_it_needs_a_credential(anonymous, user):
    assert_error(anonymous.read(f"/wallet/status/{connected(user).pk}"), 401, "E2001")
