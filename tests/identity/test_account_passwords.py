"""Test password resets and changes, sessions, deletion, and the labels of password forms under `/account/`."""

import re
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser

import pytest
from allauth.usersessions.models import UserSession
from django.contrib.sessions.models import Session
from django.test import Client
from django.utils import formats, timezone

from config.webhooks.endpoints import create_endpoint
from identity.access.tokens import start_family
from identity.accounts.browsers import browser_name
from identity.models import Erasure
from tests.api import ApiClient, assert_error
from tests.factories import PASSWORD, UserFactory
from tests.identity.oauth_support import make_client
from tests.identity.support import issue
from tests.identity.test_account_pages import EMAIL, follow, link_in, log_in, mailed, sign_up_confirmed
from tests.identity.test_invitations import person_with, token_of
from tests.identity.test_managed_accounts import create_account, partner, shop  # noqa: F401  fixtures
from tests.second_factors import authenticator_of, code_of

pytestmark = pytest.mark.django_db
NEW_PASSWORD = "a new one, and long"
BROWSER = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0 Safari/537.36"
FIELDS = {"password1": NEW_PASSWORD, "password2": NEW_PASSWORD}


@pytest.fixture
def jane(db):
    return person_with(EMAIL)


def test_a_password_is_reset_by_a_one_time_link(jane, settings):
    old, _ = log_in(EMAIL)
    settings.ALLOWED_HOSTS = ["*"]
    Client(headers={"host": "evil.example"}).post("/account/password/forgot", {"email": EMAIL})
    (message,) = mailed()
    assert settings.APP_URL in message.body
    path = link_in(message)
    assert follow(Client(), path, FIELDS).status_code == 302
    assert log_in(EMAIL, NEW_PASSWORD)[1].status_code == 302
    assert log_in(EMAIL)[1].status_code == 200
    assert old.get("/account/").status_code == 302, "what was logged in is not any more"
    follow(Client(), path, {"password1": "another long one", "password2": "another long one"})
    assert log_in(EMAIL, "another long one")[1].status_code == 200
    assert [message.subject for message in mailed()] == ["Your password for Credit Platform was reset"]


def test_password_reset_does_not_bypass_the_second_factor_of_a_token_request(jane):
    authenticator_of(jane)
    Client().post("/account/password/forgot", {"email": EMAIL})
    follow(Client(), link_in(mailed()[0]), FIELDS)
    body = {"username": jane.username, "password": NEW_PASSWORD}
    assert_error(ApiClient().send("/auth/token", body), 401, "E2001")
    assert ApiClient().send("/auth/token", {**body, "otp": code_of()}).status_code == 200


def test_password_reset_link_expires(jane, settings):
    Client().post("/account/password/forgot", {"email": EMAIL})
    settings.PASSWORD_RESET_TIMEOUT = -1
    follow(Client(), link_in(mailed()[0]), FIELDS)
    assert log_in(EMAIL, NEW_PASSWORD)[1].status_code == 200


def test_password_change_requires_the_old_password_and_ends_other_sessions_and_tokens(jane):
    browser, _ = log_in(EMAIL)
    other, _ = log_in(EMAIL)
    fields = {"oldpassword": "wrong", **FIELDS}
    assert browser.post("/account/password", fields).status_code == 200
    assert browser.post("/account/password", fields | {"oldpassword": PASSWORD}).status_code == 302
    assert browser.get("/account/").status_code == 200
    assert other.get("/account/").status_code == 302
    assert log_in(EMAIL, NEW_PASSWORD)[1].status_code == 302


def test_guesses_of_the_old_password_share_the_rate_limit_of_log_ins(jane):
    browser, _ = log_in(EMAIL)
    fields = {"oldpassword": "wrong", **FIELDS}
    assert [browser.post("/account/password", fields).status_code for _ in range(11)] == [200] * 10 + [429]


def test_password_reset_suspends_keys_and_webhooks_and_revokes_apps(jane):
    key = issue(jane)
    endpoint = create_endpoint(
        account_id=jane.pk, url="https://example.org/hook", event_types=["*"], description="", now=timezone.now()
    )
    app, _secret = make_client()
    granted = start_family(user=jane, now=timezone.now(), client=app, scope="offers:read")
    Client().post("/account/password/forgot", {"email": EMAIL})
    visitor = Client()
    done = follow(visitor, link_in(mailed()[0]), FIELDS)
    assert done.status_code == 302
    (mail,) = mailed()
    assert "Your earlier API keys and webhooks are suspended. Apps can no longer act on your behalf." in mail.body
    page = visitor.get(done.headers["Location"]).content.decode()
    assert "/developers/keys" in page
    assert "Apps can no longer act on your behalf." in page
    assert_error(ApiClient(api_key=key.key).read("/auth/me"), 401, "E2009")
    assert_error(ApiClient(bearer=granted.access_token).read("/auth/me"), 401, "E2002")
    endpoint.refresh_from_db()
    assert endpoint.disabled_reason == "disabled_by_password_reset"
    browser, _ = log_in(EMAIL, NEW_PASSWORD)
    assert "Confirm the key if it is yours" in browser.get("/developers/keys").content.decode()
    browser.post("/developers/keys", {"do": "confirm", "key_id": key.record.pk})
    assert ApiClient(api_key=key.key).read("/auth/me").status_code == 200


