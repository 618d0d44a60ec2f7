"""Staff log in at the third-party issuer `oidc-provider`, which the OpenID Foundation has certified.

`npm ci` in this folder installs it. Without it, the tests are skipped.
"""

import re
import subprocess
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import urljoin, urlsplit

import pytest
import requests
from django.test import Client

from config.core.groups import REVIEWER, SUPPORT
from identity.access.models import User
from identity.oidc import client
from identity.oidc.environment import Issuer
from tests.identity.issuer_double import EMAIL, invited, is_in
from tests.identity.test_staff_oidc import groups_of
from tests.processes import free_port, wait_until

HERE = Path(__file__).parent
CLIENT_ID, SECRET = "platform:1", "s/ecret& of 32 or more characters"
CLAIMS = {"email": EMAIL, "email_verified": True, "groups": ["idp-support"]}


@pytest.fixture(scope="module")
def issuer_url(live_server):
    """The URL of a running issuer, whose client is the live server."""
    if not (HERE / "node_modules" / "oidc-provider").exists():
        pytest.skip("needs oidc-provider from npm: run `npm ci` in tests/system/issuer")
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    addresses = [f"{live_server.url}/account/oidc/{name}" for name in ("callback", "logout")]
    with subprocess.Popen(
        ["node", "issuer.mjs", str(port), CLIENT_ID, SECRET, *addresses], cwd=HERE, stderr=subprocess.DEVNULL,
    ) as process:  # fmt: skip
        try:
            wait_until(lambda: responds(url))
            yield url
        finally:
            process.terminate()


@pytest.fixture
def issuer(issuer_url, live_server, transactional_db, settings):
    """The issuer, at which invited staff log in."""
    settings.APP_URL = live_server.url
    settings.STAFF_OIDC = Issuer(issuer_url, CLIENT_ID, SECRET)
    settings.STAFF_OIDC_GROUPS = {"idp-support": SUPPORT, "idp-reviewers": REVIEWER}
    settings.STAFF_PASSWORDS, settings.STAFF_BREAK_GLASS = False, "glass"
    settings.BACKOFFICE_SECOND_FACTOR = True
    client.forget_documents()
    invited()
    yield SimpleNamespace(url=issuer_url)
    client.forget_documents()


def responds(url):
    try:
        return requests.get(f"{url}/.well-known/openid-configuration", timeout=5).ok
    except requests.ConnectionError:
        return False


def log_in(issuer, *, sub="jane-1", amr=("pwd", "otp"), session=None, **claims):
    """Log in at the issuer; return the platform's client, its response, and the session at the issuer."""
    identity = {"sub": sub, "claims": CLAIMS | claims, "amr": amr}
    requests.put(f"{issuer.url}/person", json=identity, timeout=10).raise_for_status()
    browser, session = Client(), session or requests.Session()
    address = browser.get("/account/oidc/start", {"next": "/admin/"}).headers["Location"]
    while "/account/oidc/callback" not in address:
        response = session.get(address, allow_redirects=False, timeout=10)
        assert response.is_redirect, response.text
        address = urljoin(address, response.headers["Location"])
    parts = urlsplit(address)
    return browser, browser.get(f"{parts.path}?{parts.query}"), session


def log_out(issuer, session):
    """End the session at the issuer, which then sends a logout token to the platform."""
    page = session.get(f"{issuer.url}/session/end", timeout=10).text
    (xsrf,) = re.findall(r'name="xsrf" value="([^"]+)"', page)
    form = {"xsrf": xsrf, "logout": "yes"}
    assert session.post(f"{issuer.url}/session/end/confirm", form, timeout=10).ok


def test_invited_staff_log_in_sets_the_current_groups_of_the_issuer(issuer):
    for groups, role in ((["idp-support"], SUPPORT), (["idp-reviewers"], REVIEWER)):
        browser, response, _session = log_in(issuer, groups=groups)
        assert response.headers["Location"] == "/admin/"
        assert is_in(browser)
        assert groups_of(User.objects.get()) == {role}
    _browser, response, _session = log_in(issuer, groups=[])
    assert (response.status_code, groups_of(User.objects.get())) == (403, set())


def test_staff_log_in_with_insufficient_oidc_claims_returns_403_and_creates_no_account(issuer):
    for claims in ({"email": "john@staff.example"}, {"email_verified": False}, {"groups": ["other"]}):
        browser, response, _session = log_in(issuer, **claims)
        assert (response.status_code, is_in(browser), User.objects.exists()) == (403, False, False), claims


def test_staff_log_in_of_a_removed_user_or_another_subject_returns_403(issuer):
    log_in(issuer)
    for sub in (None, "jane-2"):
        browser, response, _session = log_in(issuer, sub=sub)
        assert (response.status_code, is_in(browser)) == (403, False), sub


def test_log_out_at_the_issuer_immediately_ends_the_staff_session(issuer):
    browser, _response, session = log_in(issuer)
    other = log_in(issuer)[0]
    log_out(issuer, session)
    assert (is_in(browser), is_in(other)) == (False, True)


def test_staff_log_in_without_a_second_factor_at_the_issuer_requires_the_accounts_second_factor(issuer):
    browser = log_in(issuer, amr=["pwd"])[0]
    (*_others, (address, _status)) = browser.get("/admin/", follow=True).redirect_chain
    assert address.startswith("/account/second-factor")


def test_an_authorization_code_of_the_issuer_is_accepted_only_once(issuer):
    browser, response, _session = log_in(issuer)
    again = f"{response.request['PATH_INFO']}?{response.request['QUERY_STRING']}"
    assert Client().get(again).status_code == 403
    assert browser.get(again).status_code == 403


def test_staff_with_a_session_at_the_issuer_can_log_in_without_a_password_form(issuer):
    session = log_in(issuer)[2]
    assert is_in(log_in(issuer, session=session)[0])
