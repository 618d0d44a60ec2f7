"""GET /v1/wallet/list/{user_id}."""

import pytest

from tests.api import assert_error
from tests.payments.wallet_support import ADDRESS, OTHER_ADDRESS, WALLET_MEMBERS, connected, custodial


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


def test_without_wallets_the_list_is_empty(api, user):
    assert api.read(f"/wallet/list/{user.pk}").json() == {"wallets": [], "total": 0}


def test_disconnected_wallets_are_not_listed(api, user):
    gone = connected(user)
    api.remove(f"/wallet/disconnect/{gone.pk}")
    assert api.read(f"/wallet/list/{user.pk}").json()["total"] == 0


@pytest.mark.parametrize("spelling", ["{other}", "0{own}", "{own}.0", "+{own}", "%00", "me"])
def test_another_user_id_or_another_spelling_is_a_mismatch(api, user, stranger, spelling):
    path = spelling.format(own=user.pk, other=stranger.pk)
    assert_error(api.read(f"/wallet/list/{path}"), 401, "E2004")


def test_a_key_with_the_scope_may_read(scoped_api, user):
    assert scoped_api.read(f"/wallet/list/{user.pk}").status_code == 200


def test_it_needs_a_credential(anonymous, db):
    assert_error(anonymous.read("/wallet/list/1"), 401, "E2001")


def test_the_list_costs_one_statement_however_long_it_is(
    api, user, no_rate_limits, django_assert_num_queries, django_assert_max_num_queries
):
    for number in range(12):
        connected(user, f"0x{number:040x}")
    api.read(f"/wallet/list/{user.pk}")
    with django_assert_num_queries(1):
        assert api.read(f"/wallet/list/{user.pk}").json()["total"] == 12
