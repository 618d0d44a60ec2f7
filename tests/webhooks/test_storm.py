"""Four workers, four thousand events, twenty of the workers killed while they send: nothing is lost."""

import os
import random
import signal
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path

import pytest

from config.webhooks.models import Delivery
from tests.factories import UserFactory
from tests.webhooks.receiver import Receiver
from tests.webhooks.test_worker import database_url

ROOT = Path(__file__).resolve().parents[2]
WORKERS, KILLS, EVENTS, ACCOUNTS = 4, 20, 4_000, 4
LEASE_SECONDS = 3
DEADLINE_SECONDS = 90


@pytest.fixture
def nursery(committed):
    """Make workers on the database of this test: a function that returns the process id of a new one."""
    environment = {
        **os.environ,
        "DATABASE_URL": database_url(),
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
    process.wait(timeout=30)


def settled(receiver, expected):
    """Wait until every event has come and every delivery is stored as delivered; say whether that happened."""
    deadline = time.monotonic() + DEADLINE_SECONDS
    while time.monotonic() < deadline:
        if len(set(receiver.ids)) >= expected and not Delivery.objects.exclude(status="delivered").exists():
            return True
        time.sleep(0.1)
    return False


def test_every_event_is_delivered_though_workers_are_killed_at_any_moment(
    needs_postgresql, private_allowed, nursery, make_endpoint, happen
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
                events += happen(EVENTS // ACCOUNTS // KILLS, owner=account)
            time.sleep(chance.uniform(0.1, 0.5))
            killed = workers.pop(chance.randrange(WORKERS))
            os.kill(killed, signal.SIGKILL)
            workers.append(nursery())
        delivered = settled(receiver, EVENTS)
        for worker in workers:
            os.kill(worker, signal.SIGTERM)
    assert delivered, f"{len(set(receiver.ids))} of {EVENTS}"
    assert len(events) == EVENTS
    assert set(receiver.ids) == set(events)
    bodies = defaultdict(set)
    for request in receiver.received:
        bodies[request.headers["webhook-id"]].add(request.body)
    assert all(len(same) == 1 for same in bodies.values())
    # What is sent twice was in the hand of a worker that was killed.
    assert len(receiver.received) - EVENTS <= KILLS * 100
    assert Delivery.objects.count() == EVENTS
