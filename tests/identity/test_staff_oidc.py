"""Test accounts, groups, and the end of sessions of staff log-ins by OpenID Connect against an issuer over HTTP."""

import re
import time
from datetime import timedelta
from types import SimpleNamespace
from urllib.parse import parse_qs, urlsplit

import pytest
from allauth.account.models import EmailAddress
from django.contrib.auth.models import Group
from django.core import mail
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from config.core.groups import LENDER, OPERATIONS, REVIEWER, SUPPORT
from config.core.lifecycle import Actor
from config.mail.delivery import deliver_some
from config.ops.pruning import prune
from identity.access.authentication import forget_credentials
from identity.access.models import AccountHistory, TokenFamily, User
from identity.access.tokens import start_family
from identity.accounts.addresses import confirm
from identity.accounts.invitations import invite
from identity.accounts.links import make_link
from identity.accounts.models import Invitation, OneTimeLink
from identity.oidc import client
from identity.oidc.models import IssuerSession, StaffIdentity
from identity.oidc.services import unlink
from tests.api import ApiClient, assert_error, client_of
from tests.backoffice.conftest import backoffice_client
from tests.backoffice.pages import confirm as press
from tests.factories import UserFactory
from tests.identity.issuer_double import CLIENT, KEY, PUBLIC_PEM, STRANGER, IssuerDouble, hmac_token, with_changed
from tests.second_factors import authenticator_of, code_of, secret_on

EMAIL, PASSWORD = "jane@staff.example", "correct horse battery"
JANE = {"sub": "jane-1", "email": EMAIL, "email_verified": True, "groups": ["idp-support"], "sid": "s1"}

pytestmark = pytest.mark.django_db


@pytest.fixture
def issuer(settings):
    with IssuerDouble() as double:
        settings.STAFF_OIDC = double.client
        settings.STAFF_OIDC_GROUPS = {"idp-support": SUPPORT, "idp-reviewers": REVIEWER}
        settings.STAFF_PASSWORDS, settings.STAFF_BREAK_GLASS = False, "glass"
        settings.BACKOFFICE_SECOND_FACTOR = True
        settings.RATE_LIMITS = {**settings.RATE_LIMITS, "token": None, "mail_recipient": None}
        client.forget_documents()
        double.person = dict(JANE)
        yield double
    client.forget_documents()


def invited(email=EMAIL, group=SUPPORT):
    actor = Actor.system("test")
    return invite(actor=actor, email=email, role="staff", group=group, now=timezone.now())


def start_log_in(issuer, browser=None, wanted="/admin/"):
    """Start at our log-in page and log in at the issuer; return the browser and the redirect address."""
    browser = browser or Client()
    start = browser.get("/account/oidc/start", {"next": wanted})
    assert start.status_code == 302, start.content
    return browser, issuer.visit(start.headers["Location"])


def log_in(issuer, browser=None, **person):
    issuer.person.update(person)
    browser, back = start_log_in(issuer, browser)
    return browser, browser.get(back)


@pytest.fixture
def jane(issuer):
    """Return a member of staff with a session from the issuer."""
    invited()
    browser, _response = log_in(issuer)
    return browser


def groups_of(user):
    return set(user.groups.values_list("name", flat=True))


def is_in(browser):
    return browser.get("/admin/").status_code == 200


def test_first_oidc_log_in_with_an_invitation_creates_a_staff_account(issuer):
    invitation = invited()
    browser, response = log_in(issuer)
    assert response.headers["Location"] == "/admin/"
    assert is_in(browser)
    user = User.objects.get()
    assert (user.email, user.is_staff, user.is_superuser, user.has_usable_password()) == (EMAIL, True, False, False)
    assert groups_of(user) == {SUPPORT}
    assert EmailAddress.objects.get().verified
    assert Invitation.objects.get(pk=invitation.pk).accepted_by == user
    identity = StaffIdentity.objects.get()
    assert (identity.user, identity.issuer, identity.subject) == (user, issuer.client.url, "jane-1")
    assert AccountHistory.objects.filter(action="account.linked", account=user).exists()


