"""GET /v1/webhooks/deliveries and POST /v1/webhooks/deliveries/{id}/redeliver."""

import pytest
from django.utils import timezone

from config.webhooks.models import Delivery
from tests.api import assert_error

pytestmark = pytest.mark.django_db
PATH = "/webhooks/deliveries"


@pytest.fixture
def log(receiver, make_endpoint, happen, work):
    """Two endpoints; three deliveries to the first, of which one failed for now, and one to the second."""
    first = make_endpoint(receiver.url, event_types=["wallet.connected"])
    second = make_endpoint(receiver.url, event_types=["wallet.disconnected"])
    happen(2)
    work()
    receiver.answers = [(503, {}, b"")]
    happen()
    work()
    happen(event_type="wallet.disconnected")
    work()
    return first, second


def test_deliveries_are_listed_newest_first_with_their_attempts(api, log):
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


def test_the_list_can_be_narrowed(api, log):
    first, second = log
    assert api.read(f"{PATH}?endpoint={second.pk}").json()["total"] == 1
    assert api.read(f"{PATH}?event=wallet.connected").json()["total"] == 3
    assert api.read(f"{PATH}?status=pending").json()["total"] == 1
    assert api.read(f"{PATH}?endpoint={first.pk}&event=wallet.connected&status=delivered").json()["total"] == 2
    assert api.read(f"{PATH}?endpoint={second.pk}&status=pending").json()["total"] == 0


def test_the_list_is_paged(api, log):
    whole = api.read(PATH).json()["deliveries"]
    first, last = api.read(f"{PATH}?limit=3").json(), api.read(f"{PATH}?limit=3&offset=3").json()
    assert (first["has_more"], last["has_more"]) == (True, False)
    assert first["deliveries"] + last["deliveries"] == whole


def test_deliveries_are_visible_to_their_owner_only(stranger_api, log):
    assert stranger_api.read(PATH).json() == {"deliveries": [], "total": 0, "has_more": False}
    assert stranger_api.read(f"{PATH}?endpoint={log[0].pk}").json()["total"] == 0


def redeliver(api, delivery):
    return api.send(f"{PATH}/{delivery.pk}/redeliver")


def test_a_redelivery_is_a_new_delivery_under_the_same_id(api, receiver, log, work):
    delivery = Delivery.objects.filter(status="delivered").first()
    receiver.received.clear()
    response = redeliver(api, delivery)
    assert response.status_code == 200
    made = Delivery.objects.get(pk=response.json()["delivery_id"])
    assert made.pk != delivery.pk
    work()
    assert receiver.ids == [str(delivery.event_id)]
    made.refresh_from_db()
    assert made.status == "delivered"
    assert redeliver(api, delivery).json()["delivery_id"] != str(made.pk)


def test_a_redelivery_to_a_disabled_or_deleted_endpoint_is_refused(api, log):
    delivery = Delivery.objects.filter(status="delivered").first()
    endpoint = f"/webhooks/endpoints/{delivery.endpoint_id}"
    api.call("PATCH", endpoint, {"status": "disabled"})
    assert_error(redeliver(api, delivery), 400, "E1001")
    api.remove(endpoint)
    assert_error(redeliver(api, delivery), 404, "E4009")
