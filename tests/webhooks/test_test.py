"""POST /v1/webhooks/endpoints/{id}/test."""

import json

import pytest

from config.webhooks.models import Delivery, Event
from tests.api import assert_error

pytestmark = pytest.mark.django_db


def test_a_test_event_goes_to_its_endpoint_only(api, receiver, make_endpoint, work):
    tested = make_endpoint(receiver.url + "?tested", event_types=["offer.created"])
    make_endpoint(receiver.url + "?other")
    response = api.send(f"/webhooks/endpoints/{tested.pk}/test")
    assert response.status_code == 200
    delivery = Delivery.objects.get()
    assert response.json() == {"delivery_id": str(delivery.pk)}
    work()
    (request,) = receiver.received
    body = json.loads(request.body)
    assert (request.path, body["type"]) == ("/hook?tested", "webhook.test")
    assert body["data"]["object"] == {"endpoint_id": str(tested.pk)}


def test_a_test_has_its_number_in_the_feed(api, make_endpoint, happen):
    endpoint = make_endpoint()
    happen(2)
    api.send(f"/webhooks/endpoints/{endpoint.pk}/test")
    types = [event["type"] for event in api.read("/webhooks/events").json()["events"]]
    assert types == ["wallet.connected", "wallet.connected", "webhook.test"]


def test_a_disabled_endpoint_is_not_tested(api, make_endpoint):
    endpoint = make_endpoint()
    api.call("PATCH", f"/webhooks/endpoints/{endpoint.pk}", {"status": "disabled"})
    assert_error(api.send(f"/webhooks/endpoints/{endpoint.pk}/test"), 400, "E1001")
    assert not Event.objects.filter(type="webhook.test").exists()
