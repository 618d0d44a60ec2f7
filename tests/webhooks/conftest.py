"""Share fixtures between the webhook tests: endpoints, a receiver, events, and the worker."""

import pytest
from django.utils import timezone

from config.webhooks import endpoints
from config.webhooks.events import record_event
from config.webhooks.worker import Worker
from tests.webhooks.receiver import Receiver

PUBLIC_URL = "https://93.184.215.14/hook"


@pytest.fixture
def private_allowed(settings):
    """Allow webhooks to 127.0.0.1, where the receivers of tests listen."""
    settings.WEBHOOK_ALLOW_PRIVATE = True


@pytest.fixture
def receiver(private_allowed):
    """Yield a receiver that accepts everything."""
    with Receiver() as running:
        yield running


@pytest.fixture
def make_endpoint(db, user):
    """Return a function that creates an endpoint of `user`."""

    def make(url=PUBLIC_URL, *, event_types=("*",), owner=user):
        return endpoints.create_endpoint(
            account_id=owner.pk, url=url, event_types=list(event_types), description="", now=timezone.now()
        )

    return make


@pytest.fixture
def emit(db, user):
    """Return a function that records events of `user` and returns the event IDs."""

    def record(count=1, *, event_type="wallet.connected", owner=user):
        now = timezone.now()
        return [
            str(record_event(event_type, account_id=owner.pk, now=now, wallet_id=f"wallet-{number}"))
            for number in range(count)
        ]

    return record


@pytest.fixture
def work(db):
    """Return a function that runs a worker until no delivery is due and returns its counts."""

    def run(**options):
        return Worker(**options).run(once=True)

    return run