def test_oidc_request_contains_pkce_state_nonce_and_acr_values(issuer):
    location = Client().get("/account/oidc/start").headers["Location"]
    query = {name: values[0] for name, values in parse_qs(urlsplit(location).query).items()}
    assert query["tenant"] == "1"
    assert (query["scope"], query["acr_values"]) == ("openid email groups", "phr")
    assert query["redirect_uri"] == "http://127.0.0.1:8000/account/oidc/callback"
    assert len({query["state"], query["nonce"], query["code_challenge"]}) == 3


def test_staff_log_out_invalidates_copied_session_cookies(issuer, jane):
    copied = Client()
    copied.cookies["sessionid"] = jane.cookies["sessionid"].value
    jane.post("/account/logout")
    assert IssuerSession.objects.get().ended_at is not None
    assert not is_in(copied)


def test_second_oidc_log_in_requires_neither_invitation_nor_address(issuer, jane):
    jane.post("/account/logout")
    assert not is_in(jane)
    browser, _response = log_in(issuer, email="other@staff.example", email_verified=False)
    assert is_in(browser)
    assert User.objects.get().email == EMAIL


def test_oidc_log_in_sets_the_groups_from_the_claim(issuer, jane):
    user = User.objects.get()
    user.groups.add(Group.objects.get(name=OPERATIONS), Group.objects.get(name=LENDER))
    log_in(issuer, groups=["idp-reviewers", "unmapped"])
    assert groups_of(user) == {REVIEWER, OPERATIONS, LENDER}, "groups that no setting maps stay"
    log_in(issuer, groups=["idp-reviewers", "idp-support"])
    assert groups_of(user) == {REVIEWER, SUPPORT, OPERATIONS, LENDER}


def test_oidc_log_in_without_a_mapped_group_is_rejected_and_removes_groups(issuer, jane):
    browser, response = log_in(issuer, groups=[])
    assert (response.status_code, is_in(browser)) == (403, False)
    assert groups_of(User.objects.get()) == set()
    assert User.objects.get().is_superuser is False


def test_oidc_log_in_of_a_closed_account_is_rejected(issuer, jane):
    User.objects.update(is_active=False)
    browser, response = log_in(issuer)
    assert (response.status_code, is_in(browser)) == (403, False)


@pytest.mark.parametrize("change", [{"is_staff": False}, {"is_active": False}], ids=str)
def test_rejected_log_in_of_a_demoted_or_closed_account_grants_no_group(issuer, jane, change):
    user = User.objects.get()
    user.groups.clear()
    User.objects.update(**change)
    assert log_in(issuer)[1].status_code == 403
    assert groups_of(user) == set()


def test_oidc_claims_missing_in_the_id_token_are_read_from_userinfo(issuer):
    invited()
    issuer.userinfo = {name: issuer.person.pop(name) for name in ("email", "email_verified", "groups")}
    assert is_in(log_in(issuer)[0])


def test_oidc_log_in_links_and_notifies_the_account_with_the_confirmed_address(issuer):
    person = UserFactory()
    confirm(person, EMAIL)
    invited()
    log_in(issuer)
    assert StaffIdentity.objects.get().user == person
    while any(deliver_some(now=timezone.now()).values()):
        pass
    assert [message.to for message in mail.outbox if "account" in message.subject.lower()] == [[EMAIL]]


def test_oidc_log_in_does_not_link_an_unconfirmed_account(issuer):
    squatter = UserFactory(email=EMAIL)
    EmailAddress.objects.create(user=squatter, email=EMAIL, verified=False, primary=True)
    invited()
    assert is_in(log_in(issuer)[0])
    assert StaffIdentity.objects.get().user != squatter


@pytest.mark.parametrize("is_superuser", [True, False])
def test_oidc_log_in_does_not_link_superusers_or_other_subjects(issuer, is_superuser):
    person = UserFactory(is_superuser=is_superuser, is_staff=True)
    confirm(person, EMAIL)
    if not is_superuser:
        now = timezone.now()
        StaffIdentity.objects.create(user=person, issuer=issuer.client.url, subject="john-1", created_at=now)
    invited()
    browser, response = log_in(issuer)
    assert (response.status_code, is_in(browser)) == (403, False)
    assert not StaffIdentity.objects.filter(subject="jane-1").exists()
    assert Invitation.objects.get().accepted_at is None


