"""Somebody with a key that outlives every test, and how they let time go by."""

from datetime import timedelta

import pytest
from django.utils import timezone

from tests.api import ApiClient
from tests.identity.conftest import plaid  # noqa: F401  a fixture
from tests.identity.support import issue


def key_of(user, days=100_000):
    """Return a client that calls with an API key of this many days."""
    return ApiClient(api_key=issue(user, expires_at=timezone.now() + timedelta(days=days)).key)


def seconds_of(**span):
    return int(timedelta(**span).total_seconds())


@pytest.fixture
def api(user):
    """A client that calls as `user`, whatever its clock shows."""
    return key_of(user)


@pytest.fixture
def stranger_api(stranger):
    """A client that calls as `stranger`, whatever its clock shows."""
    return key_of(stranger)


@pytest.fixture
def wait(api):
    """Let time go by for the account, `wait(days=31)`; return what was done."""

    def waited(client=api, **span):
        answer = client.send("/sandbox/clock", {"advance_seconds": seconds_of(**span)})
        assert answer.status_code == 200, answer.content
        assert answer.json()["advanced_seconds"] == seconds_of(**span)
        return answer.json()["done"]

    return waited
