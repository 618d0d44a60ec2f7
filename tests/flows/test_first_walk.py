"""The first walk of a caller, over HTTP: an account, a token, an offer, an application, a decision."""

import io
import json
import uuid

import pytest
import requests
from django.core.management import call_command
from django.db import connections

from tests.factories import PASSWORD
from tests.identity.support import signature_headers


def command(name, *arguments):
    """Run a management command; the object on its last line."""
    out = io.StringIO()
    call_command(name, *arguments, "--json", stdout=out)
    return json.loads(out.getvalue().splitlines()[-1])


class Caller:
    """One account over HTTP, by token, by key, or with signed requests."""

    def __init__(self, root, way, username):
        self.root, self.way = root, way
        self.user_id = command("create_user", username, "--password", PASSWORD)["id"]
        self.key = command("create_api_key", username, "--name", "walk")
        self.session = requests.Session()
        self.session.trust_env = False
        if way == "token":
            answer = self.session.post(
                f"{root}/v1/auth/token", json={"username": username, "password": PASSWORD}, timeout=20
            )
            assert answer.status_code == 200, answer.text
            self.session.headers["Authorization"] = f"Bearer {answer.json()['access_token']}"
        elif way == "key":
            self.session.headers["X-API-Key"] = self.key["key"]

    def call(self, method, path, body=None, **headers):
        """Send one request."""
        data = b"" if body is None else json.dumps(body).encode()
        if body is not None:
            headers["Content-Type"] = "application/json"
        if self.way == "signed":
            issued = type("Issued", (), self.key)
            headers |= signature_headers(issued, method, f"/v1{path}", data)
        return self.session.request(method, f"{self.root}/v1{path}", data=data, headers=headers, timeout=20)

    def ok(self, method, path, status, body=None, **headers):
        """Send one request that must succeed; its document."""
        response = self.call(method, path, body, **headers)
        assert response.status_code == status, response.text
        return response.json() if response.content else None


@pytest.fixture
def root(committed, live_server):
    """The address of a server."""
    yield live_server.url
    connections.close_all()


@pytest.fixture(params=["token", "key", "signed"])
def caller(request, root):
    """A new account that calls in each way."""
    return Caller(root, request.param, "walker")


def apply_to_new_offer(caller):
    """Make an offer and a draft application to it; both documents."""
    offer = caller.ok(
        "POST", "/provider-offers", 201,
        {"provider_id": "31", "name": "Everyday loan", "product_type": "personal_loan", "apr_min_percent": 4.5},
    )  # fmt: skip
    body = {
        "consumer_id": str(caller.user_id), "offer_id": int(offer["id"]), "provider_id": 31,
        "application_data": {"income_cents": 5_000_000},
    }  # fmt: skip
    return offer, caller.ok("POST", "/applications", 201, body, **{"Idempotency-Key": str(uuid.uuid4())})


def test_from_an_account_to_a_decision(caller):
    offer, application = apply_to_new_offer(caller)
    assert (offer["version"], offer["is_active"]) == (1, True)
    assert (application["status"], application["consumer_id"]) == ("draft", str(caller.user_id))
    path = f"/applications/{application['id']}"
    for to in ("submitted", "under_review", "approved"):
        shown = caller.ok("PUT", f"{path}/status", 200, {"status": to, "updated_by": "walker", "reason": f"to {to}"})
        assert (shown["status"], shown["status_reason"]) == (to, f"to {to}")
    final = caller.ok("GET", path, 200)
    assert final == shown
    assert final["submitted_at"] < final["reviewed_at"]
    assert final["reviewed_by"] == "walker"
    history = caller.ok("GET", f"{path}/history", 200)
    assert history["application_id"] == application["id"]
    assert [entry["status"] for entry in history["history"]] == ["submitted", "under_review", "approved"]
    assert [one["id"] for one in caller.ok("GET", "/applications?status=approved", 200)] == [application["id"]]
    assert caller.ok("GET", "/applications?status=draft", 200) == []
    assert [item["id"] for item in caller.ok("GET", "/ucp/catalog/items", 200)["items"]] == [offer["id"]]
    assert caller.call("DELETE", f"/provider-offers/{offer['id']}").content == b""
    assert caller.ok("GET", "/ucp/catalog/items", 200)["items"] == []


def test_every_error_of_the_specifications_table(caller, root):
    offer, application = apply_to_new_offer(caller)
    stranger = Caller(root, "key", "stranger")
    nobody = Caller(root, "nobody", "nobody")
    mine, unknown = f"/applications/{application['id']}", f"/applications/{uuid.uuid4()}"
    terms = {"provider_id": "31", "name": "B", "product_type": "x"}
    move = {"status": "approved", "updated_by": "me"}
    calls = [
        ("GET", "/applications", None), ("POST", "/applications", {}), ("GET", mine, None), ("PUT", mine, {}),
        ("GET", f"{mine}/history", None), ("PUT", f"{mine}/status", move),
        ("GET", "/provider-offers?provider_id=31", None),
        ("POST", "/provider-offers", terms), ("GET", f"/provider-offers/{offer['id']}", None),
        ("PUT", f"/provider-offers/{offer['id']}", terms), ("DELETE", f"/provider-offers/{offer['id']}", None),
        ("GET", "/ucp/catalog/items", None),
    ]  # fmt: skip
    for method, path, body in calls:
        check(nobody.call(method, path, body), 401, "E2001")
    check(caller.call("POST", "/applications", {}), 400, "E1001")
    body = {"consumer_id": str(stranger.user_id), "offer_id": 1, "provider_id": 1}
    check(caller.call("POST", "/applications", body), 401, "E2004")
    check(caller.call("GET", f"/applications?consumer_id={stranger.user_id}"), 401, "E2004")
    check(caller.call("PUT", f"{mine}/status", move), 400, "E3001")
    check(caller.call("PUT", f"{mine}/status", {**move, "status": "bogus"}), 400, "E1004")
    check(caller.call("POST", "/provider-offers", {}), 400, "E1001")
    for who, where in ((caller, unknown), (stranger, mine)):
        check(who.call("GET", where), 404, "E4002")
        check(who.call("PUT", where, {"updated_by": "me"}), 404, "E4002")
        check(who.call("GET", f"{where}/history"), 404, "E4002")
        check(who.call("PUT", f"{where}/status", move), 404, "E4002")
    check(caller.call("GET", "/provider-offers/999999"), 404, "E4004")
    for method, body in (("PUT", terms), ("DELETE", None)):
        check(stranger.call(method, f"/provider-offers/{offer['id']}", body), 404, "E4004")
    assert caller.ok("GET", mine, 200)["status"] == "draft"


def test_public_addresses_need_nobody(root):
    for path in ("/v1/health", "/.well-known/ucp", "/v1/openapi.json", "/.well-known/jwks.json"):
        response = requests.get(f"{root}{path}", timeout=20)
        assert response.status_code == 200, response.text
    assert requests.get(f"{root}/v1/health", timeout=20).json()["status"] == "healthy"


def check(response, status, code):
    """Check the error body of an HTTP answer."""
    body = response.json()
    assert (response.status_code, body["code"]) == (status, code), response.text
    assert {"error", "message", "code", "request_id"} <= set(body)
    assert body["request_id"] == response.headers["X-Request-Id"]
