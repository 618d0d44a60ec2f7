"""Create an OAuth client, a user's consent to the client, and the authorization code."""

import base64
import hashlib
import html
import re
from urllib.parse import parse_qs, urlencode, urlsplit

from django.test import Client

from identity.oauth.clients import create_client
from tests.api import ApiClient

REDIRECT = "https://app.example/callback"
VERIFIER = "v" * 64
CHALLENGE = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).rstrip(b"=").decode()
SCOPES = ["offers:read", "identity:read"]


def make_client(*, name="Budget app", public=False, redirect=REDIRECT, scopes=None):
    """Register a client; return it and its secret."""
    return create_client(name=name, redirect_uris=[redirect], scopes=scopes or SCOPES, public=public)


def browser_of(user):
    """Return a browser in which the user is logged in."""
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    return browser


def open_consent_page(browser, client, **changes):
    """Open the consent page at the URL to which the client redirects the user."""
    fields = {
        "response_type": "code", "client_id": client.client_id, "redirect_uri": REDIRECT, "scope": "offers:read",
        "state": "st4te", **changes,
    }  # fmt: skip
    query = urlencode({name: value for name, value in fields.items() if value is not None})
    return browser.get(f"/oauth/authorize?{query}")


def boxes_of(page):
    """Return the scopes that have a checkbox on the page; checks that every box is ticked."""
    return re.findall(r'<input type="checkbox" name="granted" value="([^"]+)" checked>', page.content.decode())


def answer(browser, page, *, allow=True, granted=None):
    """Press a button of the page and send every field of its form; only the boxes in `granted` stay ticked."""
    fields = {
        name: html.unescape(value)
        for name, value in re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', page.content.decode())
    }
    for name in re.findall(r'<input type="hidden" name="([^"]+)" id', page.content.decode()):
        fields.setdefault(name, "")
    fields["granted"] = boxes_of(page) if granted is None else granted
    if allow:
        fields["allow"] = "Authorize"
    return browser.post("/oauth/authorize", fields)


def redirected_with(response):
    """Return the query parameters of the redirect to the client."""
    assert response.status_code == 302, response.content
    return {name: values[0] for name, values in parse_qs(urlsplit(response.headers["Location"]).query).items()}


def code_for(user, client, **changes):
    browser = browser_of(user)
    return redirected_with(answer(browser, open_consent_page(browser, client, **changes)))["code"]


def exchange(code, client, secret, **changes):
    """Exchange a code at the token endpoint, with the body of the specification."""
    body = {
        "grant_type": "authorization_code", "code": code, "client_id": client.client_id, "client_secret": secret,
        "redirect_uri": REDIRECT, **changes,
    }  # fmt: skip
    return ApiClient().send("/oauth/token", {name: value for name, value in body.items() if value is not None})


def refresh(token, client, secret, **changes):
    body = {
        "grant_type": "refresh_token", "refresh_token": token, "client_id": client.client_id, "client_secret": secret,
        **changes,
    }  # fmt: skip
    return ApiClient().send("/oauth/token", {name: value for name, value in body.items() if value is not None})
