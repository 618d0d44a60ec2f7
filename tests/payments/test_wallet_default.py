"""POST /v1/wallet/default/{wallet_id}."""

import pytest
from django.db import IntegrityError, transaction

from payments.wallets.models import Wallet
from tests.api import assert_error
from tests.payments.wallet_support import ADDRESS, OTHER_ADDRESS, connected, events, stored


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


def test_a_disconnected_wallet_cannot_be_the_default(api, user):
    wallet = connected(user)
    api.remove(f"/wallet/disconnect/{wallet.pk}")
    assert_error(api.send(f"/wallet/default/{wallet.pk}"), 404, "E4006")
    assert not stored(wallet).is_default


def test_another_persons_wallet_is_not_there_and_stays_as_it_is(api, user, stranger):
    own, theirs = connected(user), connected(stranger)
    connected(stranger, OTHER_ADDRESS)
    assert_error(api.send(f"/wallet/default/{theirs.pk}"), 404, "E4006")
    assert stored(own).is_default


@pytest.mark.parametrize("wallet_id", ["x", "%00"])
def test_an_unknown_id_is_not_there(api, wallet_id):
    assert_error(api.send(f"/wallet/default/{wallet_id}"), 404, "E4006")


def test_the_database_itself_allows_one_default_for_each_person(user, stranger):
    connected(user, ADDRESS)
    second = connected(user, OTHER_ADDRESS)
    connected(stranger, ADDRESS)
    with pytest.raises(IntegrityError), transaction.atomic():
        Wallet.objects.filter(pk=second.pk).update(is_default=True)


def test_it_needs_a_credential(anonymous, user):
    assert_error(anonymous.send(f"/wallet/default/{connected(user).pk}"), 401, "E2001")


def test_a_key_with_scopes_may_not_change_wallets(scoped_api, user):
    assert_error(scoped_api.send(f"/wallet/default/{connected(user).pk}"), 403, "E2005")
