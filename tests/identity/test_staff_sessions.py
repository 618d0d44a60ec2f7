"""Test logout tokens, session codes, password log-ins, and the end of sessions of staff with an OIDC issuer."""

import re
import time
from datetime import timedelta
from urllib.parse import urlsplit

import pytest
from django.core import mail
from django.test import Client
from django.utils import timezone

from config.core.lifecycle import Actor
from config.ops.pruning import prune
from identity.access.authentication import forget_credentials
from identity.access.models import TokenFamily, User
from identity.access.tokens import start_family
from identity.accounts.addresses import confirm
from identity.accounts.links import make_link
from identity.accounts.models import Invitation, OneTimeLink
from identity.oidc import client
from identity.oidc.models import IssuerSession
from identity.oidc.services import unlink
from tests.api import ApiClient, assert_error, client_of
from tests.factories import PASSWORD, UserFactory
from tests.identity.issuer_double import CLIENT, EMAIL, STRANGER, invited, is_in, log_in
from tests.identity.test_staff_oidc import deliver_mails

pytestmark = pytest.mark.django_db


@pytest.fixture
def weak(issuer):
    """Return the browser of a member of staff who logged in without a second factor."""
    invited()
    issuer.claim_changes = {"amr": ["pwd"]}
    return log_in(issuer)[0]


def test_staff_log_out_invalidates_copied_session_cookies(issuer, jane):
    copied = Client()
    copied.cookies["sessionid"] = jane.cookies["sessionid"].value
    jane.post("/account/logout")
    assert IssuerSession.objects.get().ended_at is not None
    assert (is_in(jane), is_in(copied)) == (False, False)


def test_privacy_page_states_that_a_staff_account_cannot_be_erased(issuer, jane):
    assert jane.post("/account/privacy", {"do": "erase"}).headers["Location"] == "/account/privacy"
    assert "belongs to staff" in jane.get("/account/privacy").content.decode()


def test_session_without_a_second_factor_cannot_create_a_session_code_or_delete_the_account(weak):
    response = weak.post("/account/oidc/code")
    assert response.status_code == 302
    assert "/account/2fa/" in response.headers["Location"] or "second-factor" in response.headers["Location"]
    assert not OneTimeLink.objects.filter(purpose="token_code").exists()
    response = weak.post("/account/privacy", {"do": "erase"})
    assert response.status_code == 403
    assert "second factor" in response.content.decode()


def test_active_staff_session_ends_after_8_hours(issuer, jane):
    assert is_in(jane)
    IssuerSession.objects.update(began_at=timezone.now() - timedelta(hours=8, seconds=1))
    assert not is_in(jane)
    assert jane.get("/account/").headers["Location"] == "/account/login?next=/account/"
    prune(now=timezone.now() + timedelta(days=2))
    assert not IssuerSession.objects.exists()


def log_out(issuer, **claims):
    return Client().post("/account/oidc/logout", {"logout_token": issuer.logout_token(**claims)})


def test_logout_token_ends_the_session_and_its_api_log_ins(issuer, jane):
    user = User.objects.get()
    for claims in ({"sub": "jane-1"}, {"sid": "s1"}, {"sub": "jane-1", "sid": "s1"}):
        browser, _response = log_in(issuer)
        api = client_of(user)
        assert log_out(issuer, **claims).status_code == 200
        assert not is_in(browser), claims
        assert_error(api.read("/auth/me"), 401, "E2002")
    assert not TokenFamily.objects.filter(revoked_at=None).exists()


def test_logout_token_of_another_or_an_earlier_session_does_not_end_the_session(issuer, jane):
    earlier = {"sub": "jane-1", "iat": int(time.time()) - 200}
    for claims in ({"sub": "john-1"}, {"sid": "s2"}, {"sub": "jane-1", "sid": "s2"}, earlier):
        assert log_out(issuer, **claims).status_code == 200
        assert is_in(jane), claims


@pytest.mark.parametrize("claims", [{"sub": "jane-1"}, {"sub": "jane-1", "sid": "s1"}])
def test_logout_token_with_a_subject_ends_log_ins_without_an_issuer_session(issuer, jane, settings, claims):
    settings.STAFF_PASSWORDS = True
    user = User.objects.get()
    user.set_password(PASSWORD)
    user.save()
    jane.post("/account/logout")
    api, browser = client_of(user), page_log_in(user)
    stranger = page_log_in(UserFactory(is_staff=True))
    earlier = {**claims, "iat": int(time.time()) - 200}
    assert log_out(issuer, **earlier).status_code == 200
    assert api.read("/auth/me").status_code == 200, "a log-in after the token stays"
    assert browser.get("/account/").status_code == 200
    assert log_out(issuer, **claims).status_code == 200
    assert_error(api.read("/auth/me"), 401, "E2002")
    assert browser.get("/account/").status_code == 302
    assert stranger.get("/account/").status_code == 200


