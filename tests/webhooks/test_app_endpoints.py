"""An app with the scope `webhooks` reaches the endpoints that it made, and no others of the person's."""

import pytest

from config.webhooks.models import Delivery, Endpoint, Event
from identity.access.authentication import forget_credentials
from tests.api import ApiClient, assert_error
from tests.identity.oauth_support import browser_of, code_for, exchange, make_client
from tests.webhooks.conftest import PUBLIC_URL

pytestmark = pytest.mark.django_db
PATH = "/webhooks/endpoints"


def app_of(user, name):
    """Return a client of an app that the person lets manage webhooks, and its OAuth client."""
    client, secret = make_client(name=name, scopes=["webhooks"])
    token = exchange(code_for(user, client, scope="webhooks"), client, secret).json()["access_token"]
    return ApiClient(bearer=token), client


@pytest.fixture
def app(user):
    return app_of(user, "Budget app")


def made_by(caller):
    return caller.send(PATH, {"url": PUBLIC_URL}).json()["id"]


def listed(caller):
    return {one["id"] for one in caller.read(PATH).json()["endpoints"]}


def test_each_app_lists_its_own_and_the_person_all(api, user, app):
    other, _ = app_of(user, "Other app")
    persons, ours, theirs = made_by(api), made_by(app[0]), made_by(other)
    assert (listed(app[0]), listed(other)) == ({ours}, {theirs})
    assert listed(api) == {persons, ours, theirs}


@pytest.mark.parametrize("maker", ["person", "other app"])
def test_another_accounts_endpoints_are_404(api, user, app, maker):
    whose = api if maker == "person" else app_of(user, "Other app")[0]
    path = f"{PATH}/{made_by(whose)}"
    answers = [
        app[0].read(path), app[0].call("PATCH", path, {"status": "disabled"}),
        app[0].call("PATCH", path, {"url": PUBLIC_URL}), app[0].send(f"{path}/rotate-secret"),
        app[0].send(f"{path}/test"), app[0].remove(path),
    ]  # fmt: skip
    for answer in answers:
        assert_error(answer, 404, "E4009")
    assert whose.read(path).json()["status"] == "enabled"


def test_nor_are_its_deliveries(api, app):
    ours, persons = made_by(app[0]), made_by(api)
    sent = {one: api.send(f"{PATH}/{one}/test").json()["delivery_id"] for one in (ours, persons)}
    assert [one["id"] for one in app[0].read("/webhooks/deliveries").json()["deliveries"]] == [sent[ours]]
    assert len(api.read("/webhooks/deliveries").json()["deliveries"]) == 2
    assert_error(app[0].send(f"/webhooks/deliveries/{sent[persons]}/redeliver"), 404, "E4001")
    assert app[0].send(f"/webhooks/deliveries/{sent[ours]}/redeliver").status_code == 200
    assert Delivery.objects.filter(is_redelivery=True).count() == 1


def test_an_app_changes_its_own(app):
    path = f"{PATH}/{made_by(app[0])}"
    assert app[0].call("PATCH", path, {"description": "Ours"}).json()["description"] == "Ours"
    assert app[0].send(f"{path}/rotate-secret").status_code == 200
    assert app[0].remove(path).status_code == 200


def test_an_app_gets_no_events_after_its_access_ended(api, user, app):
    persons, ours = made_by(api), made_by(app[0])
    browser = browser_of(user)
    page = browser.get("/oauth/grants")
    fields = {"client_id": app[1].client_id, "csrfmiddlewaretoken": page.context["csrf_token"]}
    assert browser.post("/oauth/grants", fields).status_code == 302
    forget_credentials()
    assert app[0].read(PATH).status_code == 401
    states = {str(one.pk): (one.status, one.disabled_reason) for one in Endpoint.objects.all()}
    assert states == {persons: ("enabled", None), ours: ("disabled", "disabled_by_owner")}
    assert Event.objects.filter(type="webhook.endpoint.disabled").count() == 1
