"""Test the requests to a webhook receiver, and the effects of its responses."""

import json
from datetime import timedelta

import pytest
from django.utils import timezone

from config.webhooks.models import Delivery, Endpoint, Event
from tests.webhooks.receiver import Receiver


def only_delivery():
    return Delivery.objects.get()


def due_now(delivery):
    """Make the next attempt of a delivery due."""
    Delivery.objects.filter(pk=delivery.pk).update(due_at=timezone.now())


def test_an_event_is_delivered_to_every_subscribed_endpoint(receiver, make_endpoint, emit, work, stranger):
    make_endpoint(receiver.url + "?all")
    make_endpoint(receiver.url + "?named", event_types=["wallet.connected", "offer.created"])
    make_endpoint(receiver.url + "?other", event_types=["offer.created"])
    make_endpoint(receiver.url + "?stranger", owner=stranger)
    (event,) = emit()
    assert work() == {"published": 1, "delivered": 2, "retried": 0, "failed": 0, "disabled": 0}
    assert sorted(delivery.path for delivery in receiver.received) == ["/hook?all", "/hook?named"]
    assert receiver.ids == [event, event]


def test_webhook_delivery_contains_only_the_event_and_the_id_of_its_request(receiver, make_endpoint, emit, work, api):
    endpoint = make_endpoint(receiver.url)
    (event,) = emit()
    work()
    (request,) = receiver.received
    stored = Event.objects.get()
    assert json.loads(request.body) == {
        "id": event, "type": "wallet.connected", "created_at": stored.created_at.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        "sequence": 1, "api_version": "1.0.0", "data": {"object": {"wallet_id": "wallet-0"}}, "request_id": None,
    }  # fmt: skip
    assert request.headers["Content-Type"] == "application/json"
    assert request.headers["Host"] == f"127.0.0.1:{receiver.port}"
    sent = api.send(f"/webhooks/endpoints/{endpoint.pk}/test")
    work()
    assert json.loads(receiver.received[-1].body)["request_id"] == sent.headers["X-Request-Id"]


def test_accepted_webhook_delivery_is_not_sent_again(receiver, make_endpoint, emit, work):
    make_endpoint(receiver.url)
    emit()
    work()
    delivery = only_delivery()
    assert (delivery.status, delivery.due_at, delivery.claim) == ("delivered", None, None)
    (attempt,) = delivery.attempts
    assert (attempt["status_code"], attempt["error"]) == (200, None)
    assert attempt["duration_ms"] >= 0
    assert work()["delivered"] == 0
    assert len(receiver.received) == 1


def test_failing_webhook_delivery_is_attempted_10_times_on_the_schedule(receiver, make_endpoint, emit, work):
    make_endpoint(receiver.url)
    receiver.status = 500
    emit()
    waits = [5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400]
    for wait in waits:
        assert work()["retried"] == 1
        delivery = only_delivery()
        assert delivery.status == "pending"
        seconds = (delivery.due_at - timezone.now()).total_seconds()
        assert wait * 0.9 - 5 <= seconds <= wait * 1.1
        due_now(delivery)
    assert work()["failed"] == 1
    delivery = only_delivery()
    assert (delivery.status, delivery.due_at, len(delivery.attempts)) == ("failed", None, 10)
    assert {(attempt["status_code"], attempt["error"]) for attempt in delivery.attempts} == {(500, "status")}
    assert len(set(receiver.ids)) == 1
    assert len({request.body for request in receiver.received}) == 1


def test_webhook_redirect_response_is_a_failed_attempt(receiver, make_endpoint, emit, work):
    make_endpoint(receiver.url)
    with Receiver() as elsewhere:
        receiver.answers = [(302, {"Location": elsewhere.url}, b"")]
        emit()
        assert work()["retried"] == 1
        assert elsewhere.received == []
    assert [(attempt["status_code"], attempt["error"]) for attempt in only_delivery().attempts] == [(302, "redirect")]


def test_webhook_response_410_disables_the_endpoint_immediately(receiver, make_endpoint, emit, work):
    endpoint = make_endpoint(receiver.url)
    receiver.status = 410
    emit()
    assert (work()["failed"], only_delivery().status) == (1, "failed")
    endpoint.refresh_from_db()
    assert (endpoint.status, endpoint.disabled_reason) == ("disabled", "gone")
    event = Event.objects.get(type="webhook.endpoint.disabled")
    assert event.object == {"endpoint_id": str(endpoint.pk), "status": "disabled", "reason": "gone"}


def test_endpoint_disabled_event_is_delivered_to_other_endpoints_of_the_account(receiver, make_endpoint, emit, work):
    with Receiver(status=410) as gone:
        make_endpoint(gone.url, event_types=["wallet.connected"])
        make_endpoint(receiver.url, event_types=["webhook.endpoint.disabled"])
        emit()
        work()
    assert [json.loads(delivery.body)["data"]["object"]["reason"] for delivery in receiver.received] == ["gone"]


