"""Third-party OAuth clients complete the authorization code flow. Chromium logs in and allows access."""

import os
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
import requests
from authlib.integrations.requests_client import OAuth2Session as AuthlibSession
from requests_oauthlib import OAuth2Session

from tests.api import bearer_of
from tests.factories import PASSWORD, UserFactory
from tests.identity.oauth_support import make_client
from tests.system.browsing import store_screenshot

SCOPES = ["offers:read", "identity:read"]


@pytest.fixture
def callback():
    """The redirect URI of the client, and the list of its requests."""
    paths = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            if self.path.startswith("/done"):  # browsers also request an icon
                paths.append(self.path)
            self.send_response(200)
            self.send_header("Content-Type", "text/plain")
            self.end_headers()
            self.wfile.write(b"Back at the app.")

        def log_message(self, *_arguments):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/done", paths
    server.shutdown()
    server.server_close()


@pytest.fixture
def resource_owner(live_server):
    """The user who logs in."""
    return UserFactory(username="maria")


@pytest.fixture
def browser(resource_owner, monkeypatch, chromium):
    """Chromium, with client libraries that accept a server without TLS."""
    monkeypatch.setitem(os.environ, "OAUTHLIB_INSECURE_TRANSPORT", "1")
    monkeypatch.setitem(os.environ, "AUTHLIB_INSECURE_TRANSPORT", "1")
    return chromium


def click_through(browser, address, callback):
    """Log in and allow access; return the URL of the redirect to the client."""
    redirect, paths = callback
    page = browser.new_context(java_script_enabled=False).new_page()
    page.goto(address)
    page.get_by_label("User name").fill("maria")
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()
    assert page.get_by_role("heading").inner_text() == "Budget app requests to act on your behalf"
    store_screenshot(page, "consent", whole=False)
    page.get_by_role("button", name="Allow").click()
    page.wait_for_url(f"{redirect}**")
    return redirect.rsplit("/", 1)[0] + paths[-1]


def register_client(server, redirect):
    """Register a client over the API; return its ID and secret."""
    body = {"name": "Budget app", "redirect_uris": [redirect], "scopes": SCOPES}
    log_in = {"Authorization": f"Bearer {bearer_of(UserFactory())}"}
    client = requests.post(f"{server}/v1/oauth/clients", json=body, headers=log_in, timeout=99).json()
    return client["client_id"], client["client_secret"]


def test_requests_oauthlib_completes_the_authorization_code_flow(live_server, resource_owner, browser, callback):
    client_id, secret = register_client(live_server.url, callback[0])
    session = OAuth2Session(client_id, redirect_uri=callback[0], scope=SCOPES, pkce="S256")
    address, _state = session.authorization_url(f"{live_server.url}/oauth/authorize")
    back = click_through(browser, address, callback)
    token = session.fetch_token(
        f"{live_server.url}/v1/oauth/token", authorization_response=back, client_secret=secret, include_client_id=True
    )
    assert sorted(token["scope"]) == sorted(SCOPES)
    assert session.get(f"{live_server.url}/v1/auth/me").json()["user_id"] == str(resource_owner.pk)
    refreshed = session.refresh_token(f"{live_server.url}/v1/oauth/token", client_id=client_id, client_secret=secret)
    assert refreshed["refresh_token"] != token["refresh_token"]
    assert session.get(f"{live_server.url}/v1/provider-offers?provider_id=1").json() == []


def test_authlib_completes_the_authorization_code_flow_and_revokes_its_token(
    live_server, resource_owner, browser, callback
):
    client, secret = make_client(redirect=callback[0], scopes=SCOPES)
    session = AuthlibSession(
        client.client_id, secret, scope=" ".join(SCOPES), redirect_uri=callback[0], code_challenge_method="S256"
    )
    verifier = "a1" * 30
    address, state = session.create_authorization_url(f"{live_server.url}/oauth/authorize", code_verifier=verifier)
    back = click_through(browser, address, callback)
    token = session.fetch_token(
        f"{live_server.url}/v1/oauth/token", authorization_response=back, state=state, code_verifier=verifier
    )
    assert session.get(f"{live_server.url}/v1/auth/me").json()["user_id"] == str(resource_owner.pk)
    revoked = session.revoke_token(f"{live_server.url}/v1/oauth/revoke", token=token["refresh_token"])
    assert revoked.status_code == 200
    again = requests.post(
        f"{live_server.url}/v1/oauth/token",
        data={"grant_type": "refresh_token", "refresh_token": token["refresh_token"]},
        auth=(client.client_id, secret),
        timeout=99,
    )
    assert (again.status_code, again.json()["error"]) == (400, "invalid_grant")
