"""Test queue items that fail or kill the process of their worker, and their effect on other items."""

from datetime import timedelta

import pytest
from django.db import OperationalError, ProgrammingError
from django.utils import timezone

from config.mail.models import PENDING, SENT, OutgoingMail
from config.ops import failed_items
from config.ops.failed_items import FailedItems, dead_letters, retry
from config.ops.models import FailedItem, WorkMark
from config.ops.pruning import prune

pytestmark = pytest.mark.django_db
LEASE = timedelta(minutes=4)
NOW = timezone.now()


class Killed(BaseException):
    """Simulates SIGKILL, after which no code runs."""


@pytest.fixture
def queued():
    """Queue items; return them."""

    def queue(count):
        return [
            OutgoingMail.objects.create(recipient="a@b.example", template="x", context="", due_at=NOW, created_at=NOW)
            for _ in range(count)
        ]

    return queue


def items(**options):
    queue = OutgoingMail.objects.filter(status=PENDING).order_by("id")
    return FailedItems("test", queue, lease=LEASE, **options)


def finish(item):
    item.status, item.due_at = SENT, None
    item.save()


def killing(victim, monkeypatch):
    """Return a function that finishes every item but dies at `victim` and leaves its mark."""

    def work(item):
        if item.pk == victim.pk:
            monkeypatch.setattr(FailedItems, "end", lambda _self, _marks: None)
            raise Killed
        finish(item)

    return work


def die(victim, monkeypatch, *, now):
    with monkeypatch.context() as patched, pytest.raises(Killed):
        items().process(killing(victim, patched), now=now)


def raising(error, *, for_item):
    def work(item):
        if item.pk == for_item.pk:
            raise error
        finish(item)

    return work


@pytest.mark.parametrize(("batch", "marks"), [(1, 20), (7, 3), (20, 1)])
def test_processing_work_items_executes_two_lease_statements_per_batch(queued, django_assert_num_queries, batch, marks):
    queued(20)
    # The review executes 2 statements, reading the keys 1, reading the rows 20, and each mark 2.
    with django_assert_num_queries(2 + 1 + 20 + 2 * marks):
        assert items().process(id, now=NOW, batch=batch) == 0
    assert not WorkMark.objects.exists()


def test_lease_of_work_items_starts_when_their_batch_starts(queued, monkeypatch):
    queued(2)
    ends, seconds = [], iter([100.0, 100.0, 400.0])  # These are the times of the review and of each mark.
    monkeypatch.setattr(failed_items.time, "monotonic", lambda: next(seconds))
    items().process(lambda _mail: ends.append(WorkMark.objects.get().ends_at), now=NOW)
    assert ends == [NOW + LEASE, NOW + LEASE + timedelta(minutes=5)]


def test_work_item_that_returns_stop_postpones_the_remaining_items(queued):
    queued(3)
    seen = []
    assert items().process(lambda mail: seen.append(mail) or failed_items.STOP, now=NOW, batch=2) == 0
    assert len(seen) == 1
    assert not WorkMark.objects.exists()


def test_work_item_deleted_during_processing_is_skipped(queued):
    first, second = queued(2)
    assert items().process(lambda _mail: second.delete() if second.pk else None, now=NOW) == 0
    assert not FailedItem.objects.exists()
    assert OutgoingMail.objects.get() == first


def test_failing_work_item_does_not_stop_other_work_items(queued):
    first, poisoned, last = queued(3)
    assert items().process(raising(ZeroDivisionError("Ada"), for_item=poisoned), now=NOW) == 1
    assert set(OutgoingMail.objects.filter(status=SENT)) == {first, last}
    row = FailedItem.objects.get()
    assert (row.kind, row.key, row.failures, row.kills, row.error) == (
        "test",
        str(poisoned.pk),
        1,
        0,
        "ZeroDivisionError",
    )


