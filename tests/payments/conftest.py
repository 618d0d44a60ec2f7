"""Share clients and doubles between the tests of payments."""

from datetime import timedelta

import pytest
from django.utils import timezone

from identity.access import keys
from tests.api import ApiClient
from tests.payments.crypto_support import CHAIN_ID, NETWORK
from tests.payments.node_double import NodeDouble
from tests.payments.stripe_double import StripeDouble

TOKEN = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"


@pytest.fixture
def scoped_api(user):
    """Return a client whose API key has scopes, but no scope for payments."""
    now = timezone.now()
    issued = keys.create_api_key(
        owner=user, name="scoped", scopes=["wallet:read", "offers:read"], now=now, expires_at=now + timedelta(days=60)
    )
    return ApiClient(api_key=issued.key)


@pytest.fixture
def impatient(monkeypatch):
    """Remove the worker's pause between queries of the chain, because only tests create blocks here."""
    monkeypatch.setattr("payments.crypto.settlement.LOOK_AGAIN_SECONDS", 0)


@pytest.fixture
def stripe_settings(settings):
    """Settings that charge through Stripe."""
    settings.CARD_PROCESSOR = "stripe"
    settings.STRIPE_SECRET_KEY = "sk_test_secret"
    settings.STRIPE_WEBHOOK_SECRET = "whsec_test"
    return settings


@pytest.fixture
def double(stripe_settings):
    """Yield a double of Stripe, through which the platform charges."""
    with StripeDouble() as server:
        stripe_settings.STRIPE_BASE_URL = server.url
        yield server


@pytest.fixture
def node(settings):
    """Yield a node double with configurable responses, and settings of a platform that settles on its chain."""
    with NodeDouble(CHAIN_ID) as server:
        settings.SETTLEMENT_RPC_URL, settings.SETTLEMENT_NETWORK = server.url, NETWORK
        settings.SETTLEMENT_TOKEN_ADDRESS = TOKEN
        yield server
