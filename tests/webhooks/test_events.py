"""Test that GET /v1/webhooks/events returns every change in order, immediately, and without a gap."""

import threading
from concurrent.futures import ThreadPoolExecutor, wait

import pytest
from django.db import connection, transaction
from django.utils import timezone

from config.webhooks import publishing
from config.webhooks.catalogue import event_types
from config.webhooks.events import record_event
from config.webhooks.models import Delivery, Event, EventFeed
from config.webhooks.publishing import failed_events, feed_page, lock_feed, publish_some
from identity.kyc.models import KycVerification
from tests.api import assert_error, client_of
from tests.identity.banking import start

pytestmark = pytest.mark.django_db
PATH = "/webhooks/events"


def in_thread(work):
    """Run `work` in a thread with its own connection."""
    try:
        return work()
    finally:
        connection.close()


def sequences(api, query=""):
    return [event["sequence"] for event in api.read(f"{PATH}{query}").json()["events"]]


def test_event_of_a_change_is_in_the_feed_when_the_request_returns(api, user):
    response = api.send("/applications", {"consumer_id": str(user.pk), "offer_id": 7, "provider_id": 9})
    (event,) = api.read(PATH).json()["events"]
    assert set(event) == {"id", "type", "created_at", "sequence", "api_version", "data", "request_id"}
    assert (event["type"], event["sequence"]) == ("application.created", 1)
    assert event["request_id"] == response.headers["X-Request-Id"]
    assert event["data"]["object"]["application_id"] == response.json()["id"]


def test_event_feed_returns_the_events_after_a_sequence_number_in_pages(api, emit):
    emit(25)
    first = api.read(PATH).json()
    assert ([event["sequence"] for event in first["events"]], first["has_more"]) == (list(range(1, 21)), True)
    rest = api.read(f"{PATH}?after=20").json()
    assert ([event["sequence"] for event in rest["events"]], rest["has_more"]) == (list(range(21, 26)), False)
    assert api.read(f"{PATH}?after=25").json() == {"events": [], "has_more": False}
    assert sequences(api, "?after=3&limit=2") == [4, 5]
    assert sequences(api, "?after=9223372036854775807") == []


def test_every_account_has_separate_event_sequence_numbers(api, stranger_api, emit, stranger):
    emit(2)
    emit(3, owner=stranger)
    emit(1)
    assert sequences(api) == [1, 2, 3]
    assert sequences(stranger_api) == [1, 2, 3]


def test_event_feed_and_delivery_contain_the_same_bytes(api, receiver, make_endpoint, emit, work):
    make_endpoint(receiver.url)
    emit()
    work()
    feed = api.read(PATH).content
    assert receiver.received[0].body in feed


def test_event_feed_request_publishes_only_the_requested_part_of_the_backlog(api, user, emit):
    emit(1_200)
    assert sequences(api, "?limit=100") == list(range(1, 101))
    assert EventFeed.objects.get().last_sequence == 500
    assert sequences(api, "?after=1100&limit=100") == list(range(1101, 1201))


def test_event_committed_after_a_newer_event_gets_a_later_sequence_number(committed, needs_postgresql, api, user):
    """The transaction of the first event is still open while the second is written, committed and read."""
    written, released = threading.Event(), threading.Event()

    def write_slowly():
        try:
            with transaction.atomic():
                record_event("wallet.connected", account_id=user.pk, now=timezone.now(), wallet_id="first")
                written.set()
                released.wait(10)
        finally:
            connection.close()

    slow = threading.Thread(target=write_slowly)
    slow.start()
    written.wait(10)
    record_event("wallet.connected", account_id=user.pk, now=timezone.now(), wallet_id="second")
    before = api.read(PATH).json()["events"]
    assert [(event["sequence"], event["data"]["object"]["wallet_id"]) for event in before] == [(1, "second")]
    released.set()
    slow.join()
    after = api.read(f"{PATH}?after=1").json()["events"]
    assert [(event["sequence"], event["data"]["object"]["wallet_id"]) for event in after] == [(2, "first")]


