"""Test that a failing item in a webhook queue does not delay other items."""

from datetime import timedelta
from uuid import UUID

import pytest
from django.db import connection
from django.utils import timezone

from config.ops.failed_items import KILLED, FailedItems, dead_letters
from config.ops.models import FailedItem, WorkMark
from config.webhooks import publishing, queue, worker
from config.webhooks.models import Delivery, Endpoint, Event
from config.webhooks.worker import Worker

pytestmark = pytest.mark.django_db


@pytest.fixture
def neighbors(receiver, make_endpoint, emit, user, stranger):
    """Queue an event of `stranger`, then one of `user`, to the same receiver; return the endpoint of `stranger`."""
    poisoned = make_endpoint(receiver.url, owner=stranger)
    make_endpoint(receiver.url)
    emit(owner=stranger)
    emit()
    return poisoned


def assert_only_the_neighbor_was_served(user, stranger):
    assert Delivery.objects.get(account=user).status == "delivered"
    assert not Delivery.objects.filter(account=stranger, status="delivered").exists()
    assert not WorkMark.objects.exists()


def raising(original, is_poisoned, error=ValueError):
    """Return a wrapper of `original` that raises for poisoned arguments."""

    def call(*arguments, **options):
        if is_poisoned(*arguments):
            raise error("personal data")
        return original(*arguments, **options)

    return call


def test_event_that_cannot_be_published_does_not_delay_other_events(neighbors, user, stranger, work, monkeypatch):
    is_told = raising(publishing._is_told, lambda endpoint, _event: endpoint.pk == neighbors.pk, KeyError)
    monkeypatch.setattr(publishing, "_is_told", is_told)
    assert work()["published"] == 1
    assert_only_the_neighbor_was_served(user, stranger)
    failed = FailedItem.objects.get()
    assert (failed.kind, failed.key, failed.error) == ("event", str(Event.objects.get(account=stranger).pk), "KeyError")
    assert work()["published"] == 0


def test_unreadable_event_does_not_delay_other_events(neighbors, user, stranger, work):
    Event.objects.filter(account=stranger).update(type="x")  # Publishing does not read the object of this type.
    with connection.cursor() as cursor:
        cursor.execute("UPDATE webhooks_event SET object = '{' WHERE account_id = %s", [stranger.pk])
    work()
    assert_only_the_neighbor_was_served(user, stranger)
    assert FailedItem.objects.get(kind="event").error == "JSONDecodeError"


def test_event_that_kills_three_workers_becomes_a_dead_letter(neighbors, emit, user, stranger, work, monkeypatch):
    poisoned = Event.objects.get(account=stranger)
    is_told = raising(publishing._is_told, lambda endpoint, _event: endpoint.pk == neighbors.pk, Killed)
    with monkeypatch.context() as patched:
        patched.setattr(publishing, "_is_told", is_told)
        for _ in range(3):
            with patched.context() as killed:
                killed.setattr(FailedItems, "end", lambda _items, _marks: None)
                with pytest.raises(Killed):
                    work()
            expire_leases()
        work()
        assert_only_the_neighbor_was_served(user, stranger)
        dead = dead_letters().get()
        assert (dead.kind, dead.key, dead.kills, dead.error) == ("event", str(poisoned.pk), 3, KILLED)
        # A request for the feed publishes events in the same way.
        publishing.publish_account(stranger.pk, now=timezone.now())
    later = emit(owner=stranger)
    events, _has_more = publishing.feed_page(account_id=stranger.pk, after=0, limit=20, now=timezone.now())
    assert [event["id"] for event in events] == later


def test_delivery_with_an_unreadable_endpoint_does_not_delay_other_deliveries(neighbors, user, stranger, work):
    publishing.publish_account(stranger.pk, now=timezone.now())
    with connection.cursor() as cursor:
        cursor.execute("UPDATE webhooks_endpoint SET event_types = '[' WHERE account_id = %s", [stranger.pk])
    Event.objects.filter(account=user).update(sequence=None)
    Delivery.objects.filter(account=stranger).update(due_at=timezone.now())
    publishing.publish_account(user.pk, now=timezone.now())
    work()
    assert_only_the_neighbor_was_served(user, stranger)
    assert FailedItem.objects.get(kind="delivery").key == str(Delivery.objects.get(account=stranger).pk)


