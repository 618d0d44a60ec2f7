"""Create clients whose keys outlive every test, and a function that advances their clock."""

from datetime import timedelta

import pytest
from django.utils import timezone

from tests.api import ApiClient
from tests.identity.conftest import plaid  # noqa: F401  a fixture
from tests.identity.support import issue


def key_of(user, days=100_000):
    """Return a client whose API key is valid for this many days."""
    return ApiClient(api_key=issue(user, expires_at=timezone.now() + timedelta(days=days)).key)


def seconds_of(**span):
    return int(timedelta(**span).total_seconds())


@pytest.fixture
def api(user):
    """Return a client that calls as `user`, at any time of its clock."""
    return key_of(user)


@pytest.fixture
def stranger_api(stranger):
    """Return a client that calls as `stranger`, at any time of its clock."""
    return key_of(stranger)


@pytest.fixture
def wait(api):
    """Return a function that advances the account's clock, `wait(days=31)`, and returns the counts of the work done."""

    def waited(client=api, **span):
        answer = client.send("/sandbox/clock", {"advance_seconds": seconds_of(**span)})
        assert answer.status_code == 200, answer.content
        assert answer.json()["advanced_seconds"] == seconds_of(**span)
        return answer.json()["done"]

    return waited