@pytest.mark.parametrize(
    ("claims", "counts"),
    [
        ({"amr": ["pwd", "mfa"]}, True),
        ({"amr": ["hwk"]}, True),
        ({"amr": ["pwd"]}, False),
        ({"amr": ["sms", "pwd"]}, False),
        ({"amr": "mfa"}, False),
        ({"amr": None, "acr": "phr"}, True),
        ({"amr": None, "acr": "1"}, False),
        # The issuer doesn't support this `acr` value, so the platform doesn't request it.
        ({"amr": None, "acr": "phrh"}, False),
    ],
)
def test_oidc_second_factor_is_accepted_by_amr_or_requested_acr(issuer, claims, counts):
    invited()
    issuer.claim_changes = claims
    browser, _response = log_in(issuer)
    assert is_in(browser) is counts
    if not counts:
        assert browser.get("/admin/login/?next=/admin/").headers["Location"].startswith("/account/second-factor")


def test_linked_staff_account_can_add_its_first_second_factor(transactional_db, issuer, settings):
    person = with_password()
    confirm(person, EMAIL)
    invited()
    issuer.claim_changes = {"amr": ["pwd"]}
    browser, _response = log_in(issuer)
    address = "/account/second-factor/app/add"
    secret = secret_on(browser.get(address).content.decode())
    browser.post(address, {"code": code_of(secret)})
    assert person.authenticator_set.filter(type="totp").exists()
    assert is_in(browser)
    person.authenticator_set.all().delete()
    settings.STAFF_PASSWORDS = True
    assert browser.get(address).headers["Location"].startswith("/account/reauthenticate")


def test_staff_log_in_requires_the_accounts_second_factor_without_an_oidc_one(issuer, jane):
    authenticator_of(User.objects.get())
    issuer.claim_changes = {"amr": ["pwd"]}
    browser, response = log_in(issuer)
    assert response.headers["Location"].startswith("/account/second-factor/log-in")
    assert not is_in(browser)
    browser.post("/account/second-factor/log-in", {"code": code_of()})
    assert is_in(browser)


def test_deletion_of_a_staff_account_shows_the_obstacle(issuer, jane):
    assert jane.post("/account/privacy", {"do": "erase"}).headers["Location"] == "/account/privacy"
    assert "belongs to staff" in jane.get("/account/privacy").content.decode()


def test_deletion_of_a_staff_account_without_a_second_factor_is_rejected(issuer):
    invited()
    issuer.claim_changes = {"amr": ["pwd"]}
    browser, _response = log_in(issuer)
    response = browser.post("/account/privacy", {"do": "erase"})
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


@pytest.mark.parametrize("claims", [{"sub": "jane-1"}, {"sid": "s1"}, {"sub": "jane-1", "sid": "s1"}])
def test_logout_token_ends_the_session_and_its_api_log_ins(issuer, jane, claims):
    user = User.objects.get()
    api = client_of(user)
    assert log_out(issuer, **claims).status_code == 200
    assert not is_in(jane)
    assert_error(api.read("/auth/me"), 401, "E2002")
    assert TokenFamily.objects.get().revoked_at is not None


@pytest.mark.parametrize("claims", [{"sub": "john-1"}, {"sid": "s2"}, {"sub": "jane-1", "sid": "s2"}])
def test_logout_token_of_another_session_ends_nothing(issuer, jane, claims):
    assert log_out(issuer, **claims).status_code == 200
    assert is_in(jane)


