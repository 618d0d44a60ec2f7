"""A worker whose clock is set back: what was due by the old time is due by the new one."""

import time
from datetime import timedelta

import pytest
from django.utils import timezone

from config.core.retries import DELAYS, longest_delay
from config.webhooks import worker as worker_module
from config.webhooks.models import Delivery
from config.webhooks.queue import after_clock_set_back
from config.webhooks.worker import Worker

pytestmark = pytest.mark.django_db
AHEAD = timedelta(hours=2)
LEASE = timedelta(seconds=60)


@pytest.fixture
def delivery(make_endpoint, happen, work):
    """A delivery that has failed once and is due two hours and some seconds from now."""
    make_endpoint("http://127.0.0.1:1/")
    happen(1)
    work()
    made = Delivery.objects.get()
    assert (made.status, len(made.attempts)) == ("pending", 1)
    Delivery.objects.update(due_at=timezone.now() + AHEAD + DELAYS[1])
    return made


def test_it_waits_no_longer_than_its_place_in_the_schedule(private_allowed, delivery):
    now = timezone.now()
    assert after_clock_set_back(now=now, lease=LEASE) == 1
    delivery.refresh_from_db()
    assert delivery.due_at == now + longest_delay(1)
    assert after_clock_set_back(now=now, lease=LEASE) == 0


def test_what_was_never_tried_is_due_at_once(private_allowed, delivery):
    now = timezone.now()
    Delivery.objects.update(attempts=[])
    after_clock_set_back(now=now, lease=LEASE)
    assert Delivery.objects.get().due_at == now


def test_what_is_held_is_held_for_a_lease(private_allowed, delivery):
    now = timezone.now()
    Delivery.objects.update(claim=delivery.pk)
    after_clock_set_back(now=now, lease=LEASE)
    assert Delivery.objects.get().due_at == now + LEASE


def test_what_waits_in_its_turn_goes_on_waiting(private_allowed, delivery):
    later = timezone.now() + timedelta(hours=4)
    Delivery.objects.update(attempts=[{}] * 5, due_at=later)
    assert after_clock_set_back(now=timezone.now(), lease=LEASE) == 0
    assert Delivery.objects.get().due_at == later


def test_a_worker_notices_by_itself(private_allowed, delivery, monkeypatch):
    worker = Worker()
    worker._clock_ahead += AHEAD.total_seconds()
    worker.run(once=True)
    assert Delivery.objects.get().due_at <= timezone.now() + longest_delay(1)


def test_a_clock_that_is_kept_right_moves_nothing(private_allowed, delivery):
    worker = Worker()
    worker._clock_ahead += 1.0
    worker.run(once=True)
    assert Delivery.objects.get().due_at > timezone.now() + timedelta(hours=1)
    assert worker._clock_ahead == pytest.approx(time.time() - time.monotonic(), abs=1)
    assert worker_module.CLOCK_STEP_SECONDS > 1
