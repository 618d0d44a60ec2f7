"""Share fixtures between the tests of identity verification and bank data."""

import pytest
from django.db import connection

from identity.providers import plaid as plaid_module
from identity.providers import plaid_events
from tests.identity.plaid_double import CLIENT_ID, SECRET, Judge, PlaidDouble, read_description


@pytest.fixture(scope="session")
def judge():
    """Load Plaid's OpenAPI description as a validator, once per session because the description is large."""
    return Judge(read_description())


@pytest.fixture
def plaid(settings):
    """Yield a double of Plaid, configured as the open banking provider."""
    plaid_events._keys.clear()
    with PlaidDouble() as double:
        settings.OPEN_BANKING = "plaid"
        settings.PLAID_BASE_URL, settings.PLAID_CLIENT_ID, settings.PLAID_SECRET = double.url, CLIENT_ID, SECRET
        yield double
    plaid_events._keys.clear()


@pytest.fixture
def waiting_transactions(plaid, monkeypatch):
    """Record for each request to Plaid whether a database transaction was open during it."""
    calls, call = [], plaid_module.call

    def watch(*arguments, **options):
        calls.append(connection.in_atomic_block)
        return call(*arguments, **options)

    monkeypatch.setattr(plaid_module, "call", watch)
    return calls


@pytest.fixture
def judged_plaid(plaid, judge):
    """Yield a double of Plaid whose requests and responses are all validated at the end of the test."""
    yield plaid
    assert judge.judge(plaid.exchanges) > 0