@pytest.mark.parametrize("claims", [{"sub": "jane-1"}, {"sub": "jane-1", "sid": "s1"}])
def test_logout_token_with_a_subject_ends_log_ins_without_an_issuer_session(issuer, jane, settings, claims):
    settings.STAFF_PASSWORDS = True
    user = User.objects.get()
    user.set_password(PASSWORD)
    user.save()
    jane.post("/account/logout")
    api, browser = client_of(user), page_log_in(user)
    stranger = page_log_in(with_password(is_staff=True))
    earlier = {**claims, "iat": int(time.time()) - 200}
    assert log_out(issuer, **earlier).status_code == 200
    assert api.read("/auth/me").status_code == 200, "a log-in after the token stays"
    assert browser.get("/account/").status_code == 200
    assert log_out(issuer, **claims).status_code == 200
    assert_error(api.read("/auth/me"), 401, "E2002")
    assert browser.get("/account/").status_code == 302
    assert stranger.get("/account/").status_code == 200


def test_repeated_logout_token_ends_no_later_session(issuer, jane):
    token = issuer.logout_token(sub="jane-1", iat=int(time.time()) - 200)
    assert Client().post("/account/oidc/logout", {"logout_token": token}).status_code == 200
    assert is_in(jane)


@pytest.mark.parametrize(
    "change",
    [
        {"events": None}, {"events": {"other": {}}}, {"nonce": "n"}, {"iss": "https://other.example"}, {"aud": "other"},
        {"aud": [CLIENT, "other"]}, {"iat": 1}, {"iat": 9_999_999_999}, {"exp": 1}, {"sub": None}, {"sub": 7},
    ],
    ids=str,
)  # fmt: skip
def test_wrong_logout_token_is_rejected(issuer, jane, change):
    issuer.claim_changes = change
    response = log_out(issuer, **({} if "sub" in change else {"sub": "jane-1"}))
    assert (response.status_code, response.json()) == (400, {"error": "invalid_request"})
    assert is_in(jane)


@pytest.mark.parametrize("token", [None, "", "x", "a.b.c"])
def test_back_channel_token_that_is_not_a_logout_token_is_rejected(issuer, jane, token):
    data = {} if token is None else {"logout_token": token}
    assert Client().post("/account/oidc/logout", data).status_code == 400
    assert Client().get("/account/oidc/logout").status_code == 405


def test_only_invalid_logout_tokens_are_rate_limited(issuer, jane, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "token": 2}
    assert {log_out(issuer, sub=f"person-{number}").status_code for number in range(5)} == {200}
    wrong = [Client().post("/account/oidc/logout", {"logout_token": "x"}) for _ in range(3)]
    assert [response.status_code for response in wrong] == [400, 400, 429]
    assert "Retry-After" in wrong[-1].headers
    assert log_out(issuer, sub="jane-1").status_code == 200
    assert not is_in(jane)


def test_id_token_and_forged_logout_token_are_rejected(issuer, jane):
    forged = issuer.sign_well(issuer.claims(events={client.LOGOUT_EVENT: {}}, sub="jane-1"), key=STRANGER)
    for token in (issuer.id_token("n"), forged):
        assert Client().post("/account/oidc/logout", {"logout_token": token}).status_code == 400
    assert is_in(jane)


NOW = int(time.time())
CLAIMS_REFUSED = {
    "other issuer": {"iss": "https://other.example"},
    "no issuer": {"iss": None},
    "issuer with a slash": {"iss": "http://127.0.0.1/tenant/"},
    "other audience": {"aud": "another-client"},
    "no audience": {"aud": None},
    "shared audience without a party": {"aud": [CLIENT, "another-client"]},
    "other authorized party": {"azp": "another-client"},
    "other nonce": {"nonce": "guessed"},
    "no nonce": {"nonce": None},
    "expired 2 h ago": {"iat": NOW - 7_500, "exp": NOW - 7_200},
    "issued 2 h ago": {"iat": NOW - 7_200, "exp": NOW + 7_200},
    "issued in 2 h": {"iat": NOW + 7_200, "exp": NOW + 14_400},
    "valid from in 2 h": {"nbf": NOW + 7_200},
    "no time of issue": {"iat": None},
    "time as text": {"iat": "now"},
    "no subject": {"sub": None},
    "empty subject": {"sub": ""},
    "subject is a list": {"sub": ["jane-1"]},
    "subject too long": {"sub": "x" * 256},
    "subject with a NUL": {"sub": "a\0b"},
    "logout token as ID token": {"events": {client.LOGOUT_EVENT: {}}},
    "unverified address": {"email_verified": False},
    "verified as text": {"email_verified": "true"},
    "not said to be verified": {"email_verified": None},
    "address of another invitation": {"email": "john@staff.example"},
    "address is a list": {"email": [EMAIL]},
    "two addresses": {"email": f"{EMAIL},john@staff.example"},
    "no groups": {"groups": None},
    "groups as text": {"groups": "idp-support"},
    "our group's name": {"groups": [SUPPORT, OPERATIONS, "superuser"]},
    "group with a suffix": {"groups": ["idp-support,idp-reviewers", "idp-support "]},
    "groups as an object": {"groups": {"idp-support": True}},
}


