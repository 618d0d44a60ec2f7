"""Test concurrent changes of a user's wallets on PostgreSQL."""

from functools import partial
from itertools import pairwise

import pytest

from payments.wallets.models import CustodyAccount, Wallet
from tests.api import client_of
from tests.factories import UserFactory
from tests.payments.wallet_support import ADDRESS, OTHER_ADDRESS, connected, events
from tests.races import run_concurrently

pytestmark = pytest.mark.usefixtures("committed", "needs_postgresql", "no_rate_limits")
ROUNDS = 40


def statuses_of(*calls):
    return [answer.status_code for answer in run_concurrently(*calls)]


def test_concurrent_default_wallet_choices_leave_exactly_one_default_wallet():
    owner = UserFactory()
    api = client_of(owner)
    pair = [connected(owner, ADDRESS), connected(owner, OTHER_ADDRESS)]
    calls = [lambda wallet=wallet: api.send(f"/wallet/default/{wallet.pk}") for wallet in pair]
    for _ in range(ROUNDS):
        assert statuses_of(*calls) == [200, 200]
        assert Wallet.objects.filter(user=owner, is_default=True).count() == 1
    # Each event names the previous default: the chain of events has no gap.
    chain = events(owner, "wallet.default_changed")
    assert all(after["previous_wallet_id"] == before["wallet_id"] for before, after in pairwise(chain))


def test_concurrently_connected_first_wallets_have_exactly_one_default_wallet():
    for _ in range(ROUNDS):
        owner = UserFactory()
        api = client_of(owner)
        bodies = [{"address": ADDRESS}, {"address": OTHER_ADDRESS}, {"address": ADDRESS.lower()}]
        statuses = statuses_of(*(partial(api.send, "/wallet/connect/walletconnect", body) for body in bodies))
        assert statuses == [200] * 3
        assert Wallet.objects.filter(user=owner).count() == 2
        assert Wallet.objects.filter(user=owner, is_default=True).count() == 1


def test_concurrently_disconnected_wallet_is_not_the_default():
    owner = UserFactory()
    api = client_of(owner)
    for _ in range(ROUNDS):
        connected(owner, ADDRESS)
        wallet = connected(owner, OTHER_ADDRESS)
        chosen, removed = statuses_of(
            lambda wallet=wallet: api.send(f"/wallet/default/{wallet.pk}"),
            lambda wallet=wallet: api.remove(f"/wallet/disconnect/{wallet.pk}"),
        )
        assert removed == 200
        assert chosen in {200, 404}
        assert not Wallet.objects.filter(is_default=True, status="disconnected").exists()
        assert Wallet.objects.filter(user=owner, is_default=True).count() <= 1


def test_only_one_of_concurrent_disconnections_of_a_wallet_succeeds():
    owner = UserFactory()
    api = client_of(owner)
    wallet = connected(owner)
    statuses = statuses_of(*[lambda: api.remove(f"/wallet/disconnect/{wallet.pk}")] * 8)
    assert sorted(statuses) == [200] + [404] * 7
    assert len(events(owner, "wallet.disconnected")) == 1


def test_concurrent_requests_for_a_custodial_wallet_create_only_one_wallet():
    owner = UserFactory()
    api = client_of(owner)
    assert statuses_of(*[lambda: api.send("/wallet/connect/circle", {})] * 8) == [200] * 8
    assert CustodyAccount.objects.count() == Wallet.objects.count() == 1
