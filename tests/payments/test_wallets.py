"""/v1/wallet: how one stands, what is on it, the list, the default, and letting go; connecting has files of its own."""

import pytest
from django.db import IntegrityError, transaction

from payments.wallets.models import CustodyAccount, Wallet
from payments.wallets.services import WalletBalance
from tests.api import assert_error
from tests.payments.wallet_support import ADDRESS, OTHER_ADDRESS, WALLET_MEMBERS, connected, custodial, events, stored


def test_a_wallet_has_its_status(api, user):
    wallet = connected(user)
    body = api.read(f"/wallet/status/{wallet.pk}").json()
    assert body == {
        "wallet_id": str(wallet.pk), "status": "connected", "kind": "walletconnect", "account_id": wallet.account_id,
        "is_default": True, "custodial": False, "connected_at": body["connected_at"],
    }  # fmt: skip


def test_a_wallet_of_the_custody_provider_is_custodial(api, user):
    assert api.read(f"/wallet/status/{custodial(user).pk}").json()["custodial"] is True


def test_without_a_chain_the_balance_is_marked_as_simulated(api, user):
    wallet = connected(user)
    body = api.read(f"/wallet/balance/{wallet.pk}").json()
    assert body == {
        "wallet_id": str(wallet.pk), "asset": "USDC", "amount": "0", "decimals": 6, "amount_usdc": 0,
        "as_of": body["as_of"], "source": "simulated",
    }  # fmt: skip


def test_the_sandbox_answers_for_its_wallets(api, user):
    body = api.read(f"/wallet/balance/{custodial(user).pk}").json()
    assert (body["source"], body["amount_usdc"]) == ("sandbox", 0)


@pytest.mark.parametrize(
    ("units", "decimals", "amount", "amount_usdc"),
    [
        (0, 6, "0", 0), (1, 6, "0.000001", 1), (1_500_000, 6, "1.5", 1_500_000), (10_000_000, 6, "10", 10_000_000),
        (7, 0, "7", 7), (2**63 - 1, 6, "9223372036854.775807", 2**63 - 1), (2**63, 6, "9223372036854.775808", None),
        (None, 6, None, None),
    ],
)  # fmt: skip
def test_amounts_are_exact_in_both_forms(units, decimals, amount, amount_usdc):
    balance = WalletBalance(units=units, decimals=decimals, source="chain")
    assert (balance.amount, balance.amount_usdc) == (amount, amount_usdc)


def test_the_callers_wallets_are_listed_oldest_first(api, user, stranger):
    made = [custodial(user), connected(user, ADDRESS), connected(user, OTHER_ADDRESS)]
    connected(stranger, ADDRESS)
    response = api.read(f"/wallet/list/{user.pk}")
    assert response.status_code == 200
    body = response.json()
    assert set(body) == {"wallets", "total"}
    assert [wallet["id"] for wallet in body["wallets"]] == [str(wallet.pk) for wallet in made]
    assert body["total"] == 3
    assert all(set(wallet) == WALLET_MEMBERS for wallet in body["wallets"])


def test_a_disconnected_wallet_is_not_there(api, user):
    wallet = connected(user)
    api.remove(f"/wallet/disconnect/{wallet.pk}")
    before = list(Wallet.objects.values())
    for method, place in (("GET", "status"), ("GET", "balance"), ("POST", "default"), ("DELETE", "disconnect")):
        assert_error(api.call(method, f"/wallet/{place}/{wallet.pk}"), 404, "E4006")
    assert list(Wallet.objects.values()) == before
    assert api.read(f"/wallet/list/{user.pk}").json() == {"wallets": [], "total": 0}
    assert len(events(user, "wallet.disconnected")) == 1


def test_another_wallet_becomes_the_default(api, user):
    first, second = connected(user, ADDRESS), connected(user, OTHER_ADDRESS)
    response = api.send(f"/wallet/default/{second.pk}")
    assert response.status_code == 200
    assert response.json()["is_default"] is True
    assert (stored(first).is_default, stored(second).is_default) == (False, True)
    assert events(user, "wallet.default_changed") == [
        {"wallet_id": str(second.pk), "previous_wallet_id": str(first.pk)}
    ]


def test_making_the_default_the_default_changes_nothing(api, user):
    wallet = connected(user)
    assert api.send(f"/wallet/default/{wallet.pk}").status_code == 200
    assert stored(wallet).is_default
    assert events(user, "wallet.default_changed") == []


def test_a_default_can_be_chosen_after_the_old_one_is_gone(api, user):
    first, second = connected(user, ADDRESS), connected(user, OTHER_ADDRESS)
    api.remove(f"/wallet/disconnect/{first.pk}")
    assert not stored(second).is_default  # it is not passed on
    assert api.send(f"/wallet/default/{second.pk}").json()["is_default"] is True
    assert events(user, "wallet.default_changed") == [{"wallet_id": str(second.pk), "previous_wallet_id": None}]


def test_the_database_itself_allows_one_default_for_each_person(user, stranger):
    connected(user, ADDRESS)
    second = connected(user, OTHER_ADDRESS)
    connected(stranger, ADDRESS)
    with pytest.raises(IntegrityError), transaction.atomic():
        Wallet.objects.filter(pk=second.pk).update(is_default=True)


def test_the_reference_is_removed_and_the_answer_is_empty(api, user):
    wallet = connected(user)
    response = api.remove(f"/wallet/disconnect/{wallet.pk}")
    assert (response.status_code, response.content) == (200, b"")
    kept = stored(wallet)
    assert (kept.status, kept.is_default) == ("disconnected", False)
    assert kept.disconnected_at is not None
    assert events(user, "wallet.disconnected") == [{"wallet_id": str(wallet.pk), "status": "disconnected"}]


def test_custody_accounts_outlive_their_wallets(api, user):
    wallet = custodial(user)
    api.remove(f"/wallet/disconnect/{wallet.pk}")
    assert CustodyAccount.objects.get().address == wallet.address


@pytest.mark.parametrize(
    "columns", [{"status": "gone"}, {"status": "disconnected"}, {"kind": "circle"}, {"disconnected_at": "2026-01-01Z"}]
)
def test_the_database_itself_refuses_half_states(user, columns):
    wallet = connected(user)
    if "disconnected_at" in columns:
        columns = {"disconnected_at": wallet.connected_at}
    with pytest.raises(IntegrityError), transaction.atomic():
        Wallet.objects.filter(pk=wallet.pk).update(**columns)
