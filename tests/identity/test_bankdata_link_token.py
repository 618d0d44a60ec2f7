"""POST /v1/bankdata/link-token: a token to open the provider's Link with."""

import json

import pytest

from tests.api import assert_error
from tests.identity.plaid_double import EXPIRATION, Fault, plaid_error

pytestmark = pytest.mark.django_db
PATH = "/bankdata/link-token"


def test_it_gives_a_link_token(api, user):
    response = api.send(PATH, {"user_id": str(user.pk)})
    assert response.status_code == 200
    assert set(response.json()) == {"link_token", "expiration"}
    assert response.json()["link_token"].startswith("link-sandbox-")


def test_plaid_gives_it(judged_plaid, api, user):
    shown = api.send(PATH, {"user_id": str(user.pk)}).json()
    assert shown["link_token"].startswith("link-double-")
    assert shown["expiration"] == EXPIRATION.replace("Z", ".000000Z")
    (asked,) = judged_plaid.asked("/link/token/create")
    assert asked["user"] == {"client_user_id": str(user.pk)}
    assert asked["products"] == ["transactions"]


def test_a_key_is_ignored_because_nothing_is_made(api, user):
    assert api.send(PATH, {"user_id": str(user.pk)}, key="no uuid").status_code == 200


def test_a_provider_that_fails_is_502(plaid, api, user):
    status, document = plaid_error("RATE_LIMIT", "RATE_LIMIT_EXCEEDED", 429)
    plaid.fail(
        "/link/token/create", Fault(500, b"x"), Fault(status, json.dumps(document).encode(), {"Retry-After": "9"})
    )
    assert_error(api.send(PATH, {"user_id": str(user.pk)}), 502, "E5003")
    limited_answer = api.send(PATH, {"user_id": str(user.pk)})
    assert_error(limited_answer, 502, "E5003")
    assert limited_answer.headers["Retry-After"] == "9"
