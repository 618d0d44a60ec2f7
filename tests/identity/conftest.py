"""Share fixtures between the tests of identity verification, bank data, and staff log-ins."""

import pytest
from django.db import connection

from config.core.groups import REVIEWER, SUPPORT
from identity.oidc import client as oidc_client
from identity.providers import plaid as plaid_module
from identity.providers import plaid_events
from tests.identity.issuer_double import JANE, IssuerDouble, invited, log_in
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


@pytest.fixture
def issuer(settings, db):
    """Yield an OpenID Connect issuer of staff, who can't log in with passwords."""
    with IssuerDouble() as double:
        settings.STAFF_OIDC = double.client
        settings.STAFF_OIDC_GROUPS = {"idp-support": SUPPORT, "idp-reviewers": REVIEWER}
        settings.STAFF_PASSWORDS, settings.STAFF_BREAK_GLASS = False, "glass"
        settings.BACKOFFICE_SECOND_FACTOR = True
        settings.RATE_LIMITS = {**settings.RATE_LIMITS, "token": None, "mail_recipient": None, "mail_own": None}
        oidc_client.forget_documents()
        double.person = dict(JANE)
        yield double
    oidc_client.forget_documents()


@pytest.fixture
def jane(issuer):
    """Return the browser of a member of staff with a session from the issuer."""
    invited()
    return log_in(issuer)[0]