def nobody_in(browser):
    return not (User.objects.exists() or StaffIdentity.objects.exists() or is_in(browser))


@pytest.mark.parametrize("name", CLAIMS_REFUSED)
def test_id_token_with_forged_claims_is_rejected_without_an_account(issuer, name):
    invited()
    issuer.claim_changes = CLAIMS_REFUSED[name]
    browser, response = log_in(issuer)
    assert (response.status_code, nobody_in(browser)) == (403, True)
    assert Invitation.objects.get().accepted_at is None


SIGNATURES_REFUSED = {
    "none": lambda double, claims: double.sign_well(claims, key=None, algorithm="none"),
    "HS256 with the public key": lambda _double, claims: hmac_token(claims, PUBLIC_PEM),
    "HS256 with the secret": lambda double, claims: hmac_token(claims, double.client.client_secret.encode()),
    "stranger's key": lambda double, claims: double.sign_well(claims, key=STRANGER),
    "unknown key": lambda double, claims: double.sign_well(claims, kid="two"),
    "other algorithm": lambda double, claims: double.sign_well(claims, key=KEY, algorithm="PS256"),
    "no signature": lambda double, claims: double.sign_well(claims).rpartition(".")[0] + ".",
    "no token": lambda _double, _claims: None,
    "no JWT": lambda _double, _claims: "x.y.z",
}


@pytest.mark.parametrize("name", SIGNATURES_REFUSED)
def test_id_token_with_a_forged_signature_is_rejected_without_an_account(issuer, name):
    invited()
    issuer.sign = lambda claims: SIGNATURES_REFUSED[name](issuer, claims)
    browser, response = log_in(issuer)
    assert (response.status_code, nobody_in(browser)) == (403, True)


@pytest.mark.parametrize(
    "change",
    [
        {"iss": "https://attacker.example"}, {"iss": ""}, {"state": "guessed"}, {"state": ""}, {"code": "guessed"},
        {"code": ""}, {"error": "access_denied"},
    ],
    ids=str,
)  # fmt: skip
def test_changed_oidc_response_is_rejected(issuer, change):
    invited()
    browser, back = start_log_in(issuer)
    assert browser.get(with_changed(back, **change)).status_code == 403
    assert nobody_in(browser)


def test_oidc_response_without_the_announced_issuer_is_rejected(issuer):
    invited()
    issuer.response_changes = {"iss": None}
    browser, response = log_in(issuer)
    assert (response.status_code, nobody_in(browser)) == (403, True)


def test_oidc_authorization_code_works_once_and_only_in_its_browser(issuer):
    invited()
    browser, back = start_log_in(issuer)
    other, _back = start_log_in(issuer)
    for stranger in (other, Client()):
        assert stranger.get(back).status_code == 403
    assert not User.objects.exists()
    issued = dict(issuer.codes)
    assert browser.get(back).status_code == 302
    issuer.codes.update(issued)  # This issuer accepts a code twice.
    assert browser.get(back).status_code == 403
    issuer.codes.clear()
    code = parse_qs(urlsplit(back).query)["code"][0]
    _browser, later = start_log_in(issuer, browser)
    assert browser.get(with_changed(later, code=code)).status_code == 403


def test_oidc_code_injected_from_another_log_in_is_rejected(issuer):
    """PKCE and the nonce bind a code to the browser that started the log-in."""
    invited()
    _victim, stolen = start_log_in(issuer)
    browser, back = start_log_in(issuer)
    code = parse_qs(urlsplit(stolen).query)["code"][0]
    assert browser.get(with_changed(back, code=code)).status_code == 403
    assert nobody_in(browser)


