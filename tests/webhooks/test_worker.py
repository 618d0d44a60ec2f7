"""Test the webhook commands, and the shutdown of a worker."""

import json
import signal
import threading
import time
from io import StringIO

import pytest
from django.core.management import call_command
from django.db import OperationalError
from django.utils import timezone

from config.webhooks import worker as worker_module
from config.webhooks.models import Delivery
from config.webhooks.worker import Worker
from tests.webhooks.receiver import Receiver


@pytest.mark.django_db
def test_deliver_webhooks_command_sends_due_deliveries_only_once_and_prints_counts(receiver, make_endpoint, emit):
    make_endpoint(receiver.url)
    emit(5)
    receiver.answers = [(500, {}, b"")]
    out = StringIO()
    call_command("deliver_webhooks", "--once", "--json", stdout=out)
    counts = json.loads(out.getvalue().splitlines()[-1])
    assert counts == {"published": 5, "delivered": 4, "retried": 1, "failed": 0, "disabled": 0}
    out = StringIO()
    call_command("deliver_webhooks", "--once", "--json", stdout=out)
    assert set(json.loads(out.getvalue()).values()) == {0}


@pytest.mark.django_db
def test_events_of_accounts_without_endpoints_are_published_without_deliveries(emit, work, stranger):
    emit(3)
    emit(2, owner=stranger)
    assert work()["published"] == 5
    assert not Delivery.objects.exists()


@pytest.mark.django_db
def test_signal_handlers_are_restored_after_the_deliver_webhooks_command(db):
    before = signal.getsignal(signal.SIGTERM)
    call_command("deliver_webhooks", "--once", stdout=StringIO())
    assert signal.getsignal(signal.SIGTERM) is before


@pytest.mark.django_db
def test_stopped_webhook_worker_finishes_attempts_and_releases_other_deliveries(private_allowed, make_endpoint, emit):
    with Receiver(seconds=0.1) as receiver:
        make_endpoint(receiver.url)
        emit(30)
        worker = Worker()

        def stop_after_the_first():
            while not receiver.received:
                time.sleep(0.005)
            worker.stop()

        thread = threading.Thread(target=stop_after_the_first)
        thread.start()
        counts = worker.run()
        thread.join()
    assert counts["delivered"] == len(receiver.received) >= 1
    left = Delivery.objects.filter(status="pending")
    assert left.count() == 30 - counts["delivered"] > 0
    assert not left.filter(claim__isnull=False).exists()
    assert not left.filter(due_at__gt=timezone.now()).exists()


@pytest.mark.django_db
def test_sent_webhook_deliveries_are_stored_after_a_database_outage(receiver, make_endpoint, emit, monkeypatch):
    make_endpoint(receiver.url)
    emit(3)
    monkeypatch.setattr(worker_module, "_DATABASE_PAUSE_SECONDS", 0)
    monkeypatch.setattr(worker_module.connection, "close", lambda: None)
    original, faults = worker_module.store_outcomes, [OperationalError("gone")] * 3

    def store(*arguments, **options):
        if faults:
            raise faults.pop()
        return original(*arguments, **options)

    monkeypatch.setattr(worker_module, "store_outcomes", store)
    assert Worker().run(once=True)["delivered"] == 3
    assert (faults, len(receiver.received)) == ([], 3)


@pytest.mark.django_db
def test_hanging_webhook_receiver_is_disconnected_after_a_quarter_of_the_lease(
    settings, private_allowed, make_endpoint, emit, work
):
    settings.WEBHOOK_LEASE_SECONDS = 1
    with Receiver(seconds=0.9) as receiver:
        make_endpoint(receiver.url)
        emit()
        assert work()["retried"] == 1
    (attempt,) = Delivery.objects.get().attempts
    assert (attempt["status_code"], attempt["error"]) == (None, "timeout")
    assert 200 <= attempt["duration_ms"] < 900


@pytest.mark.django_db
def test_hanging_webhook_receivers_do_not_delay_a_fast_receiver(
    settings, private_allowed, receiver, make_endpoint, emit, work, stranger
):
    """Uses 16 hanging endpoints of one account, with more deliveries than the worker has lanes."""
    settings.WEBHOOK_LEASE_SECONDS = 2  # Each attempt takes 0.5 s.
    with Receiver(seconds=2) as hanging:
        for _ in range(16):
            make_endpoint(hanging.url)
        make_endpoint(receiver.url, owner=stranger)
        emit(4)
        emit(20, owner=stranger)
        thread = threading.Thread(target=stop_when, args=(worker := Worker(), lambda: len(receiver.received) >= 20))
        thread.start()
        worker.run()
        thread.join()
    assert len(receiver.received) == 20
    assert len(hanging.received) < 40


def stop_when(worker, condition):
    """Stop a worker when a condition is true."""
    while not condition():
        time.sleep(0.01)
    worker.stop()


def test_webhook_attempt_lasts_at_most_15_s_and_its_lease_60_s(settings):
    assert settings.WEBHOOK_LEASE_SECONDS == 60
    assert Worker()._attempt_seconds == 15.0
