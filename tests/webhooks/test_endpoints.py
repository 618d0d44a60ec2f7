"""POST and GET /v1/webhooks/endpoints."""

import base64

import pytest
from django.db import connection

from config.api.models import IdempotencyRecord
from config.webhooks.models import Endpoint
from tests.api import assert_error, client_of
from tests.races import at_once
from tests.webhooks.conftest import PUBLIC_URL

pytestmark = pytest.mark.django_db
PATH = "/webhooks/endpoints"
MEMBERS = {"id", "url", "event_types", "description", "status", "disabled_reason", "disabled_at", "created_at"}


def test_creating_shows_the_endpoint_and_its_secret_once(api, user):
    response = api.send(PATH, {"url": PUBLIC_URL, "event_types": ["wallet.connected"], "description": "Books"})
    assert response.status_code == 201
    body = response.json()
    assert set(body) == MEMBERS | {"secret"}
    assert (body["url"], body["event_types"], body["description"]) == (PUBLIC_URL, ["wallet.connected"], "Books")
    assert (body["status"], body["disabled_reason"]) == ("enabled", None)
    stored = Endpoint.objects.get(account=user)
    assert (str(stored.pk), stored.secret) == (body["id"], body["secret"])
    assert set(api.read(f"{PATH}/{body['id']}").json()) == MEMBERS


def test_an_endpoint_gets_all_events_by_default(api):
    body = api.send(PATH, {"url": PUBLIC_URL}).json()
    assert (body["event_types"], body["description"]) == (["*"], "")


def test_a_secret_is_32_random_bytes_in_base64(api):
    secrets = {api.send(PATH, {"url": PUBLIC_URL}).json()["secret"] for _ in range(3)}
    assert len(secrets) == 3
    for secret in secrets:
        assert secret.startswith("whsec_")
        assert len(base64.b64decode(secret.removeprefix("whsec_"), validate=True)) == 32


def test_a_secret_is_encrypted_in_the_database(api):
    secret = api.send(PATH, {"url": PUBLIC_URL}).json()["secret"]
    with connection.cursor() as cursor:
        cursor.execute("SELECT secret FROM webhooks_endpoint")
        assert secret not in cursor.fetchone()[0]


def test_the_secret_is_replayed_and_stored_encrypted(api, key):
    first, second = (api.send(PATH, {"url": PUBLIC_URL}, key=key).json() for _ in range(2))
    assert first == second
    assert first["secret"].encode() not in bytes(IdempotencyRecord.objects.get().body)


def test_the_list_shows_the_own_endpoints_without_secrets(api, make_endpoint, stranger):
    first, second = make_endpoint(), make_endpoint()
    make_endpoint(owner=stranger)
    body = api.read(PATH).json()
    assert [one["id"] for one in body["endpoints"]] == [str(first.pk), str(second.pk)]
    assert body["total"] == 2
    assert all(set(one) == MEMBERS for one in body["endpoints"])


def test_the_seventeenth_endpoint_is_refused(api, make_endpoint, user):
    made = [make_endpoint() for _ in range(16)]
    assert_error(api.send(PATH, {"url": PUBLIC_URL}), 400, "E1001")
    assert Endpoint.objects.filter(account=user).count() == 16
    assert api.remove(f"{PATH}/{made[3].pk}").status_code == 200
    assert api.send(PATH, {"url": PUBLIC_URL}).status_code == 201


def test_sixteen_is_the_limit_also_for_requests_that_race(committed, needs_postgresql, user):
    client = client_of(user)

    def thrice():
        return [client.send(PATH, {"url": PUBLIC_URL}).status_code for _ in range(3)]

    statuses = [status for answers in at_once(*[thrice] * 8) for status in answers]
    assert (statuses.count(201), statuses.count(400)) == (16, 8)
    assert Endpoint.objects.filter(account=user).count() == 16
