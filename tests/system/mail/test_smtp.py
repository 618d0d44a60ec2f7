"""Mail delivery when workers are killed, or the mail server fails, is slow, or rejects mails."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from contextlib import contextmanager

import pytest
from aiosmtpd.controller import Controller
from django.core.mail import get_connection
from django.db import connections
from django.utils import timezone

from config.mail.delivery import deliver_some
from config.mail.models import PENDING, SENT, OutgoingMail
from config.mail.outbox import queue_mail
from tests.databases import own_database_url
from tests.processes import PATIENCE_SECONDS, ROOT, free_port, wait_until

MAILS = 60


class Mailbox:
    """The recipients of accepted mails. The server returns `answers` for the first mails."""

    def __init__(self, *answers, seconds=0.0):
        self.recipients, self.answers, self.seconds = [], list(answers), seconds

    async def handle_DATA(self, server, session, envelope):  # noqa: N802  aiosmtpd's name
        """Respond to a mail after a delay."""
        await asyncio.sleep(self.seconds)
        if self.answers:
            return self.answers.pop(0)
        self.recipients += envelope.rcpt_tos
        return "250 OK"


@contextmanager
def serving(mailbox, port=0):
    """Run a mail server until the block ends; yield its port."""
    controller = Controller(mailbox, hostname="127.0.0.1", port=port or free_port())
    controller.start()
    try:
        yield controller.port
    finally:
        controller.stop()


@pytest.fixture
def queued(committed):
    for number in range(MAILS):
        queue_mail(f"p{number}@example.org", "invitation", {"link": "https://api.example/x"}, now=timezone.now())
    return [f"p{number}@example.org" for number in range(MAILS)]


def worker(port):
    """Start a `deliver_mail` process."""
    command = [sys.executable, "-W", "ignore", "manage.py", "deliver_mail"]
    environment = os.environ | {"EMAIL_URL": f"smtp://127.0.0.1:{port}", "DATABASE_URL": own_database_url()}
    return subprocess.Popen(command, cwd=ROOT, env=environment, stderr=subprocess.DEVNULL)


def test_killed_mail_workers_lose_no_mail(queued):
    mailbox = Mailbox(seconds=0.02)
    with serving(mailbox) as port:
        for _ in range(3):
            before = len(mailbox.recipients)
            running = worker(port)
            wait_until(lambda before=before: len(mailbox.recipients) > before + 3)
            running.send_signal(signal.SIGKILL)
            running.wait()
            # Without this change, its claimed mails would wait until the lease expires.
            OutgoingMail.objects.filter(status=PENDING).update(due_at=timezone.now())
        last = worker(port)
        wait_until(lambda: not OutgoingMail.objects.filter(status=PENDING).exists())
        last.terminate()
        assert last.wait(PATIENCE_SECONDS) == 0, "the worker did not stop after SIGTERM"
    connections.close_all()
    times = Counter(mailbox.recipients)
    assert sorted(times) == sorted(queued)
    assert set(times.values()) <= {1, 2}
    assert sum(times.values()) <= MAILS + 3, "a kill may repeat at most one mail"


@pytest.fixture
def by_smtp(settings):
    """A function that configures this process to send mails to a port."""

    def use(port, patience_seconds=PATIENCE_SECONDS):
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.EMAIL_OPTIONS = {"host": "127.0.0.1", "port": port, "timeout": patience_seconds}
        assert get_connection(**settings.EMAIL_OPTIONS).timeout == patience_seconds

    return use


def deliver_rounds(count):
    for _ in range(count):
        deliver_some(now=timezone.now())
        OutgoingMail.objects.filter(status=PENDING).update(due_at=timezone.now())


def test_mails_are_retried_only_after_an_outage_a_timeout_or_a_temporary_rejection(queued, by_smtp):
    port = free_port()
    by_smtp(port)
    deliver_rounds(1)
    # The first round took only a part of the mails.
    taken = OutgoingMail.objects.exclude(attempts=0).order_by("pk")[:5]
    kept = {mail.pk: mail.recipient for mail in taken}
    OutgoingMail.objects.exclude(pk__in=kept).delete()
    with serving(Mailbox(seconds=2)) as slow:
        by_smtp(slow, patience_seconds=0.5)
        deliver_rounds(1)
    assert Counter(OutgoingMail.objects.values_list("status", "attempts")) == {(PENDING, 2): 5}
    mailbox = Mailbox("451 later", "452 full", "421 going down", "550 no such mailbox")
    with serving(mailbox, port):
        by_smtp(port)
        deliver_rounds(4)
    assert Counter(OutgoingMail.objects.values_list("status", flat=True)) == {SENT: 4, "failed": 1}
    assert len(mailbox.recipients) == 4
    assert set(mailbox.recipients) < set(kept.values())


# Changes that make a mail impossible to encode or to address.
POISONED = {
    "link": ("context", {"link": "https://api.example/\ud800"}),
    "name": ("context", {"link": "x", "provider_name": "\ud800"}),
    "list": ("context", ["no object"]),
    "header": ("recipient", "a@example.org\nBcc: b@example.org"),
    "nowhere": ("recipient", ""),
}


def test_mails_that_cannot_be_encoded_fail_after_ten_attempts_and_block_no_other_mail(committed, by_smtp):
    first, *poisoned, last = (
        queue_mail(f"{name}@example.org", "invitation", {"link": "https://api.example/x"}, now=timezone.now())
        for name in ("a", *POISONED, "c")
    )
    for mail, (name, value) in zip(poisoned, POISONED.values(), strict=True):
        setattr(mail, name, json.dumps(value) if name == "context" else value)
        mail.save()
    rejected = OutgoingMail.objects.filter(pk__in=[mail.pk for mail in poisoned])
    mailbox = Mailbox()
    with serving(mailbox) as port:
        by_smtp(port)
        deliver_rounds(1)
        assert sorted(mailbox.recipients) == ["a@example.org", "c@example.org"]
        assert set(rejected.values_list("attempts", flat=True)) == {1}
        deliver_rounds(9)
    assert len(mailbox.recipients) == 2
    assert set(rejected.values_list("status", flat=True)) == {"failed"}
    assert {OutgoingMail.objects.get(pk=mail.pk).status for mail in (first, last)} == {SENT}