def test_event_feed_has_no_gap_during_concurrent_writes_and_publishing(
    committed, needs_postgresql, user, make_endpoint
):
    """Runs six writers with transactions of different lengths, two publishing workers, and readers of the feed."""
    make_endpoint()
    count, writers = 40, 6
    done = threading.Event()

    def write():
        for number in range(count):
            with transaction.atomic():
                record_event("wallet.connected", account_id=user.pk, now=timezone.now(), wallet_id=str(number))
                if number % 3 == 0:
                    with connection.cursor() as cursor:
                        cursor.execute("SELECT pg_sleep(0.004)")

    def publish():
        items = failed_events()
        items.review(now=timezone.now())
        while not done.is_set():
            publish_some(items, after_account=0, now=timezone.now())

    def follow():
        client, seen = client_of(user), 0
        while True:
            finished = done.is_set()
            numbers = sequences(client, f"?after={seen}&limit=100")
            assert numbers == list(range(seen + 1, seen + 1 + len(numbers)))
            seen += len(numbers)
            if finished and not numbers:
                return seen

    with ThreadPoolExecutor(writers + 5) as pool:
        others = [pool.submit(in_thread, publish) for _ in range(2)] + [
            pool.submit(in_thread, follow) for _ in range(3)
        ]
        wait([pool.submit(in_thread, write) for _ in range(writers)])
        done.set()
    assert [item.result() for item in others] == [None, None, *[count * writers] * 3]
    numbers = list(Event.objects.order_by("sequence").values_list("sequence", flat=True))
    assert numbers == list(range(1, count * writers + 1))
    assert Delivery.objects.count() == count * writers


def test_event_feed_request_returns_during_continuous_event_writes(user, emit, monkeypatch):
    publish, batches = publishing._publish, []

    def publish_while_an_event_is_written(*arguments, **options):
        batches.append(publish(*arguments, **options))
        assert len(batches) < 5, "the feed publishes as long as events are written"
        emit()
        return batches[-1]

    emit(3)
    monkeypatch.setattr(publishing, "_publish", publish_while_an_event_is_written)
    events, _has_more = feed_page(account_id=user.pk, after=0, limit=20, now=timezone.now())
    assert [event["sequence"] for event in events] == [1, 2, 3]
    assert batches == [3]


def test_event_writers_do_not_wait_for_other_writers_or_publishers(committed, needs_postgresql, user):
    """An event is written without a wait while the feed is locked and another writer's transaction is open."""

    def write():
        with connection.cursor() as cursor:
            cursor.execute("SET lock_timeout = '1s'")
        record_event("wallet.connected", account_id=user.pk, now=timezone.now(), wallet_id="other")
        return "written"

    with ThreadPoolExecutor(1) as pool, transaction.atomic():
        lock_feed(user.pk)
        record_event("wallet.connected", account_id=user.pk, now=timezone.now(), wallet_id="mine")
        assert pool.submit(in_thread, write).result() == "written"


SANDBOX_EVENTS_PATH = "/sandbox/events"
TYPE = "kyc.verification.created"


def send(client, object_id, event_type=TYPE):
    return client.send(SANDBOX_EVENTS_PATH, {"type": event_type, "object_id": object_id})


def newest(user):
    return Event.objects.filter(account=user).order_by("-id")[0]


def test_resending_a_sandbox_event_creates_a_new_event(api, user):
    verification_id = start(api)["verification_id"]
    first = newest(user)
    answer = send(api, verification_id)
    assert answer.status_code == 201, answer.content
    again = newest(user)
    assert answer.json() == {"event_id": str(again.pk)}
    assert again.pk != first.pk
    assert (again.type, again.object) == (TYPE, first.object)
    assert len(api.read("/webhooks/events").json()["events"]) == 2


def test_sandbox_resend_uses_the_newest_of_several_events(api, user):
    verification_id = start(api)["verification_id"]
    row = KycVerification.objects.get(pk=verification_id)
    api.send(f"/sandbox/verifications/{verification_id}/outcome", {"outcome": "failed"})
    assert send(api, str(row.pk), "kyc.verification.updated").status_code == 201
    assert newest(user).object["status"] == "failed"


def test_resent_sandbox_event_is_delivered_only_to_the_accounts_endpoints(api, user, stranger, make_endpoint):
    mine, theirs = make_endpoint(), make_endpoint(owner=stranger)
    verification_id = start(api)["verification_id"]
    event_id = send(api, verification_id).json()["event_id"]
    api.read("/webhooks/events")
    assert [item.endpoint_id for item in Delivery.objects.filter(event_id=event_id)] == [mine.pk]
    assert not Delivery.objects.filter(endpoint_id=theirs.pk).exists()


def test_resending_a_nonexistent_or_another_accounts_sandbox_event_returns_404(api, stranger_api, stranger, user):
    verification_id = start(api)["verification_id"]
    assert_error(send(stranger_api, verification_id), 404, "E4001")
    assert not Event.objects.filter(account=stranger).exists()
    for object_id, event_type in ((verification_id, "kyc.verification.updated"), ("nothing", TYPE), ("1", TYPE)):
        assert_error(send(api, object_id, event_type), 404, "E4001")
    assert Event.objects.filter(account=user).count() == 1


def test_first_field_of_every_event_is_the_id_of_its_record():
    for event_type in event_types().values():
        assert next(iter(event_type.schema["properties"])).endswith("_id"), event_type.name
        assert next(iter(event_type.schema["required"])) == next(iter(event_type.schema["properties"]))