def test_oidc_log_in_that_takes_longer_than_10_minutes_is_rejected(issuer):
    invited()
    browser, back = start_log_in(issuer)
    session = browser.session
    for begun in session["issuer_tries"].values():
        begun[3] -= 601
    session.save()
    assert browser.get(back).status_code == 403


@pytest.mark.parametrize(
    "wanted", ["https://attacker.example/", "//attacker.example", "javascript:alert(1)", "\\\\attacker.example", ""]
)
def test_oidc_log_in_does_not_redirect_to_another_host(issuer, wanted):
    invited()
    browser, back = start_log_in(issuer, wanted=wanted)
    assert browser.get(back).headers["Location"] == "/account/"


@pytest.mark.parametrize(
    "change",
    [{"issuer": "https://other.example"}, {"issuer": None}, {"token_endpoint": "ftp://x"}, {"jwks_uri": None}],
    ids=str,
)
def test_oidc_discovery_of_another_issuer_is_rejected(issuer, change):
    issuer.metadata_changes = change
    assert Client().get("/account/oidc/start").status_code == 403


def test_oidc_http_endpoints_are_rejected_in_production(issuer, settings):
    settings.PRODUCTION = True
    with pytest.raises(client.SignInFailed, match="bad_authorization_endpoint"):
        client.discover()


def test_oidc_userinfo_of_another_subject_is_rejected(issuer):
    invited()
    del issuer.person["email_verified"]
    issuer.userinfo = {"sub": "john-1", "email_verified": True}
    browser, response = log_in(issuer)
    assert (response.status_code, nobody_in(browser)) == (403, True)


def test_oidc_userinfo_does_not_verify_the_address_of_the_id_token(issuer):
    invited()
    del issuer.person["email_verified"]
    issuer.userinfo = {"email": "mallory@staff.example", "email_verified": True}
    browser, response = log_in(issuer)
    assert (response.status_code, nobody_in(browser)) == (403, True)


def test_unreachable_oidc_issuer_is_reported_as_an_outage(issuer):
    invited()
    browser, back = start_log_in(issuer)
    issuer.is_down = True
    assert browser.get(back).status_code == 502
    client.forget_documents()
    assert Client().get("/account/oidc/start").status_code == 502
    assert Client().post("/account/oidc/logout", {"logout_token": issuer.logout_token(sub="x")}).status_code == 503
    assert nobody_in(browser)


def test_oidc_issuer_outage_is_cached_for_10_seconds(issuer, monkeypatch):
    issuer.is_down = True
    clock = time.monotonic()
    monkeypatch.setattr(client, "time", SimpleNamespace(monotonic=lambda: clock, time=time.time))
    for _ in range(3):
        assert Client().get("/account/oidc/start").status_code == 502
    assert len(issuer.received) == 1
    issuer.is_down = False
    clock += 9
    assert Client().get("/account/oidc/start").status_code == 502
    clock += 2
    assert Client().get("/account/oidc/start").status_code == 302


def test_oidc_log_in_with_an_ended_or_wrong_invitation_is_rejected(issuer):
    Invitation.objects.filter(pk=invited().pk).update(expires_at=timezone.now())
    Invitation.objects.filter(pk=invited().pk).update(revoked_at=timezone.now())
    invite(actor=Actor.system("test"), email=EMAIL, role="developer", now=timezone.now())
    browser, response = log_in(issuer)
    assert (response.status_code, nobody_in(browser)) == (403, True)


def test_staff_invitation_can_be_used_once(issuer, jane):
    browser, response = log_in(issuer, sub="jane-2")
    assert (response.status_code, is_in(browser)) == (403, False)
    assert User.objects.count() == 1


# --- Passwords ---------------------------------------------------------------------------------------------------


def with_password(**options):
    user = UserFactory(**options)
    user.set_password(PASSWORD)
    user.save()
    return user


def token_of(user, password=PASSWORD):
    return ApiClient().send("/auth/token", {"username": user.username, "password": password})


