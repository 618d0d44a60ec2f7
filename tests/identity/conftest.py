"""What the tests of identity verification and bank data share."""

from contextlib import ExitStack

import pytest
from django.db import connection

from identity.providers import plaid_events
from tests.config.server import gunicorn, own_database_url
from tests.identity.plaid_double import CLIENT_ID, SECRET, Judge, PlaidDouble, read_description


@pytest.fixture(scope="session")
def judge():
    """Plaid's description as a judge; read once, because it is large."""
    return Judge(read_description())


@pytest.fixture
def plaid(settings):
    """A double of Plaid that is the provider now."""
    plaid_events._keys.clear()
    with PlaidDouble() as double:
        settings.OPEN_BANKING = "plaid"
        settings.PLAID_BASE_URL, settings.PLAID_CLIENT_ID, settings.PLAID_SECRET = double.url, CLIENT_ID, SECRET
        yield double
    plaid_events._keys.clear()


@pytest.fixture
def judged_plaid(plaid, judge):
    """A double of Plaid whose whole conversation with us is judged at the end."""
    yield plaid
    assert judge.judge(plaid.exchanges) > 0


@pytest.fixture
def two_servers(committed, settings, tmp_path):
    """Two servers on the test's database, each a process of its own; their addresses."""
    here = connection
    address = own_database_url() if here.vendor == "postgresql" else f"sqlite:///{here.settings_dict['NAME']}"
    shared = {
        "BASE_URL": settings.BASE_URL,
        "SECRET_KEY": settings.SECRET_KEY,
        "FIELD_ENCRYPTION_KEYS": ",".join(settings.FIELD_ENCRYPTION_KEYS),
    }
    with ExitStack() as stack:
        ports = [stack.enter_context(gunicorn(address, tmp_path, threads=4, **shared)) for _ in range(2)]
        yield [f"http://127.0.0.1:{port}/v1" for port in ports]
