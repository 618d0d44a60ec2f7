"""GET, PATCH and DELETE /v1/webhooks/endpoints/{id}."""

import pytest
from django.utils import timezone

from config.webhooks.models import Delivery, Endpoint, Event
from identity.access.keys import create_api_key
from tests.api import ApiClient, assert_error
from tests.webhooks.conftest import PUBLIC_URL

pytestmark = pytest.mark.django_db


def path_of(endpoint):
    return f"/webhooks/endpoints/{endpoint.pk}"


def patch(api, endpoint, body):
    return api.call("PATCH", path_of(endpoint), body)


def test_an_endpoint_is_shown_to_its_owner(api, make_endpoint):
    endpoint = make_endpoint(event_types=["offer.created"])
    assert api.read(path_of(endpoint)).json() == {
        "id": str(endpoint.pk),
        "url": PUBLIC_URL,
        "event_types": ["offer.created"],
        "description": "",
        "status": "enabled",
        "disabled_reason": None,
        "created_at": endpoint.created_at.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
    }


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
    assert (enabled["status"], enabled["disabled_reason"]) == ("enabled", None)
    assert Endpoint.objects.get().failing_since is None


def test_a_new_address_starts_with_a_clean_record(api, make_endpoint):
    endpoint = make_endpoint()
    Endpoint.objects.update(failing_since=timezone.now())
    patch(api, endpoint, {"description": "the same address"})
    assert Endpoint.objects.get().failing_since is not None
    patch(api, endpoint, {"url": PUBLIC_URL + "/new"})
    assert Endpoint.objects.get().failing_since is None


def test_what_happened_before_a_change_is_told_under_the_old_settings(api, make_endpoint, happen):
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


@pytest.mark.parametrize("method", ["GET", "PATCH", "DELETE"])
def test_the_ladder(user, anonymous, stranger_api, make_endpoint, method):
    endpoint = make_endpoint()
    path = path_of(endpoint)
    assert_error(anonymous.call(method, path, {}), 401, "E2001")
    assert_error(stranger_api.call(method, path, {"description": "mine"}), 404, "E4009")
    without = create_api_key(owner=user, name="a", scopes=["offers:read"], now=timezone.now())
    assert_error(ApiClient(api_key=without.key).call(method, path, {}), 403, "E2005")
    endpoint.refresh_from_db()
    assert (endpoint.description, endpoint.deleted_at) == ("", None)


@pytest.mark.parametrize("method", ["GET", "PATCH", "DELETE"])
@pytest.mark.parametrize("spelling", ["1", "x", "{upper}", "{bare}", "01930000-0000-7000-8000-000000000000"])
def test_an_id_has_one_spelling(api, make_endpoint, method, spelling):
    endpoint = make_endpoint()
    written = spelling.format(upper=str(endpoint.pk).upper(), bare=endpoint.pk.hex)
    assert_error(api.call(method, f"/webhooks/endpoints/{written}", {}), 404, "E4009")


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ([], "E1001"),
        ({"url": None}, "E1001"),
        ({"event_types": []}, "E1001"),
        ({"event_types": ["nothing.known"]}, "E1001"),
        ({"description": 5}, "E1001"),
        ({"status": "paused"}, "E1004"),
        ({"status": None}, "E1004"),
    ],
)
def test_a_change_that_makes_no_sense_is_refused(api, make_endpoint, body, code):
    endpoint = make_endpoint()
    assert_error(patch(api, endpoint, body), 400, code)


def test_what_the_server_decides_cannot_be_changed(api, make_endpoint):
    endpoint = make_endpoint()
    patch(api, endpoint, {"secret": "whsec_mine", "disabled_reason": "x", "account": 5, "id": "y"})
    stored = Endpoint.objects.get()
    assert (stored.secret, stored.disabled_reason, stored.account_id) == (endpoint.secret, None, endpoint.account_id)
