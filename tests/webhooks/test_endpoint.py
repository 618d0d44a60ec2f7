"""GET, PATCH and DELETE /v1/webhooks/endpoints/{id}."""

import pytest
from django.utils import timezone

from config.webhooks.models import Delivery, Endpoint, Event
from tests.api import assert_error
from tests.webhooks.conftest import PUBLIC_URL

pytestmark = pytest.mark.django_db


def path_of(endpoint):
    return f"/webhooks/endpoints/{endpoint.pk}"


def patch(api, endpoint, body):
    return api.call("PATCH", path_of(endpoint), body)


def test_an_endpoint_is_shown_to_its_owner(api, make_endpoint):
    endpoint = make_endpoint(event_types=["offer.created"])
    assert api.read(path_of(endpoint)).json() == {
        "id": str(endpoint.pk), "url": PUBLIC_URL, "event_types": ["offer.created"], "description": "",
        "status": "enabled", "disabled_reason": None, "disabled_at": None,
        "created_at": endpoint.created_at.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
    }  # fmt: skip


def test_members_that_are_absent_stay(api, make_endpoint):
    endpoint = make_endpoint(event_types=["offer.created"])
    changed = patch(api, endpoint, {"description": "New"}).json()
    assert (changed["description"], changed["url"], changed["event_types"]) == ("New", PUBLIC_URL, ["offer.created"])
    assert patch(api, endpoint, {}).json() == changed


def test_disabling_and_enabling_is_its_owners_to_decide(api, make_endpoint):
    endpoint = make_endpoint()
    disabled = patch(api, endpoint, {"status": "disabled"}).json()
    assert (disabled["status"], disabled["disabled_reason"]) == ("disabled", "disabled_by_owner")
    assert Event.objects.get().object["reason"] == "disabled_by_owner"
    assert patch(api, endpoint, {"status": "disabled"}).status_code == 200
    assert Event.objects.count() == 1
    Endpoint.objects.update(failing_since=timezone.now())
    enabled = patch(api, endpoint, {"status": "enabled"}).json()
    assert (enabled["status"], enabled["disabled_reason"], enabled["disabled_at"]) == ("enabled", None, None)
    assert Endpoint.objects.get().failing_since is None


def test_disabled_at_is_shown(api, make_endpoint):
    endpoint = make_endpoint()
    first = patch(api, endpoint, {"status": "disabled"}).json()["disabled_at"]
    assert first == Endpoint.objects.get().updated_at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    assert patch(api, endpoint, {"status": "disabled"}).json()["disabled_at"] == first
    # As version 1.0 enables it, which knows no such time, and disables another.
    Endpoint.objects.update(status="enabled", disabled_reason=None)
    assert api.read(path_of(endpoint)).json()["disabled_at"] is None
    Endpoint.objects.update(status="disabled", disabled_reason="gone", disabled_at=None)
    assert api.read(path_of(endpoint)).json()["disabled_at"] is None


def test_a_new_address_starts_with_a_clean_record(api, make_endpoint):
    endpoint = make_endpoint()
    Endpoint.objects.update(failing_since=timezone.now())
    patch(api, endpoint, {"description": "the same address"})
    assert Endpoint.objects.get().failing_since is not None
    patch(api, endpoint, {"url": PUBLIC_URL + "/new"})
    assert Endpoint.objects.get().failing_since is None


def test_events_before_a_change_use_the_old_settings(api, make_endpoint, happen):
    endpoint = make_endpoint(event_types=["offer.created"])
    happen()
    patch(api, endpoint, {"event_types": ["*"]})
    (told,) = happen()
    patch(api, endpoint, {"status": "disabled"})
    happen()
    api.read("/webhooks/events")
    assert [str(one.event_id) for one in Delivery.objects.all()] == [told]


def test_a_new_endpoint_is_not_told_about_the_past(make_endpoint, happen, api):
    happen(3)
    make_endpoint()
    (told,) = happen()
    api.read("/webhooks/events")
    assert [str(one.event_id) for one in Delivery.objects.all()] == [told]


def test_a_deleted_endpoint_is_gone_and_its_secret_with_it(api, make_endpoint, happen):
    endpoint = make_endpoint()
    happen()
    api.read("/webhooks/events")
    response = api.remove(path_of(endpoint))
    assert (response.status_code, response.content) == (200, b"")
    assert_error(api.read(path_of(endpoint)), 404, "E4009")
    assert_error(api.remove(path_of(endpoint)), 404, "E4009")
    assert api.read("/webhooks/endpoints").json() == {"endpoints": [], "total": 0}
    assert api.read("/webhooks/deliveries").json()["total"] == 1
    stored = Endpoint.objects.get()
    assert (stored.secret, stored.previous_secret) == ("", None)