def test_event_body_that_cannot_be_rendered_fails_only_its_delivery(neighbors, user, stranger, work, monkeypatch):
    render = raising(worker.event_body, lambda event: event.account_id == stranger.pk)
    monkeypatch.setattr(worker, "event_body", render)
    work()
    assert_only_the_neighbor_was_served(user, stranger)
    assert Delivery.objects.get(account=stranger).attempts[0]["error"] == "internal"


def test_failing_delivery_does_not_stop_other_deliveries_of_its_endpoint(
    receiver, make_endpoint, emit, work, monkeypatch
):
    make_endpoint(receiver.url)
    poisoned, other = emit(2)
    monkeypatch.setattr(worker, "event_body", raising(worker.event_body, lambda event: str(event.pk) == poisoned))
    assert work()["delivered"] == 1
    assert Delivery.objects.get(status="delivered").event_id == UUID(other)


def test_internal_error_for_one_webhook_receiver_fails_only_deliveries_to_that_receiver(
    neighbors, user, stranger, work, monkeypatch
):
    Endpoint.objects.filter(pk=neighbors.pk).update(url="http://poisoned.example")
    channel = raising(worker.Channel, lambda url: "poisoned" in url)
    monkeypatch.setattr(worker, "Channel", channel)
    assert work()["delivered"] == 1
    assert_only_the_neighbor_was_served(user, stranger)
    assert Delivery.objects.get(account=stranger).attempts[0]["error"] == "internal"


def test_webhook_delivery_outcome_that_cannot_be_stored_does_not_affect_other_outcomes(
    neighbors, user, stranger, work, monkeypatch
):
    entry = raising(queue.Outcome.entry, lambda outcome: outcome.delivery.endpoint_id == neighbors.pk)
    monkeypatch.setattr(queue.Outcome, "entry", entry)
    assert work()["delivered"] == 1
    assert_only_the_neighbor_was_served(user, stranger)
    failed = FailedItem.objects.get()
    assert (failed.kind, failed.key) == ("delivery", str(Delivery.objects.get(account=stranger).pk))


class Killed(BaseException):
    """Simulate SIGKILL."""


def kill(monkeypatch, *, key=None):
    """Kill a worker while it processes the delivery `key`, or without a key any delivery."""
    dispatch = raising(Worker._dispatch, lambda _worker, taken, _lanes: taken and key in {None, *keys(taken)}, Killed)
    with monkeypatch.context() as patched:
        patched.setattr(Worker, "_dispatch", dispatch)
        with pytest.raises(Killed):
            Worker().run(once=True)


def keys(deliveries):
    return {delivery.pk for delivery in deliveries}


def expire_leases():
    past = timezone.now() - timedelta(seconds=1)
    WorkMark.objects.update(ends_at=past)
    Delivery.objects.filter(status="pending").update(due_at=past)


def test_webhook_delivery_that_kills_three_workers_becomes_a_dead_letter(neighbors, user, stranger, work, monkeypatch):
    publishing.publish_account(stranger.pk, now=timezone.now())
    publishing.publish_account(user.pk, now=timezone.now())
    poisoned = Delivery.objects.get(account=stranger)
    kill(monkeypatch)
    for _ in range(2):
        expire_leases()
        kill(monkeypatch, key=poisoned.pk)
    expire_leases()
    work()
    assert_only_the_neighbor_was_served(user, stranger)
    dead = dead_letters().get()
    assert (dead.kind, dead.key, dead.kills, dead.error) == ("delivery", str(poisoned.pk), 3, KILLED)


def test_webhook_deliveries_of_a_killed_worker_are_sent_one_by_one(
    receiver, make_endpoint, emit, user, work, monkeypatch
):
    make_endpoint(receiver.url)
    emit(3)
    kill(monkeypatch)
    expire_leases()
    batches, begin = [], FailedItems.begin
    monkeypatch.setattr(FailedItems, "begin", lambda self, keys: batches.append(len(keys)) or begin(self, keys))
    assert work()["delivered"] == 3
    assert batches == [1, 1, 1]
    assert not FailedItem.objects.exists()