def test_invalid_logout_token_is_rejected(issuer, jane):
    changes = (
        {"events": None}, {"events": {"other": {}}}, {"nonce": "n"}, {"iss": "https://other.example"}, {"aud": "other"},
        {"aud": [CLIENT, "other"]}, {"iat": 1}, {"iat": 9_999_999_999}, {"exp": 1}, {"sub": None}, {"sub": 7},
    )  # fmt: skip
    tokens = {"ID token": issuer.id_token("n"), "empty": "", "no JWT": "x", "no base64": "a.b.c"}
    tokens["signed by a stranger"] = issuer.sign_well(
        issuer.claims(events={client.LOGOUT_EVENT: {}}, sub="jane-1"), key=STRANGER
    )
    for issuer.claim_changes in changes:
        tokens[str(issuer.claim_changes)] = issuer.logout_token(sub="jane-1")
    bodies = {"missing": {}, **{name: {"logout_token": token} for name, token in tokens.items()}}
    responses = {name: Client().post("/account/oidc/logout", body) for name, body in bodies.items()}
    wrong = (400, {"error": "invalid_request"})
    assert {name: seen for name, r in responses.items() if (seen := (r.status_code, r.json())) != wrong} == {}
    assert Client().get("/account/oidc/logout").status_code == 405
    assert is_in(jane)


def test_only_invalid_logout_tokens_are_rate_limited(issuer, jane, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "token": 2}
    assert {log_out(issuer, sub=f"person-{number}").status_code for number in range(5)} == {200}
    wrong = [Client().post("/account/oidc/logout", {"logout_token": "x"}) for _ in range(3)]
    assert [response.status_code for response in wrong] == [400, 400, 429]
    assert "Retry-After" in wrong[-1].headers
    assert log_out(issuer, sub="jane-1").status_code == 200
    assert not is_in(jane)


def token_of(user, password=PASSWORD):
    return ApiClient().send("/auth/token", {"username": user.username, "password": password})


def page_log_in(user):
    browser = Client()
    browser.post("/account/login", {"login": user.username, "password": PASSWORD})
    return browser


def test_password_log_in_is_rejected_for_staff_and_accepted_for_other_accounts(issuer):
    staff, applicant = UserFactory(is_staff=True), UserFactory()
    assert_error(token_of(staff), 401, "E2001")
    assert token_of(staff).json()["message"] == token_of(staff, "wrong").json()["message"]
    assert page_log_in(staff).get("/account/").status_code == 302
    assert token_of(applicant).status_code == 200
    assert page_log_in(applicant).get("/account/").status_code == 200


def test_password_reset_mail_to_staff_contains_no_reset_link(issuer):
    staff = UserFactory(is_staff=True)
    confirm(staff, EMAIL)
    Client().post("/account/password/forgot", {"email": EMAIL})
    deliver_mails()
    assert len(mail.outbox) == 1
    assert "http://127.0.0.1:8000/account/login" in mail.outbox[0].body
    assert not re.search("/account/password/new/", mail.outbox[0].body)


def test_disabling_staff_passwords_ends_password_log_ins_of_staff(issuer, settings):
    settings.STAFF_PASSWORDS = True
    staff = UserFactory(is_staff=True)
    pair = start_family(user=staff, now=timezone.now())
    browser = page_log_in(staff)
    assert browser.get("/account/").status_code == 200
    settings.STAFF_PASSWORDS = False
    assert browser.get("/account/").status_code == 302
    assert_error(ApiClient().send("/auth/refresh", {"refresh_token": pair.refresh_token}), 401, "E2002")


def test_break_glass_account_can_log_in_and_its_log_ins_are_counted(issuer, monkeypatch):
    counted = []
    counter = type("Counter", (), {"inc": lambda _self: counted.append(1)})()
    monkeypatch.setattr("identity.access.staff.counts_of_process", type("Counts", (), {"break_glass_log_ins": counter}))
    glass = UserFactory(username="glass", is_staff=True, is_superuser=True)
    assert_error(token_of(glass, "wrong"), 401, "E2001")
    assert not counted
    assert token_of(glass).status_code == 200
    assert page_log_in(glass).get("/account/").status_code == 200
    assert len(counted) == 2