def test_sessions_page_lists_sessions_and_ends_other_sessions(jane):
    browser, _ = log_in(EMAIL)
    other, _ = log_in(EMAIL, HTTP_USER_AGENT=BROWSER)
    page = browser.get("/account/sessions").content.decode()
    assert (page.count("(this session)"), page.count("<h2>Chrome on Linux</h2>")) == (1, 1)
    assert page.index("(this session)") < page.index("<h2>Chrome on Linux</h2>")
    page = other.get("/account/sessions").content.decode()
    assert page.index("<h2>Chrome on Linux (this session)</h2>") < page.index("Last used:")
    assert "AppleWebKit" not in page
    first = browser.post("/account/sessions").headers["Location"]
    assert first.startswith("/account/reauthenticate")
    browser.post(first, {"password": PASSWORD})
    assert browser.get("/account/").status_code == 200
    assert other.get("/account/").status_code == 302


def test_sessions_page_ends_only_a_session_of_the_account(jane):
    stranger = Client()
    stranger.force_login(UserFactory(), backend="django.contrib.auth.backends.ModelBackend")
    stranger.get("/account/")
    UserSession.objects.create(user=UserFactory(), ip="192.0.2.1", session_key=stranger.session.session_key)
    browser, _ = log_in(EMAIL)
    browser.post("/account/reauthenticate", {"password": PASSWORD})
    other, _ = log_in(EMAIL)
    third, _ = log_in(EMAIL)
    key = UserSession.objects.get(session_key=other.session.session_key)
    Session.objects.filter(session_key=key.session_key).update(expire_date=datetime(2100, 1, 2, 3, 30, tzinfo=UTC))
    page = browser.get("/account/sessions").content.decode()
    assert "Last used: January 2, 2100, 3:00 a.m." in page
    assert "Unknown browser" in page
    for row in (*UserSession.objects.exclude(user=jane), *UserSession.objects.filter(user=jane, pk=key.pk)):
        assert browser.post("/account/sessions", {"session": row.pk}).status_code == 302
    for wrong in ("x", "9" * 40, "\u0663"):
        assert browser.post("/account/sessions", {"session": wrong}).status_code == 302, wrong
    assert [client.get("/account/").status_code for client in (browser, other, third, stranger)] == [200, 302, 200, 200]
    own = UserSession.objects.get(session_key=browser.session.session_key)
    assert browser.post("/account/sessions", {"session": own.pk}).status_code == 302
    assert browser.get("/account/").status_code == 200
    assert "The session has ended." not in browser.get("/account/").content.decode()


def test_sessions_page_omits_a_session_that_ends_while_the_page_is_created(jane, monkeypatch):
    browser, _ = log_in(EMAIL)
    other, _ = log_in(EMAIL, HTTP_USER_AGENT=BROWSER)
    # The page lists the session, and the session ends before the page reads its time.
    monkeypatch.setattr(UserSession, "purge", lambda _session: False)
    Session.objects.filter(session_key=other.session.session_key).delete()
    page = browser.get("/account/sessions")
    assert page.status_code == 200
    assert "Chrome on Linux" not in page.content.decode()
    assert "Log out all other sessions" not in page.content.decode()


def test_log_in_changes_the_session_id_and_log_out_deletes_the_session(jane):
    browser = Client()
    browser.get("/account/login")
    browser.post("/account/signup", {"email": "x", "password1": "x"})
    before = browser.session.session_key
    log_in(EMAIL, browser=browser)
    key = browser.session.session_key
    assert key != before
    assert browser.post("/account/logout").status_code == 302
    assert not Session.objects.filter(session_key=key).exists()


def test_an_active_session_ends_after_twelve_hours(jane):
    browser, _ = log_in(EMAIL)
    session = browser.session
    session["began"] -= 12 * 3600 + 1
    session.save()
    assert browser.get("/account/").headers["Location"] == "/account/login?next=/account/"
    assert not Session.objects.filter(session_key=session.session_key).exists()


def test_long_password_of_any_characters_is_accepted_unchanged():
    password = " Ünïcode, spaces and 64 characters more: " + "x" * 64 + " "
    sign_up_confirmed(password)
    assert log_in(EMAIL, password)[1].status_code == 302
    assert log_in(EMAIL, password.strip())[1].status_code == 200


