"""Test on PostgreSQL that one of eight concurrent uses of a code or refresh token succeeds."""

import os
from functools import partial

import pytest
from django.test import override_settings

from identity.models import TokenFamily
from tests.factories import UserFactory
from tests.identity.oauth_support import code_for, exchange, make_client, refresh
from tests.races import run_concurrently

ROUNDS, AT_ONCE = int(os.environ.get("RACE_ROUNDS", "25")), 8

pytestmark = pytest.mark.usefixtures("committed", "needs_postgresql")


@pytest.fixture(autouse=True)
def _no_limits(settings):
    """Switch off the limit of calls per address, which has its own tests."""
    with override_settings(RATE_LIMITS={**settings.RATE_LIMITS, "token": None}):
        yield


def statuses_of(call):
    """Call from AT_ONCE threads; return the statuses, sorted."""
    return sorted(answer.status_code for answer in run_concurrently(*[call] * AT_ONCE))


def test_concurrent_uses_of_an_authorization_code_succeed_once():
    user, registered = UserFactory(), make_client()
    for _ in range(ROUNDS):
        code = code_for(user, registered[0])
        assert statuses_of(partial(exchange, code, *registered)) == [200] + [400] * (AT_ONCE - 1)
    assert TokenFamily.objects.count() == ROUNDS


def test_concurrent_uses_of_an_oauth_refresh_token_end_the_family():
    user, registered = UserFactory(), make_client()
    for _ in range(ROUNDS):
        token = exchange(code_for(user, registered[0]), *registered).json()["refresh_token"]
        assert statuses_of(partial(refresh, token, *registered)) == [200] + [400] * (AT_ONCE - 1)
    assert not TokenFamily.objects.filter(revoked_at__isnull=True).exists()
