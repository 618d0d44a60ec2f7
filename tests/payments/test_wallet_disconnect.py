"""DELETE /v1/wallet/disconnect/{wallet_id}."""

import pytest
from django.db import IntegrityError, transaction

from payments.wallets.models import CustodyAccount, Wallet
from tests.api import assert_error
from tests.payments.wallet_support import ADDRESS, OTHER_ADDRESS, connected, custodial, events, stored


def test_the_reference_is_removed_and_the_answer_is_empty(api, user):
    wallet = connected(user)
    response = api.remove(f"/wallet/disconnect/{wallet.pk}")
    assert (response.status_code, response.content) == (200, b"")
    kept = stored(wallet)
    assert (kept.status, kept.is_default) == ("disconnected", False)
    assert kept.disconnected_at is not None
    assert events(user, "wallet.disconnected") == [{"wallet_id": str(wallet.pk), "status": "disconnected"}]


def test_the_second_time_it_is_not_there(api, user):
    wallet = connected(user)
    api.remove(f"/wallet/disconnect/{wallet.pk}")
    assert_error(api.remove(f"/wallet/disconnect/{wallet.pk}"), 404, "E4006")
    assert len(events(user, "wallet.disconnected")) == 1


def test_the_default_is_not_passed_on(api, user):
    first, second = connected(user, ADDRESS), connected(user, OTHER_ADDRESS)
    api.remove(f"/wallet/disconnect/{first.pk}")
    assert not stored(second).is_default
    assert not Wallet.objects.filter(is_default=True).exists()


def test_what_the_custody_provider_holds_stays(api, user):
    wallet = custodial(user)
    api.remove(f"/wallet/disconnect/{wallet.pk}")
    assert CustodyAccount.objects.get().address == wallet.address


def test_another_persons_wallet_is_not_there_and_stays_connected(api, stranger):
    theirs = connected(stranger)
    assert_error(api.remove(f"/wallet/disconnect/{theirs.pk}"), 404, "E4006")
    assert stored(theirs).status == "connected"


@pytest.mark.parametrize("wallet_id", ["x", "%00", "{0}"])
def test_an_unknown_id_is_not_there(api, wallet_id):
    assert_error(api.remove(f"/wallet/disconnect/{wallet_id}"), 404, "E4006")


def test_other_methods_are_not_taken(api, user):
    response = api.send(f"/wallet/disconnect/{connected(user).pk}")
    assert_error(response, 405, "E4050")
    assert "DELETE" in response.headers["Allow"]


@pytest.mark.parametrize(
    "columns", [{"status": "gone"}, {"status": "disconnected"}, {"kind": "circle"}, {"disconnected_at": "2026-01-01Z"}]
)
def test_the_database_itself_refuses_half_states(user, columns):
    wallet = connected(user)
    if "disconnected_at" in columns:
        columns = {"disconnected_at": wallet.connected_at}
    with pytest.raises(IntegrityError), transaction.atomic():
        Wallet.objects.filter(pk=wallet.pk).update(**columns)


def test_it_needs_a_credential(anonymous, user):
    assert_error(anonymous.remove(f"/wallet/disconnect/{connected(user).pk}"), 401, "E2001")


def test_a_key_with_scopes_may_not_change_wallets(scoped_api, user):
    assert_error(scoped_api.remove(f"/wallet/disconnect/{connected(user).pk}"), 403, "E2005")