def test_staff_invitation_redirects_to_oidc_and_accepts_no_password(issuer):
    invited()
    deliver_mails()
    path = urlsplit(re.findall(r"https?://\S+", mail.outbox[0].body)[0]).path
    browser = Client()
    assert browser.post(path).headers["Location"] == "/account/login"
    member = UserFactory()
    confirm(member, "other@staff.example")
    assert page_log_in(member).post(path).headers["Location"] == "/account/login"
    assert Invitation.objects.get().accepted_at is None


def test_staff_password_session_ends_after_8_hours_or_when_the_account_becomes_staff(issuer, settings):
    person = UserFactory()
    browser = page_log_in(person)
    User.objects.filter(pk=person.pk).update(is_staff=True)
    assert browser.get("/account/").status_code == 302
    settings.STAFF_PASSWORDS = True
    browser = page_log_in(person)
    session = browser.session
    session["began"] -= 8 * 3600 + 1
    session.save()
    assert browser.get("/account/").status_code == 302


def code_on_page(browser):
    """Create a one-time code at `/account/` and return it; None if the page redirects to the second factor."""
    response = browser.post("/account/oidc/code")
    shown = re.search(r"<p><code>([\w-]{40,})</code></p>", response.content.decode())
    return shown[1] if shown else None


def test_session_code_returns_tokens_only_once(issuer, jane):
    assert "Create a code" in jane.get("/account/").content.decode()
    code = code_on_page(jane)
    response = ApiClient().send("/auth/token", {"code": code})
    assert response.status_code == 200, response.content
    tokens = response.json()
    family = TokenFamily.objects.get()
    assert (family.second_factor, family.ends_at) == (True, IssuerSession.objects.get().ends_at)
    assert ApiClient(bearer=tokens["access_token"]).read("/auth/me").json()["email"] == EMAIL
    assert_error(ApiClient().send("/auth/token", {"code": code}), 401, "E2001")
    assert ApiClient().send("/auth/refresh", {"refresh_token": tokens["refresh_token"]}).status_code == 200


def test_tokens_of_a_session_code_end_with_the_session(issuer, jane):
    def end_after_8_hours(_browser):
        IssuerSession.objects.update(began_at=timezone.now() - IssuerSession.LASTS)
        TokenFamily.objects.update(ends_at=timezone.now())

    user = User.objects.get()
    for end in (
        lambda browser: browser.post("/account/logout"),
        lambda _browser: log_out(issuer, sub="jane-1", sid="s1"),
        end_after_8_hours,
        lambda _browser: unlink(user, by=Actor.system("test"), reason="Test", now=timezone.now()),
        lambda _browser: User.objects.update(is_active=False),
    ):
        invited()
        browser, _response = log_in(issuer)
        codes = [code_on_page(browser) for _ in range(2)]
        tokens = ApiClient().send("/auth/token", {"code": codes[0]}).json()
        end(browser)
        forget_credentials()
        assert_error(ApiClient(bearer=tokens["access_token"]).read("/auth/me"), 401, "E2002")
        assert_error(ApiClient().send("/auth/refresh", {"refresh_token": tokens["refresh_token"]}), 401, "E2002")
        assert_error(ApiClient().send("/auth/token", {"code": codes[1]}), 401, "E2001")


def test_expired_code_or_token_of_a_mailed_link_is_rejected_as_a_session_code(issuer, jane):
    code = code_on_page(jane)
    OneTimeLink.objects.update(expires_at=timezone.now())
    link = make_link("change_address", email=EMAIL, subject="1", lasts=timedelta(hours=1), now=timezone.now())
    for wrong in (code, link):
        assert_error(ApiClient().send("/auth/token", {"code": wrong}), 401, "E2001")


def test_password_session_or_anonymous_visitor_cannot_create_a_session_code(issuer, user, settings):
    settings.STAFF_PASSWORDS = True
    browser = Client()
    assert browser.post("/account/oidc/code").status_code == 302
    browser.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    assert browser.post("/account/oidc/code").status_code == 404
    assert "Create a code" not in browser.get("/account/").content.decode()


def test_token_request_requires_either_a_session_code_or_a_password(db):
    for body, field in (
        ({}, "username"), ({"username": "a"}, "password"), ({"password": "a"}, "username"), ({"code": ""}, "code"),
        ({"code": "a", "username": "b"}, "username"), ({"code": "a", "otp": "123456"}, "otp"), ({"code": 1}, "code"),
        ({"code": "a" * 65}, "code"),
    ):  # fmt: skip
        response = ApiClient().send("/auth/token", body)
        assert_error(response, 400, "E1001")
        assert field in str(response.json()), body
