"""What tests of webhooks share: endpoints, a receiver, and one round of a worker."""

import pytest
from django.utils import timezone

from config.webhooks import endpoints
from config.webhooks.events import record_event
from config.webhooks.worker import Worker
from tests.webhooks.receiver import Receiver

PUBLIC_URL = "https://93.184.215.14/hook"


@pytest.fixture
def private_allowed(settings):
    """Let webhooks go to 127.0.0.1, where the receivers of tests are."""
    settings.WEBHOOK_ALLOW_PRIVATE = True


@pytest.fixture
def receiver(private_allowed):
    """A receiver that accepts everything."""
    with Receiver() as running:
        yield running


@pytest.fixture
def make_endpoint(db, user):
    """Make an endpoint of `user`."""

    def make(url=PUBLIC_URL, *, event_types=("*",), owner=user):
        return endpoints.create_endpoint(
            account_id=owner.pk, url=url, event_types=list(event_types), description="", now=timezone.now()
        )

    return make


@pytest.fixture
def happen(db, user):
    """Let events happen to `user`; return their ids."""

    def record(count=1, *, event_type="wallet.connected", owner=user):
        now = timezone.now()
        return [
            str(record_event(event_type, account_id=owner.pk, now=now, wallet_id=f"wallet-{number}"))
            for number in range(count)
        ]

    return record


@pytest.fixture
def work(db):
    """Run a worker until nothing is due; return what it did."""

    def run(**options):
        return Worker(**options).run(once=True)

    return run