def page_log_in(user):
    browser = Client()
    browser.post("/account/login", {"login": user.username, "password": PASSWORD})
    return browser


def test_password_log_in_is_rejected_for_staff_and_accepted_for_others(issuer):
    staff, applicant = with_password(is_staff=True), with_password()
    assert_error(token_of(staff), 401, "E2001")
    assert token_of(staff).json()["message"] == token_of(staff, "wrong").json()["message"]
    assert page_log_in(staff).get("/account/").status_code == 302
    assert token_of(applicant).status_code == 200
    assert page_log_in(applicant).get("/account/").status_code == 200


def test_password_reset_mail_to_staff_contains_no_reset_link(issuer):
    staff = with_password(is_staff=True)
    confirm(staff, EMAIL)
    Client().post("/account/password/forgot", {"email": EMAIL})
    while any(deliver_some(now=timezone.now()).values()):
        pass
    assert len(mail.outbox) == 1
    assert "http://127.0.0.1:8000/account/login" in mail.outbox[0].body
    assert not re.search("/account/password/new/", mail.outbox[0].body)


def test_disabling_staff_passwords_ends_password_log_ins_of_staff(issuer, settings):
    settings.STAFF_PASSWORDS = True
    staff = with_password(is_staff=True)
    pair = start_family(user=staff, now=timezone.now())
    browser = page_log_in(staff)
    assert browser.get("/account/").status_code == 200
    settings.STAFF_PASSWORDS = False
    assert browser.get("/account/").status_code == 302
    assert_error(ApiClient().send("/auth/refresh", {"refresh_token": pair.refresh_token}), 401, "E2002")


def test_password_session_ends_when_the_account_becomes_staff(issuer):
    person = with_password()
    browser = page_log_in(person)
    User.objects.filter(pk=person.pk).update(is_staff=True)
    assert browser.get("/account/").status_code == 302


def test_staff_password_session_ends_after_8_hours(issuer, settings):
    settings.STAFF_PASSWORDS = True
    browser = page_log_in(with_password(is_staff=True))
    session = browser.session
    session["began"] -= 8 * 3600 + 1
    session.save()
    assert browser.get("/account/").status_code == 302


def test_break_glass_account_can_log_in_and_its_log_ins_are_counted(issuer, monkeypatch):
    counted = []
    counter = type("Counter", (), {"inc": lambda _self: counted.append(1)})()
    monkeypatch.setattr("identity.access.staff.counts_of_process", type("Counts", (), {"break_glass_log_ins": counter}))
    glass = with_password(username="glass", is_staff=True, is_superuser=True)
    assert_error(token_of(glass, "wrong"), 401, "E2001")
    assert not counted
    assert token_of(glass).status_code == 200
    assert page_log_in(glass).get("/account/").status_code == 200
    assert len(counted) == 2


def test_staff_invitation_redirects_to_oidc_and_accepts_no_password(issuer):
    invited()
    while any(deliver_some(now=timezone.now()).values()):
        pass
    path = urlsplit(re.findall(r"https?://\S+", mail.outbox[0].body)[0]).path
    browser = Client()
    assert browser.post(path).headers["Location"] == "/account/login"
    member = with_password()
    confirm(member, "other@staff.example")
    assert page_log_in(member).post(path).headers["Location"] == "/account/login"
    assert Invitation.objects.get().accepted_at is None


def test_log_in_page_shows_the_oidc_button_only_with_an_issuer(issuer, settings):
    page = Client().get("/account/login?next=/admin/").content.decode()
    assert 'href="/account/oidc/start?next=/admin/"' in page
    settings.STAFF_OIDC = None
    assert "oidc" not in Client().get("/account/login").content.decode()
    for path in ("start", "callback", "logout"):
        assert Client().get(f"/account/oidc/{path}").status_code == 404
    assert Client().post("/account/oidc/logout").status_code == 404