def test_failed_work_item_is_retried_with_backoff_up_to_the_maximum_attempts(queued):
    (poisoned,) = queued(1)
    now, waits = NOW, []
    for _ in range(4):
        work = raising(KeyError(), for_item=poisoned)
        assert items(failures_max=4).process(work, now=now) == 1
        assert items().process(work, now=now) == 0
        waits.append((FailedItem.objects.get().retry_at - now) // timedelta(minutes=1))
        now = FailedItem.objects.get().retry_at
    assert waits == [1, 2, 4, 8]
    assert dead_letters().get().dead_at is not None
    assert items().process(finish, now=now + timedelta(days=9)) == 0
    assert OutgoingMail.objects.get().status == PENDING


def test_successful_work_item_deletes_its_earlier_failures(queued):
    (flaky,) = queued(1)
    items().process(raising(KeyError(), for_item=flaky), now=NOW)
    items().process(finish, now=NOW + timedelta(minutes=2))
    assert not FailedItem.objects.exists()


@pytest.mark.parametrize("error", [OperationalError("gone"), ProgrammingError("no column")])
def test_database_errors_are_not_counted_as_failures_of_a_work_item(queued, error):
    (item,) = queued(1)
    with pytest.raises(type(error)):
        items().process(raising(error, for_item=item), now=NOW)
    assert not FailedItem.objects.exists()


def test_work_item_that_kills_three_processes_becomes_a_dead_letter(queued, monkeypatch):
    first, poisoned, *rest = queued(4)
    now = NOW
    for kills in (1, 2, 3):
        die(poisoned, monkeypatch, now=now)
        now += LEASE + timedelta(seconds=1)
        items().review(now=now)
        assert FailedItem.objects.get(key=str(poisoned.pk)).kills == kills
    assert items().process(killing(poisoned, monkeypatch), now=now) == 0
    assert set(OutgoingMail.objects.filter(status=SENT)) == {first, *rest}
    (dead,) = FailedItem.objects.all()
    assert (dead.key, dead.error, dead.failures) == (str(poisoned.pk), failed_items.KILLED, 0)
    assert dead.dead_at == now


def test_work_item_with_an_unexpired_lease_is_not_counted_as_failed(queued, monkeypatch):
    poisoned, _ = queued(2)
    die(poisoned, monkeypatch, now=NOW)
    items().review(now=NOW + LEASE - timedelta(seconds=1))
    assert not FailedItem.objects.exists()


def test_retried_dead_letter_is_processed_alone_and_becomes_a_dead_letter_after_two_process_crashes(
    queued, monkeypatch
):
    (poisoned,) = queued(1)
    now = NOW
    for _ in range(3):
        die(poisoned, monkeypatch, now=now)
        now += LEASE + timedelta(seconds=1)
        items().review(now=now)
    retry(dead_letters().get(), now=now)
    for _ in range(2):
        assert not dead_letters().exists()
        die(poisoned, monkeypatch, now=now)
        now += LEASE + timedelta(seconds=1)
        items().review(now=now)
    retry(dead_letters().get(), now=now)
    assert items().process(finish, now=now) == 0
    assert OutgoingMail.objects.get().status == SENT
    assert not FailedItem.objects.exists()


def test_unreadable_work_item_does_not_fail_other_work_items(queued, monkeypatch):
    good, poisoned = queued(2)
    monkeypatch.setattr(OutgoingMail, "from_db", _refusing(OutgoingMail.from_db, poisoned.pk))
    assert items().process(finish, now=NOW) == 1
    assert FailedItem.objects.get().key == str(poisoned.pk)
    assert OutgoingMail.objects.filter(status=SENT).values_list("pk", flat=True).get() == good.pk


def _refusing(original, key):
    def from_db(db, field_names, values):
        row = original(db, field_names, values)
        if row.pk == key:
            raise ValueError("unreadable")
        return row

    return from_db


def test_prune_deletes_abandoned_failures_but_no_dead_letters(queued):
    items().fail("gone", KeyError(), now=NOW - timedelta(days=31))
    items(failures_max=1).fail("dead", KeyError(), now=NOW - timedelta(days=31))
    items().fail("recent", KeyError(), now=NOW)
    assert prune(now=NOW)["failed_items"] == 1
    assert set(FailedItem.objects.values_list("key", flat=True)) == {"dead", "recent"}
