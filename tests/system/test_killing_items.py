"""Items that repeatedly kill their worker process become dead letters, and other items are processed."""

import os
import signal
import subprocess
import sys
from collections import Counter
from datetime import timedelta

from django.utils import timezone

from config.ops.failed_items import KILLED, dead_letters
from config.ops.models import WorkMark
from config.webhooks.models import Delivery
from credit.models import Application
from tests.databases import own_database_url
from tests.factories import ApplicationFactory
from tests.processes import PATIENCE_SECONDS, ROOT
from tests.system.webhooks.conftest import emit, make_endpoint, private_allowed  # noqa: F401  fixtures
from tests.webhooks.receiver import Receiver

# Runs `expire_applications`, and kills the process while it processes a given application.
EXPIRE = """
import os, signal
from django.core.management import call_command
from credit.applications import services
expire = services._expire

def killed(application, *arguments):
    if str(application.pk) == {key!r}:
        os.kill(os.getpid(), signal.SIGKILL)
    return expire(application, *arguments)

services._expire = killed
call_command("expire_applications")
"""


def start(*arguments):
    """Start a management command on this test's database."""
    environment = {**os.environ, "DATABASE_URL": own_database_url(), "WEBHOOK_ALLOW_PRIVATE": "1"}
    command = [sys.executable, "-W", "ignore", "manage.py", *arguments]
    return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL)


def expire_leases():
    past = timezone.now() - timedelta(seconds=1)
    WorkMark.objects.update(ends_at=past)
    Delivery.objects.filter(status="pending").update(due_at=past)


def test_an_application_that_kills_three_processes_becomes_a_dead_letter(committed):
    long_ago = timezone.now() - timedelta(days=400)
    applications = [ApplicationFactory(status="draft", updated_at=long_ago) for _ in range(4)]
    poisoned = applications.pop(1)
    ends = []
    for _ in range(5):
        process = start("shell", "-v", "0", "-c", EXPIRE.format(key=str(poisoned.pk)))
        ends.append(process.wait(timeout=PATIENCE_SECONDS))
        expire_leases()
    assert ends == [-signal.SIGKILL] * 3 + [1, 0]  # the fourth run creates and reports the dead letter
    dead = dead_letters().get()
    assert (dead.kind, dead.key, dead.kills, dead.error) == ("idle_application", str(poisoned.pk), 3, KILLED)
    assert Application.objects.get(pk=poisoned.pk).status == "draft"
    for application in applications:
        assert application.history.filter(status="expired").count() == 1
    assert not WorkMark.objects.exists()


def test_a_delivery_that_kills_three_processes_becomes_a_dead_letter(
    committed, private_allowed, make_endpoint, emit, stranger, user
):
    workers = []

    class Kills(list):
        """A list that kills the worker before the worker gets a response to its delivery."""

        def append(self, request):
            super().append(request)
            workers[-1].kill()

    with Receiver() as receiver, Receiver(received=Kills()) as killing:
        make_endpoint(killing.url, owner=stranger)
        make_endpoint(receiver.url)
        emit(owner=stranger)
        events = emit(10)
        ends = []
        for _ in range(4):
            workers.append(start("deliver_webhooks", "--once"))
            ends.append(workers[-1].wait(timeout=PATIENCE_SECONDS))
            expire_leases()
    assert ends == [-signal.SIGKILL] * 3 + [0]
    poisoned = Delivery.objects.get(account=stranger)
    dead = dead_letters().get()
    assert (dead.kind, dead.key, dead.kills, dead.error) == ("delivery", str(poisoned.pk), 3, KILLED)
    assert len(killing.received) == 3
    assert set(Delivery.objects.filter(account=user).values_list("status", flat=True)) == {"delivered"}
    # Deliveries that a killed worker had sent are sent again with the same ID.
    sent = Counter(receiver.ids)
    assert set(sent) == set(events)
    assert max(sent.values()) <= 2
