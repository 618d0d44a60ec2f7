"""Test that a user or an app can create, list, change, delete, and test `/v1/webhooks/endpoints`."""

import base64
import json

import pytest
from django.utils import timezone

from config.webhooks.models import Delivery, Endpoint, Event
from identity.access.authentication import forget_credentials
from tests.api import ApiClient, assert_error, client_of
from tests.identity.oauth_support import browser_of, code_for, exchange, make_client
from tests.races import run_concurrently
from tests.webhooks.conftest import PUBLIC_URL

pytestmark = pytest.mark.django_db


def path_of(endpoint):
    return f"/webhooks/endpoints/{endpoint.pk}"


def patch(api, endpoint, body):
    return api.call("PATCH", path_of(endpoint), body)


def test_webhook_endpoint_update_preserves_missing_fields(api, make_endpoint):
    endpoint = make_endpoint(event_types=["offer.created"])
    assert api.read(path_of(endpoint)).json() == {
        "id": str(endpoint.pk), "url": PUBLIC_URL, "event_types": ["offer.created"], "description": "",
        "status": "enabled", "disabled_reason": None, "disabled_at": None,
        "created_at": endpoint.created_at.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
    }  # fmt: skip
    changed = patch(api, endpoint, {"description": "New"}).json()
    assert (changed["description"], changed["url"], changed["event_types"]) == ("New", PUBLIC_URL, ["offer.created"])
    assert patch(api, endpoint, {}).json() == changed


def test_owner_can_disable_and_enable_a_webhook_endpoint(api, make_endpoint):
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


def test_disabled_webhook_endpoint_has_a_disabled_at_time(api, make_endpoint):
    endpoint = make_endpoint()
    first = patch(api, endpoint, {"status": "disabled"}).json()["disabled_at"]
    assert first == Endpoint.objects.get().updated_at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    assert patch(api, endpoint, {"status": "disabled"}).json()["disabled_at"] == first
    # Version 1.0 stores no time when it enables this endpoint and disables another.
    Endpoint.objects.update(status="enabled", disabled_reason=None)
    assert api.read(path_of(endpoint)).json()["disabled_at"] is None
    Endpoint.objects.update(status="disabled", disabled_reason="gone", disabled_at=None)
    assert api.read(path_of(endpoint)).json()["disabled_at"] is None


def test_new_webhook_url_resets_the_failure_time_of_the_endpoint(api, make_endpoint):
    endpoint = make_endpoint()
    Endpoint.objects.update(failing_since=timezone.now())
    patch(api, endpoint, {"description": "the same address"})
    assert Endpoint.objects.get().failing_since is not None
    patch(api, endpoint, {"url": PUBLIC_URL + "/new"})
    assert Endpoint.objects.get().failing_since is None


def test_events_before_a_change_of_a_webhook_endpoint_use_the_previous_settings(api, make_endpoint, emit):
    endpoint = make_endpoint(event_types=["offer.created"])
    emit()
    patch(api, endpoint, {"event_types": ["*"]})
    (event,) = emit()
    patch(api, endpoint, {"status": "disabled"})
    emit()
    api.read("/webhooks/events")
    assert [str(delivery.event_id) for delivery in Delivery.objects.all()] == [event]


def test_new_webhook_endpoint_gets_no_earlier_events(make_endpoint, emit, api):
    emit(3)
    make_endpoint()
    (event,) = emit()
    api.read("/webhooks/events")
    assert [str(delivery.event_id) for delivery in Delivery.objects.all()] == [event]


def test_deleting_a_webhook_endpoint_deletes_its_secret(api, make_endpoint, emit):
    endpoint = make_endpoint()
    emit()
    api.read("/webhooks/events")
    response = api.remove(path_of(endpoint))
    assert (response.status_code, response.content) == (200, b"")
    assert_error(api.read(path_of(endpoint)), 404, "E4009")
    assert_error(api.remove(path_of(endpoint)), 404, "E4009")
    assert api.read("/webhooks/endpoints").json() == {"endpoints": [], "total": 0}
    assert api.read("/webhooks/deliveries").json()["total"] == 1
    stored = Endpoint.objects.get()
    assert (stored.secret, stored.previous_secret) == ("", None)


PATH = "/webhooks/endpoints"
MEMBERS = {"id", "url", "event_types", "description", "status", "disabled_reason", "disabled_at", "created_at"}


def test_creating_a_webhook_endpoint_returns_its_random_secret_only_once(api, user):
    response = api.send(PATH, {"url": PUBLIC_URL, "event_types": ["wallet.connected"], "description": "Books"})
    assert response.status_code == 201
    body = response.json()
    assert set(body) == MEMBERS | {"secret"}
    assert (body["url"], body["event_types"], body["description"]) == (PUBLIC_URL, ["wallet.connected"], "Books")
    assert (body["status"], body["disabled_reason"]) == ("enabled", None)
    stored = Endpoint.objects.get(account=user)
    assert (str(stored.pk), stored.secret) == (body["id"], body["secret"])
    assert set(api.read(f"{PATH}/{body['id']}").json()) == MEMBERS
    body = api.send(PATH, {"url": PUBLIC_URL}).json()
    assert (body["event_types"], body["description"]) == (["*"], "")
    secrets = {api.send(PATH, {"url": PUBLIC_URL}).json()["secret"] for _ in range(3)}
    assert len(secrets) == 3
    for secret in secrets:
        assert secret.startswith("whsec_")
        assert len(base64.b64decode(secret.removeprefix("whsec_"), validate=True)) == 32


