"""Test that deliveries can be listed and redelivered, and are retried and pruned."""

from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from config.core.retries import DELAYS, next_delay, read_retry_after
from config.ops.pruning import prune
from config.webhooks.models import Delivery, Event
from tests.api import assert_error

PATH = "/webhooks/deliveries"


@pytest.fixture
def log(receiver, make_endpoint, emit, work):
    """Return an endpoint with three deliveries, one of which failed temporarily, and an endpoint with one delivery."""
    first = make_endpoint(receiver.url, event_types=["wallet.connected"])
    second = make_endpoint(receiver.url, event_types=["wallet.disconnected"])
    emit(2)
    work()
    receiver.answers = [(503, {}, b"")]
    emit()
    work()
    emit(event_type="wallet.disconnected")
    work()
    return first, second


def test_webhook_deliveries_are_listed_filtered_and_paged_newest_first_for_their_owner(api, log, stranger_api):
    body = api.read(PATH).json()
    assert (body["total"], body["has_more"], len(body["deliveries"])) == (4, False, 4)
    newest, failing = body["deliveries"][:2]
    assert set(newest) == {"id", "endpoint_id", "event_id", "event_type", "status", "attempts", "next_attempt_at"}
    assert (newest["event_type"], newest["status"], newest["next_attempt_at"]) == (
        "wallet.disconnected", "delivered", None,
    )  # fmt: skip
    assert failing["status"] == "pending"
    assert failing["next_attempt_at"] > timezone.now().strftime("%Y")
    (attempt,) = failing["attempts"]
    assert set(attempt) == {"at", "status_code", "error", "duration_ms"}
    assert (attempt["status_code"], attempt["error"]) == (503, "status")
    first, second = log
    assert api.read(f"{PATH}?endpoint={second.pk}").json()["total"] == 1
    assert api.read(f"{PATH}?event=wallet.connected").json()["total"] == 3
    assert api.read(f"{PATH}?status=pending").json()["total"] == 1
    assert api.read(f"{PATH}?endpoint={first.pk}&event=wallet.connected&status=delivered").json()["total"] == 2
    assert api.read(f"{PATH}?endpoint={second.pk}&status=pending").json()["total"] == 0
    whole = api.read(PATH).json()["deliveries"]
    first, last = api.read(f"{PATH}?limit=3").json(), api.read(f"{PATH}?limit=3&offset=3").json()
    assert (first["has_more"], last["has_more"]) == (True, False)
    assert first["deliveries"] + last["deliveries"] == whole
    assert stranger_api.read(PATH).json() == {"deliveries": [], "total": 0, "has_more": False}
    assert stranger_api.read(f"{PATH}?endpoint={log[0].pk}").json()["total"] == 0


def redeliver(api, delivery):
    return api.send(f"{PATH}/{delivery.pk}/redeliver")


def test_only_redelivery_to_an_enabled_endpoint_creates_a_new_delivery(api, receiver, log, work):
    delivery = Delivery.objects.filter(status="delivered").first()
    receiver.received.clear()
    response = redeliver(api, delivery)
    assert response.status_code == 200
    created = Delivery.objects.get(pk=response.json()["delivery_id"])
    assert created.pk != delivery.pk
    work()
    assert receiver.ids == [str(delivery.event_id)]
    created.refresh_from_db()
    assert created.status == "delivered"
    assert redeliver(api, delivery).json()["delivery_id"] != str(created.pk)
    endpoint = f"/webhooks/endpoints/{delivery.endpoint_id}"
    api.call("PATCH", endpoint, {"status": "disabled"})
    assert_error(redeliver(api, delivery), 400, "E1001")
    api.remove(endpoint)
    assert_error(redeliver(api, delivery), 404, "E4009")


def test_prune_deletes_webhook_deliveries_but_not_their_events_after_a_month(receiver, make_endpoint, emit, work):
    make_endpoint(receiver.url)
    emit(3)
    work()
    receiver.status = 500
    emit(1)
    work()
    now = timezone.now()
    young = Delivery.objects.filter(status="delivered").first()
    Delivery.objects.exclude(pk=young.pk).update(created_at=now - timedelta(days=31))
    assert prune(now=now)["webhook_deliveries"] == 2
    assert sorted(Delivery.objects.values_list("status", flat=True)) == ["delivered", "pending"]
    assert Event.objects.count() == 4


NOW = datetime(2026, 1, 31, 12, 0, 0, tzinfo=UTC)


def test_webhook_retry_delay_is_within_10_percent_of_the_schedule_for_10_attempts():
    for attempts in range(1, 10):
        waits = [next_delay(attempts) for _ in range(200)]
        assert all(DELAYS[attempts] * 0.9 <= wait <= DELAYS[attempts] * 1.1 for wait in waits), attempts
        assert len(set(waits)) > 100, attempts
    assert next_delay(10) is None
    assert next_delay(10, retry_after=timedelta(hours=1)) is None
    assert len(DELAYS) == 10


def test_retry_after_header_can_lengthen_but_not_shorten_a_webhook_retry_delay():
    assert next_delay(1, retry_after=timedelta(hours=1)) == timedelta(hours=1)
    assert next_delay(9, retry_after=timedelta(seconds=1)) >= timedelta(hours=21)
    assert next_delay(1, retry_after=timedelta(days=9)) == timedelta(hours=24)


RETRY_AFTER = [
    ("0", 0), ("120", 120), (" 3600 ", 3600), ("9" * 4000, 86_400), ("0000000000120", 120),
    ("0" * 5000, 0), ("Sat, 31 Jan 2026 12:01:00 GMT", 60),
    ("Sat, 31 Jan 2026 11:00:00 GMT", 0), ("Saturday, 31-Jan-26 12:01:00 GMT", 60),
    ("", None), ("soon", None), ("-1", None), ("1.5", None), ("१२", None), ("Sat, 99 Jan 2026 12:01:00 GMT", None),
    ("Sat, 31 Jan 99999999 12:01:00 GMT", None), ("Wed, 21 Oct 99999999999999999999 07:28:00 GMT", None),
    ("Wed, 21 Oct 2026 99999999999999999999:28:00 GMT", None), ("Wed, 21 Oct 2026 07:28:00 +" + "9" * 20, None),
    (", 1 Jan", None), ("\u0000", None), ("Wed, 21 Oct 2026", None), ("-99999999999999999999", None), ("NaN", None),
    ("\xff\xfe\xb2", None), ("Sat, 01 Jan 0000 00:00:00 GMT", 0), ("Sat, 01 Jan 10000 00:00:00 GMT", None),
    ("Fri, 31 Dec 9999 23:59:59 -2359", 251_632_526_339), ("Mon, 01 Jan 0001 00:00:00 +2359", 0),
    ("120s", None), ("3600, 120", None), ("1e3", None), ('"120"', None), ("+60", None), ("120;foo", None),
    ("2026-01-31T12:01:00Z", None), ("Sat Jan 31 12:01:00 2026", 60), ("Sat, 31 Jan 2026 13:01:00 +0100", 60),
    ("Sat, 31 Jan 2026 12:01:60 GMT", None),
    ("Wed, 21 Oct 2026 07:28:00 " + "(" * 15_000, 22_706_880),
]  # fmt: skip


def test_retry_after_header_is_parsed_as_seconds_or_a_date():
    for text, seconds in RETRY_AFTER:
        expected = None if seconds is None else timedelta(seconds=seconds)
        assert read_retry_after(text, now=NOW) == expected, (text, seconds)
