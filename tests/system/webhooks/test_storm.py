"""Four workers deliver 512 events, although four workers are killed.

STORM_EVENTS sets the number of events, and STORM_KILLS the number of killed workers.
"""

import os
import random
import signal
import subprocess
import sys
import time
from collections import defaultdict

import pytest

from config.webhooks.models import Delivery
from tests.databases import own_database_url
from tests.factories import UserFactory
from tests.processes import PATIENCE_SECONDS, ROOT, wait_until
from tests.webhooks.receiver import Receiver

WORKERS, ACCOUNTS = 4, 4
EVENTS, KILLS = int(os.environ.get("STORM_EVENTS", "512")), int(os.environ.get("STORM_KILLS", "4"))
LEASE_SECONDS = 10  # longer than a worker on a busy machine needs for its claimed deliveries


@pytest.fixture
def nursery(committed):
    """A function that starts a worker on this test's database, and returns the worker's process ID."""
    environment = {
        **os.environ,
        "DATABASE_URL": own_database_url(),
        "WEBHOOK_ALLOW_PRIVATE": "1",
        "WEBHOOK_LEASE_SECONDS": str(LEASE_SECONDS),
    }
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-m", "tests.webhooks.nursery"],
        cwd=ROOT,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )

    def spawn():
        process.stdin.write("\n")
        process.stdin.flush()
        return int(process.stdout.readline())

    yield spawn
    process.stdin.close()
    process.wait(timeout=PATIENCE_SECONDS)


def test_every_event_is_delivered_despite_killed_workers(
    needs_postgresql, private_allowed, nursery, make_endpoint, emit
):
    chance = random.Random()
    accounts = [UserFactory() for _ in range(ACCOUNTS)]
    events = []
    with Receiver(seconds=0.003) as receiver:
        for account in accounts:
            make_endpoint(f"{receiver.url}?{account.pk}", owner=account)
        workers = [nursery() for _ in range(WORKERS)]
        for _ in range(KILLS):
            for account in accounts:
                events += emit(EVENTS // ACCOUNTS // KILLS, owner=account)
            time.sleep(chance.uniform(0.1, 0.5))
            killed = workers.pop(chance.randrange(WORKERS))
            os.kill(killed, signal.SIGKILL)
            workers.append(nursery())
        wait_until(
            lambda: len(set(receiver.ids)) >= EVENTS and not Delivery.objects.exclude(status="delivered").exists()
        )
        for worker in workers:
            os.kill(worker, signal.SIGTERM)
    assert len(events) == EVENTS
    assert set(receiver.ids) == set(events)
    bodies = defaultdict(set)
    for request in receiver.received:
        bodies[request.headers["webhook-id"]].add(request.body)
    assert all(len(same) == 1 for same in bodies.values())
    # Only deliveries that a killed worker had claimed can be sent twice.
    assert len(receiver.received) - EVENTS <= KILLS * 100
    assert Delivery.objects.count() == EVENTS