def test_unlinked_staff_account_requires_another_invitation(issuer, jane):
    admin = UserFactory(username="glass", is_staff=True, is_superuser=True)
    authenticator_of(admin)
    session = backoffice_client(admin)
    held = session.session
    held["second_factor"] = admin.authenticator_set.get().pk
    held.save()
    user = User.objects.get(email=EMAIL)
    address = reverse("admin:identity_user_do", args=[user.pk, "unlink-issuer"])
    assert press(session, address, reason="Moved to another team.").status_code == 200
    assert not is_in(jane)
    assert log_in(issuer)[1].status_code == 403
    invited()
    assert log_in(issuer, sub="jane-2")[1].status_code == 302
    assert StaffIdentity.objects.get().user == user


def code_on_page(browser):
    """Create a one-time code at `/account/` and return it; None if the page redirects to the second factor."""
    response = browser.post("/account/oidc/code")
    shown = re.search(r"<p><code>([\w-]{40,})</code></p>", response.content.decode())
    return shown[1] if shown else None


def test_session_code_returns_tokens_once(issuer, jane):
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


@pytest.mark.parametrize("end", ["log out", "logout token", "8 hours", "unlinked", "disabled"])
def test_tokens_of_a_session_code_end_with_the_session(issuer, jane, end):
    codes = [code_on_page(jane) for _ in range(2)]
    tokens = ApiClient().send("/auth/token", {"code": codes[0]}).json()
    user = User.objects.get()
    if end == "log out":
        jane.post("/account/logout")
    elif end == "logout token":
        Client().post("/account/oidc/logout", {"logout_token": issuer.logout_token(sub="jane-1", sid="s1")})
    elif end == "8 hours":
        IssuerSession.objects.update(began_at=timezone.now() - IssuerSession.LASTS)
        TokenFamily.objects.update(ends_at=timezone.now())
    elif end == "unlinked":
        unlink(user, by=Actor.system("test"), reason="Test", now=timezone.now())
    else:
        User.objects.update(is_active=False)
    forget_credentials()
    assert_error(ApiClient(bearer=tokens["access_token"]).read("/auth/me"), 401, "E2002")
    assert_error(ApiClient().send("/auth/refresh", {"refresh_token": tokens["refresh_token"]}), 401, "E2002")
    assert_error(ApiClient().send("/auth/token", {"code": codes[1]}), 401, "E2001")


def test_session_code_expires_after_2_minutes(issuer, jane):
    code = code_on_page(jane)
    OneTimeLink.objects.update(expires_at=timezone.now())
    assert_error(ApiClient().send("/auth/token", {"code": code}), 401, "E2001")


def test_session_without_a_second_factor_cannot_create_a_session_code(issuer):
    invited()
    issuer.claim_changes = {"amr": ["pwd"]}
    browser, _response = log_in(issuer)
    response = browser.post("/account/oidc/code")
    assert response.status_code == 302
    assert "/account/2fa/" in response.headers["Location"] or "second-factor" in response.headers["Location"]
    assert not OneTimeLink.objects.filter(purpose="token_code").exists()


def test_password_session_or_anonymous_visitor_cannot_create_a_session_code(issuer, user, settings):
    settings.STAFF_PASSWORDS = True
    browser = Client()
    assert browser.post("/account/oidc/code").status_code == 302
    browser.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    assert browser.post("/account/oidc/code").status_code == 404
    assert "Create a code" not in browser.get("/account/").content.decode()


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "username"),
        ({"username": "a"}, "password"),
        ({"password": "a"}, "username"),
        ({"code": ""}, "code"),
        ({"code": "a", "username": "b"}, "username"),
        ({"code": "a", "otp": "123456"}, "otp"),
        ({"code": 1}, "code"),
        ({"code": "a" * 65}, "code"),
    ],
)
def test_token_request_requires_either_a_session_code_or_a_password(db, body, field):
    response = ApiClient().send("/auth/token", body)
    assert_error(response, 400, "E1001")
    assert field in str(response.json())


def test_token_of_a_mailed_link_is_rejected_as_a_session_code(issuer, jane):
    token = make_link("change_address", email=EMAIL, subject="1", lasts=timedelta(hours=1), now=timezone.now())
    assert_error(ApiClient().send("/auth/token", {"code": token}), 401, "E2001")