def test_webhook_endpoint_list_contains_own_endpoints_without_secrets(api, make_endpoint, stranger):
    first, second = make_endpoint(), make_endpoint()
    make_endpoint(owner=stranger)
    body = api.read(PATH).json()
    assert [endpoint["id"] for endpoint in body["endpoints"]] == [str(first.pk), str(second.pk)]
    assert body["total"] == 2
    assert all(set(endpoint) == MEMBERS for endpoint in body["endpoints"])


def test_webhook_endpoint_above_the_limit_of_16_per_account_is_rejected(api, make_endpoint, user):
    endpoints = [make_endpoint() for _ in range(16)]
    assert_error(api.send(PATH, {"url": PUBLIC_URL}), 400, "E1001")
    assert Endpoint.objects.filter(account=user).count() == 16
    assert api.remove(f"{PATH}/{endpoints[3].pk}").status_code == 200
    assert api.send(PATH, {"url": PUBLIC_URL}).status_code == 201


def test_concurrent_requests_do_not_exceed_sixteen_endpoints(committed, needs_postgresql, user):
    client = client_of(user)

    def thrice():
        return [client.send(PATH, {"url": PUBLIC_URL}).status_code for _ in range(3)]

    statuses = [status for answers in run_concurrently(*[thrice] * 8) for status in answers]
    assert (statuses.count(201), statuses.count(400)) == (16, 8)
    assert Endpoint.objects.filter(account=user).count() == 16


def app_of(user, name):
    """Return a client of an app with webhook permission from the user, and its OAuth client."""
    client, secret = make_client(name=name, scopes=["webhooks"])
    token = exchange(code_for(user, client, scope="webhooks"), client, secret).json()["access_token"]
    return ApiClient(bearer=token), client


@pytest.fixture
def app(user):
    return app_of(user, "Budget app")


def create_as(caller):
    return caller.send(PATH, {"url": PUBLIC_URL}).json()["id"]


def endpoint_ids_of(caller):
    return {endpoint["id"] for endpoint in caller.read(PATH).json()["endpoints"]}


def test_app_can_list_only_its_own_webhook_endpoints_and_the_user_can_list_all(api, user, app):
    other, _ = app_of(user, "Other app")
    of_user, of_app, of_other_app = create_as(api), create_as(app[0]), create_as(other)
    assert (endpoint_ids_of(app[0]), endpoint_ids_of(other)) == ({of_app}, {of_other_app})
    assert endpoint_ids_of(api) == {of_user, of_app, of_other_app}


def test_webhook_endpoints_of_another_account_return_404(api, user, app):
    for creator in ["user", "other app"]:
        owner = api if creator == "user" else app_of(user, "Other app")[0]
        path = f"{PATH}/{create_as(owner)}"
        answers = [
            app[0].read(path), app[0].call("PATCH", path, {"status": "disabled"}),
            app[0].call("PATCH", path, {"url": PUBLIC_URL}), app[0].send(f"{path}/rotate-secret"),
            app[0].send(f"{path}/test"), app[0].remove(path),
        ]  # fmt: skip
        for answer in answers:
            assert_error(answer, 404, "E4009")
        assert owner.read(path).json()["status"] == "enabled", creator


def test_app_can_list_and_redeliver_only_its_own_deliveries(api, app):
    of_app, of_user = create_as(app[0]), create_as(api)
    sent = {item: api.send(f"{PATH}/{item}/test").json()["delivery_id"] for item in (of_app, of_user)}
    assert [delivery["id"] for delivery in app[0].read("/webhooks/deliveries").json()["deliveries"]] == [sent[of_app]]
    assert len(api.read("/webhooks/deliveries").json()["deliveries"]) == 2
    assert_error(app[0].send(f"/webhooks/deliveries/{sent[of_user]}/redeliver"), 404, "E4001")
    assert app[0].send(f"/webhooks/deliveries/{sent[of_app]}/redeliver").status_code == 200
    assert Delivery.objects.filter(is_redelivery=True).count() == 1


def test_app_can_change_its_own_webhook_endpoint(app):
    path = f"{PATH}/{create_as(app[0])}"
    assert app[0].call("PATCH", path, {"description": "Ours"}).json()["description"] == "Ours"
    assert app[0].send(f"{path}/rotate-secret").status_code == 200
    assert app[0].remove(path).status_code == 200


def test_revoking_app_access_disables_the_apps_webhook_endpoints(api, user, app):
    of_user, of_app = create_as(api), create_as(app[0])
    browser = browser_of(user)
    page = browser.get("/oauth/grants")
    fields = {"client_id": app[1].client_id, "csrfmiddlewaretoken": page.context["csrf_token"]}
    assert browser.post("/oauth/grants", fields).status_code == 302
    forget_credentials()
    assert app[0].read(PATH).status_code == 401
    states = {str(item.pk): (item.status, item.disabled_reason) for item in Endpoint.objects.all()}
    assert states == {of_user: ("enabled", None), of_app: ("disabled", "disabled_by_owner")}
    assert Event.objects.filter(type="webhook.endpoint.disabled").count() == 1


def test_a_test_event_is_delivered_only_to_its_endpoint(api, receiver, make_endpoint, work):
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


def test_webhook_test_event_is_in_the_event_feed(api, make_endpoint, emit):
    endpoint = make_endpoint()
    emit(2)
    api.send(f"/webhooks/endpoints/{endpoint.pk}/test")
    types = [event["type"] for event in api.read("/webhooks/events").json()["events"]]
    assert types == ["wallet.connected", "wallet.connected", "webhook.test"]


def test_test_event_for_a_disabled_endpoint_is_rejected(api, make_endpoint):
    endpoint = make_endpoint()
    api.call("PATCH", f"/webhooks/endpoints/{endpoint.pk}", {"status": "disabled"})
    assert_error(api.send(f"/webhooks/endpoints/{endpoint.pk}/test"), 400, "E1001")
    assert not Event.objects.filter(type="webhook.test").exists()
