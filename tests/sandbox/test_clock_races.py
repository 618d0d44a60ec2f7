"""Test concurrent clock advances, and advances during the work of workers."""

from datetime import timedelta
from functools import partial

import pytest
from django.utils import timezone

from config.ops import pruning
from credit.applications.services import expire_idle
from credit.models import Application
from identity.models import User
from tests.api import ApiClient
from tests.factories import ApplicationFactory, StagedItemFactory, UserFactory
from tests.properties import quick_or_full
from tests.races import run_concurrently
from tests.sandbox.conftest import key_of, seconds_of

pytestmark = pytest.mark.usefixtures("committed", "no_rate_limits")


def inhabited(count):
    """Return accounts with records that will expire, and a client of each."""
    users = UserFactory.create_batch(count)
    for user in users:
        for status in ("draft", "approved", "pending_documents"):
            ApplicationFactory(consumer=user, status=status)
        StagedItemFactory.create_batch(5, user=user)
    return users, [key_of(user) for user in users]


def advance(client, **span):
    return client.send("/sandbox/clock", {"advance_seconds": seconds_of(**span)})


def test_concurrent_sandbox_clock_advances_are_summed():
    (user,), (client,) = inhabited(1)
    joined = User.objects.get(pk=user.pk).date_joined
    twins = [ApiClient(api_key=client.credentials["X-API-Key"]) for _ in range(2)]
    answers = run_concurrently(*(partial(advance, twin, days=20) for twin in twins))
    assert [answer.status_code for answer in answers] == [200, 200], [answer.content for answer in answers]
    assert joined - User.objects.get(pk=user.pk).date_joined == timedelta(days=40)
    assert sum(answer.json()["done"]["applications_expired"] for answer in answers) == 3
    assert set(Application.objects.values_list("status", flat=True)) == {"expired"}


def test_sandbox_clocks_of_several_accounts_can_advance_while_workers_run():
    _, clients = inhabited(3)

    def work(number):
        if number < len(clients):
            return [advance(clients[number], days=16).status_code for _ in range(2)]
        for _ in range(quick_or_full(2, 5)):
            pruning.prune(now=timezone.now())
            expire_idle(now=timezone.now())
        return [200]

    answers = run_concurrently(*(partial(work, number) for number in range(4)))
    assert {status for statuses in answers for status in statuses} == {200}
    assert Application.objects.filter(status="expired").count() == 9