def test_pending_deliveries_of_a_disabled_webhook_endpoint_are_abandoned(receiver, make_endpoint, emit, work, api):
    endpoint = make_endpoint(receiver.url)
    emit()
    receiver.answers = [(500, {}, b"")]
    work()
    api.call("PATCH", f"/webhooks/endpoints/{endpoint.pk}", {"status": "disabled"})
    due_now(only_delivery())
    assert work()["failed"] == 1
    delivery = only_delivery()
    assert delivery.status == "failed"
    assert [attempt["error"] for attempt in delivery.attempts] == ["status", "endpoint_disabled"]
    assert len(receiver.received) == 1


@pytest.mark.parametrize("status", [429, 503, 500])
def test_retry_after_header_of_a_webhook_receiver_delays_the_next_attempt(receiver, make_endpoint, emit, work, status):
    make_endpoint(receiver.url)
    receiver.answers = [(status, {"Retry-After": "3600"}, b"")]
    emit()
    work()
    seconds = (only_delivery().due_at - timezone.now()).total_seconds()
    assert 3590 < seconds <= 3600


def test_webhook_endpoint_that_fails_for_120_hours_is_disabled(receiver, make_endpoint, emit, work):
    endpoint = make_endpoint(receiver.url)
    receiver.status = 500
    emit()
    work()
    endpoint.refresh_from_db()
    assert endpoint.failing_since is not None
    Endpoint.objects.update(failing_since=timezone.now() - timedelta(hours=119, minutes=59))
    emit()
    assert work()["disabled"] == 0
    Endpoint.objects.update(failing_since=timezone.now() - timedelta(hours=120, minutes=1))
    emit()
    assert work()["disabled"] == 1
    endpoint.refresh_from_db()
    assert (endpoint.status, endpoint.disabled_reason) == ("disabled", "failing")
    assert Event.objects.get(type="webhook.endpoint.disabled").object["reason"] == "failing"


def test_successful_delivery_resets_the_failure_time_of_the_webhook_endpoint(receiver, make_endpoint, emit, work):
    endpoint = make_endpoint(receiver.url)
    Endpoint.objects.update(failing_since=timezone.now() - timedelta(hours=119))
    emit()
    work()
    endpoint.refresh_from_db()
    assert endpoint.failing_since is None


def test_unreachable_webhook_receiver_is_a_failed_attempt(receiver, make_endpoint, emit, work):
    make_endpoint("http://127.0.0.1:9/hook")
    emit()
    assert work()["retried"] == 1
    assert [(attempt["status_code"], attempt["error"]) for attempt in only_delivery().attempts] == [(None, "connect")]


def test_webhook_connection_is_reused_for_many_deliveries(receiver, make_endpoint, emit, work):
    make_endpoint(receiver.url)
    events = emit(50)
    assert work()["delivered"] == 50
    assert receiver.connections == 1
    assert sorted(receiver.ids) == sorted(events)


def test_webhook_delivery_on_a_closed_connection_is_retried_on_a_new_connection(receiver, make_endpoint, emit, work):
    make_endpoint(receiver.url)
    receiver.answers = [(200, {"Connection": "close"}, b"")] * 3
    emit(3)
    assert work()["delivered"] == 3
    assert (receiver.connections, len(receiver.received)) == (3, 3)
    assert all(len(delivery.attempts) == 1 for delivery in Delivery.objects.all())


def test_slow_deliveries_of_one_account_do_not_block_deliveries_of_other_accounts(
    receiver, make_endpoint, emit, work, stranger
):
    with Receiver(seconds=0.05) as slow:
        make_endpoint(slow.url)
        make_endpoint(receiver.url, owner=stranger)
        emit(6)
        emit(40, owner=stranger)
        assert work()["delivered"] == 46
    assert len(receiver.received) == 40
    assert sorted(set(slow.ids)) == sorted(slow.ids)


HOSTILE = ["Wed, 21 Oct 99999999999999999999 07:28:00 GMT", "9" * 5000, "\x7f"]


@pytest.mark.parametrize("value", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_retry_after_header_does_not_block_other_webhook_receivers(
    receiver, make_endpoint, emit, work, stranger, value
):
    with Receiver(answers=[(429, {"Retry-After": value}, b"")]) as hostile:
        make_endpoint(hostile.url, owner=stranger)
        make_endpoint(receiver.url)
        emit(owner=stranger)
        emit()
        counts = work()
    assert (counts["delivered"], counts["retried"], len(receiver.received)) == (1, 1, 1)
    assert Delivery.objects.get(account=stranger).attempts[0]["status_code"] == 429