def test_deletion_of_an_account_requires_the_password_again(jane):
    browser, _ = log_in(EMAIL)
    closed = browser.get("/account/privacy").content.decode().partition("<details>")[2].partition("</details>")[0]
    assert 'value="erase"' in closed
    location = browser.post("/account/privacy", {"do": "erase"}).headers["Location"]
    assert browser.post(location, {"password": "wrong", "next": "/account/privacy"}).status_code == 200
    assert not Erasure.objects.exists()
    browser.post(location, {"password": PASSWORD, "next": "/account/privacy"})
    page = browser.post("/account/privacy", {"do": "erase"}, follow=True).content.decode()
    assert Erasure.objects.get().account == jane
    assert "You requested the deletion of your account." in page
    starts_on = formats.date_format(timezone.now() + timedelta(days=14), "F j, Y")
    assert f"The deletion starts on {starts_on}." in page
    kept = browser.post("/account/privacy", {"do": "keep"}, follow=True).content.decode()
    assert "The deletion is canceled." in kept
    assert not Erasure.objects.exists()


class Inputs(HTMLParser):
    def __init__(self, page):
        super().__init__()
        self.found = []
        self.feed(page.content.decode())

    def handle_starttag(self, tag, attrs):
        if tag == "input":
            self.found.append(dict(attrs))

    def named(self, name):
        return next(item for item in self.found if item.get("name") == name)


def tokens_of(page):
    """Return the `autocomplete` of each field for a password, in order."""
    assert page.status_code == 200
    return [item.get("autocomplete") for item in Inputs(page).found if item.get("type") == "password"]


def test_log_in_forms_have_labels_for_account_and_password(jane, shop):  # noqa: F811
    page = Client().get("/account/login")
    assert tokens_of(page) == ["current-password"]
    text = page.content.decode()
    assert text.index('name="password"') < text.index("/account/password/forgot")
    assert text.count('id="id_password_helptext"') == text.count('aria-describedby="id_password_helptext"') == 1
    assert Inputs(page).named("login")["autocomplete"] == "username"
    page = Client().get("/account/signup")
    assert set(tokens_of(page)) == {"new-password"}
    assert Inputs(page).named("email")["autocomplete"] == "email"
    create_account(shop, email="customer@example.org")
    page = Client().get(f"/account/claim/{token_of('claim')}")
    assert tokens_of(page) == ["new-password", "new-password"]
    assert Inputs(page).named("username")["autocomplete"] == "username"
    authenticator_of(jane)
    page = Client().post("/account/login", {"login": EMAIL, "password": PASSWORD}, follow=True)
    assert Inputs(page).named("code")["autocomplete"] == "one-time-code"


def test_password_forms_contain_the_user_name_for_password_managers(jane):
    browser, _ = log_in(EMAIL)
    again = browser.post("/account/email", {"email": "new@example.org"}, follow=True)
    assert tokens_of(again) == ["current-password"]
    assert again.content.index(b'name="password"') < again.content.index(b"/account/password/forgot")
    change = browser.get("/account/password", follow=True)
    assert tokens_of(change) == ["current-password", "new-password", "new-password"]
    Client().post("/account/password/forgot", {"email": EMAIL})
    reset = Client().get(link_in(mailed()[0]), follow=True)
    assert tokens_of(reset) == ["new-password", "new-password"]
    for page in (again, change, reset):
        name = Inputs(page).named("username")
        assert (name["autocomplete"], name["value"]) == ("username", EMAIL)


def test_password_mail_states_the_change_the_time_and_the_browser_but_no_keys(jane):
    browser, _ = log_in(EMAIL)
    fields = {"oldpassword": PASSWORD, **FIELDS}
    assert browser.post("/account/password", fields, HTTP_USER_AGENT=BROWSER).status_code == 302
    mail = mailed()[-1]
    assert mail.subject.endswith(": Your password was changed")
    assert re.search(r"Time: \w+ \d+, \d{4}, \d\d?:\d\d [ap]\.m\. UTC\nBrowser: Chrome on Linux\n", mail.body)
    Client().post("/account/password/forgot", {"email": EMAIL})
    visitor = Client()
    done = follow(visitor, link_in(mailed()[-1]), FIELDS)
    (mail,) = mailed()
    assert "Your password was reset with a mailed link.\n" in mail.body
    for text in (mail.body, visitor.get(done.headers["Location"]).content.decode()):
        assert "API key" not in text
        assert "developers" not in text
        assert "Apps" not in text


@pytest.mark.parametrize("header", ["", "curl/8.5", "<b>Bank</b> https://evil.example"])
def test_unknown_browser_has_no_name(header):
    assert browser_name(header) == ""


@pytest.mark.parametrize(
    ("mark", "name"),
    [
        ("Windows NT 10.0) Chrome/140.0 Safari/537.36 Edg/140.0", "Edge on Windows"),
        ("iPhone; CPU iPhone OS 18_0 like Mac OS X) Version/18.0 Safari/604.1", "Safari on iPhone"),
        ("Linux; Android 15) Chrome/140.0 Mobile Safari/537.36", "Chrome on Android"),
        ("Macintosh; Intel Mac OS X 15.0; rv:143.0) Firefox/143.0", "Firefox on Mac"),
    ],
)
def test_browser_name_contains_the_browser_and_the_operating_system(mark, name):
    assert browser_name(f"Mozilla/5.0 ({mark}") == name
