"""Test which deliveries a worker claims, for how long, and with how many statements."""

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from config.webhooks.models import Delivery, Endpoint
from config.webhooks.publishing import failed_events, publish_account, publish_some
from config.webhooks.queue import Outcome, failed_deliveries, requeue, store_outcomes, take_due

pytestmark = pytest.mark.django_db
LEASE = timedelta(seconds=60)


@pytest.fixture
def queued(make_endpoint, emit, user):
    """Return a function that makes deliveries due."""

    def queue(count):
        if not Endpoint.objects.exists():
            make_endpoint()
        emit(count)
        publish_account(user.pk, now=timezone.now())

    return queue


def take_deliveries(limit=100, **later):
    items, now = failed_deliveries(lease=LEASE), timezone.now() + timedelta(**later)
    return take_due(items, items.takeable(now=now), limit=limit, now=now, lease=LEASE)


def outcome_of(delivery, *, error=None, status=200):
    return Outcome(delivery, timezone.now(), status, error, 5)


def test_leased_webhook_delivery_can_be_claimed_again_only_after_its_lease_or_release(queued):
    queued(3)
    assert len(take_deliveries()) == 3
    assert take_deliveries() == []
    assert take_deliveries(seconds=59) == []
    assert len(take_deliveries(seconds=61)) == 3
    queued(2)
    assert requeue(take_deliveries(), due_at=timezone.now()) == 2
    assert len(take_deliveries()) == 2


def test_oldest_webhook_delivery_is_claimed_first(queued):
    queued(5)
    oldest = Delivery.objects.order_by("-id").first()
    Delivery.objects.filter(pk=oldest.pk).update(due_at=timezone.now() - timedelta(hours=1))
    assert [delivery.pk for delivery in take_deliveries(1)] == [oldest.pk]


def test_webhook_worker_resuming_after_its_lease_changes_nothing(queued):
    queued(1)
    (sleeper,) = take_deliveries()
    (other,) = take_deliveries(seconds=61)
    store_outcomes([outcome_of(sleeper, error="status", status=500)], now=timezone.now())
    stored = Delivery.objects.get()
    assert (stored.attempts, stored.claim) == ([], other.claim)
    assert requeue([sleeper], due_at=timezone.now()) == 0
    store_outcomes([outcome_of(other)], now=timezone.now())
    assert Delivery.objects.get().status == "delivered"


def test_concurrent_publishers_deliver_each_event_only_once(queued):
    queued(1)
    first = Delivery.objects.get()
    with pytest.raises(IntegrityError), transaction.atomic():
        Delivery.objects.create(
            account_id=first.account_id, endpoint_id=first.endpoint_id, event_id=first.event_id,
            event_type=first.event_type, due_at=timezone.now(), created_at=timezone.now(),
        )  # fmt: skip


def test_webhook_endpoint_with_one_successful_delivery_in_a_batch_is_not_marked_as_failing(queued):
    queued(3)
    deliveries = take_deliveries()
    outcomes = [outcome_of(deliveries[0], error="status", status=500), *map(outcome_of, deliveries[1:])]
    counts = store_outcomes(outcomes, now=timezone.now())
    assert (counts["delivered"], counts["retried"]) == (2, 1)
    assert Endpoint.objects.get().failing_since is None


def test_claiming_and_storing_webhook_deliveries_executes_a_fixed_number_of_sql_statements(
    queued, django_assert_num_queries
):
    queued(60)
    # Four statements choose, claim, and read deliveries and endpoints. Two statements create and release a savepoint.
    with django_assert_num_queries(4 + 2):
        deliveries = take_deliveries(50)
    # Two statements update deliveries and working endpoints. Two statements create and release a savepoint.
    with django_assert_num_queries(2 + 2):
        store_outcomes([outcome_of(delivery) for delivery in deliveries], now=timezone.now())


def test_concurrent_workers_claim_each_webhook_delivery_only_once(committed, needs_postgresql, queued):
    queued(400)
    taken, lock = Counter(), threading.Lock()

    def work(_number):
        try:
            while deliveries := take_deliveries(7):
                with lock:
                    taken.update(delivery.pk for delivery in deliveries)
        finally:
            connection.close()

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(work, range(6)))
    assert len(taken) == 400
    assert set(taken.values()) == {1}


_FILL = """
INSERT INTO webhooks_event (id, account_id, type, object, request_id, created_at, sequence)
SELECT gen_random_uuid(), %(account)s, 'wallet.connected', '{}', '', now(), 1000 + number
FROM generate_series(1, %(count)s) AS number;
INSERT INTO webhooks_delivery
    (id, account_id, endpoint_id, event_id, event_type, status, attempts, due_at, is_redelivery, created_at)
SELECT gen_random_uuid(), %(account)s, %(endpoint)s, id, type, 'pending', '[]',
       now() - interval '1 hour' * random(), false, now()
FROM webhooks_event;
ANALYZE webhooks_event; ANALYZE webhooks_delivery
"""


def plans_of(action):
    """Run `action`; return PostgreSQL's plan of each of its SELECTs."""
    with CaptureQueriesContext(connection) as captured:
        action()
    plans = []
    with connection.cursor() as cursor:
        for query in captured.captured_queries:
            if query["sql"].startswith("SELECT"):
                cursor.execute(f"EXPLAIN {query['sql']}")
                plans.append("\n".join(row[0] for row in cursor.fetchall()))
    return plans


def test_long_event_backlog_and_feed_are_read_by_index(needs_postgresql, user, make_endpoint):
    endpoint = make_endpoint()
    with connection.cursor() as cursor:
        cursor.execute(_FILL, {"account": user.pk, "endpoint": endpoint.pk, "count": 100_000})
    choosing, reading, *_ = plans_of(lambda: take_deliveries(100))
    assert "Index Scan using webhooks_delivery_due" in choosing
    assert "Sort" not in choosing
    assert "webhooks_event_pkey" in reading
    (looking,) = plans_of(lambda: publish_some(failed_events(), after_account=0, now=timezone.now()))
    assert "webhooks_event_unpublished" in looking
    assert "Seq Scan" not in choosing + reading + looking
