"""Test staff log-ins by OpenID Connect against an issuer over HTTP: accounts, groups, and rejected tokens."""

import time
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
from identity.access.models import AccountHistory, User
from identity.accounts.addresses import confirm
from identity.accounts.invitations import invite
from identity.accounts.models import Invitation
from identity.oidc import client
from identity.oidc.models import StaffIdentity
from tests.backoffice.conftest import backoffice_client
from tests.backoffice.pages import confirm as press
from tests.factories import UserFactory
from tests.identity.issuer_double import (
    CLIENT,
    EMAIL,
    KEY,
    PUBLIC_PEM,
    STRANGER,
    hmac_token,
    invited,
    is_in,
    log_in,
    start_log_in,
    with_changed,
)
from tests.second_factors import authenticator_of, code_of, secret_on

pytestmark = pytest.mark.django_db


def groups_of(user):
    return set(user.groups.values_list("name", flat=True))


def deliver_mails():
    while any(deliver_some(now=timezone.now()).values()):
        pass


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


def test_second_oidc_log_in_requires_no_invitation_and_no_address(issuer, jane):
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


def test_rejected_oidc_log_in_of_a_demoted_or_closed_account_grants_no_group(issuer, jane):
    user = User.objects.get()
    user.groups.clear()
    for change in ({"is_active": False, "is_staff": True}, {"is_active": True, "is_staff": False}):
        User.objects.update(**change)
        browser, response = log_in(issuer)
        assert (response.status_code, is_in(browser)) == (403, False), change
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
    deliver_mails()
    assert [message.to for message in mail.outbox if "account" in message.subject.lower()] == [[EMAIL]]


def test_oidc_log_in_does_not_link_an_unconfirmed_account(issuer):
    squatter = UserFactory(email=EMAIL)
    EmailAddress.objects.create(user=squatter, email=EMAIL, verified=False, primary=True)
    invited()
    assert is_in(log_in(issuer)[0])
    assert StaffIdentity.objects.get().user != squatter


@pytest.mark.parametrize("is_superuser", [True, False])
def test_oidc_log_in_does_not_link_superusers_or_accounts_of_other_subjects(issuer, is_superuser):
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


def test_oidc_second_factor_is_accepted_by_amr_or_requested_acr(issuer, jane):
    accepted = {}
    for claims in (
        {"amr": ["pwd", "mfa"]}, {"amr": ["hwk"]}, {"amr": None, "acr": "phr"},
        {"amr": ["pwd"]}, {"amr": ["sms", "pwd"]}, {"amr": "mfa"}, {"amr": None, "acr": "1"},
        {"amr": None, "acr": "phrh"},  # The issuer doesn't support this class, so the platform doesn't request it.
    ):  # fmt: skip
        issuer.claim_changes = claims
        browser, _response = log_in(issuer)
        accepted[str(claims)] = is_in(browser)
        if not accepted[str(claims)]:
            page = browser.get("/admin/login/?next=/admin/")
            assert page.headers["Location"].startswith("/account/second-factor"), claims
    assert list(accepted.values()) == [True] * 3 + [False] * 5, accepted


def test_staff_account_linked_by_oidc_can_add_a_second_factor(transactional_db, issuer, settings):
    person = UserFactory()
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


def test_staff_log_in_requires_the_accounts_second_factor_if_the_issuer_reports_no_factor(issuer, jane):
    authenticator_of(User.objects.get())
    issuer.claim_changes = {"amr": ["pwd"]}
    browser, response = log_in(issuer)
    assert response.headers["Location"].startswith("/account/second-factor/log-in")
    assert not is_in(browser)
    browser.post("/account/second-factor/log-in", {"code": code_of()})
    assert is_in(browser)


NOW = int(time.time())
CLAIMS_REFUSED = (
    {"iss": "https://other.example"}, {"iss": None}, {"iss": "http://127.0.0.1/tenant/"}, {"aud": "another-client"},
    {"aud": None}, {"aud": [CLIENT, "another-client"]}, {"azp": "another-client"}, {"nonce": "guessed"},
    {"nonce": None}, {"iat": NOW - 7_500, "exp": NOW - 7_200}, {"iat": NOW - 7_200, "exp": NOW + 7_200},
    {"iat": NOW + 7_200, "exp": NOW + 14_400}, {"nbf": NOW + 7_200}, {"iat": None}, {"iat": "now"}, {"sub": None},
    {"sub": ""}, {"sub": ["jane-1"]}, {"sub": "x" * 256}, {"sub": "a\0b"}, {"events": {client.LOGOUT_EVENT: {}}},
    {"email_verified": False}, {"email_verified": "true"}, {"email_verified": None}, {"email": "john@staff.example"},
    {"email": [EMAIL]}, {"email": f"{EMAIL},john@staff.example"}, {"groups": None}, {"groups": "idp-support"},
    {"groups": [SUPPORT, OPERATIONS, "superuser"]}, {"groups": ["idp-support,idp-reviewers", "idp-support "]},
    {"groups": {"idp-support": True}},
)  # fmt: skip


def is_rejected(browser, response):
    """Return whether a log-in was rejected without an effect."""
    has_effects = User.objects.exists() or StaffIdentity.objects.exists() or is_in(browser)
    return response.status_code == 403 and not has_effects and not Invitation.objects.exclude(accepted_at=None).exists()


def test_id_token_with_forged_claims_is_rejected_and_creates_no_account(issuer):
    invited()
    accepted = []
    for issuer.claim_changes in CLAIMS_REFUSED:
        if not is_rejected(*log_in(issuer)):
            accepted.append(issuer.claim_changes)
    assert accepted == []
    issuer.claim_changes = {}
    assert is_in(log_in(issuer)[0])


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


def test_id_token_with_a_forged_signature_is_rejected_and_creates_no_account(issuer):
    invited()
    accepted = []
    for name, sign in SIGNATURES_REFUSED.items():
        issuer.sign = lambda claims, sign=sign: sign(issuer, claims)
        if not is_rejected(*log_in(issuer)):
            accepted.append(name)
    assert accepted == []


def test_changed_oidc_response_is_rejected(issuer):
    invited()
    for change in (
        {"iss": "https://attacker.example"}, {"iss": ""}, {"state": "guessed"}, {"state": ""}, {"code": "guessed"},
        {"code": ""}, {"error": "access_denied"},
    ):  # fmt: skip
        browser, back = start_log_in(issuer)
        assert is_rejected(browser, browser.get(with_changed(back, **change))), change
    issuer.response_changes = {"iss": None}
    assert is_rejected(*log_in(issuer))


def test_oidc_authorization_code_works_only_once_and_only_in_the_browser_of_its_request(issuer):
    invited()
    browser, back = start_log_in(issuer)
    code = parse_qs(urlsplit(back).query)["code"][0]
    other, others_back = start_log_in(issuer)
    issued = dict(issuer.codes)
    for stranger in (other, Client()):
        assert stranger.get(back).status_code == 403
    # PKCE and the nonce bind a code to the browser that started the log-in.
    assert is_rejected(other, other.get(with_changed(others_back, code=code)))
    issuer.codes.update(issued)
    assert browser.get(back).status_code == 302
    issuer.codes.update(issued)  # This issuer accepts a code twice.
    assert browser.get(back).status_code == 403
    issuer.codes.clear()
    _browser, later = start_log_in(issuer, browser)
    assert browser.get(with_changed(later, code=code)).status_code == 403


def test_oidc_log_in_that_takes_longer_than_10_minutes_is_rejected(issuer):
    invited()
    browser, back = start_log_in(issuer)
    session = browser.session
    for begun in session["issuer_tries"].values():
        begun[3] -= 601
    session.save()
    assert browser.get(back).status_code == 403


def test_oidc_log_in_does_not_redirect_to_another_host(issuer, jane):
    for wanted in (
        "https://attacker.example/",
        "//attacker.example",
        "javascript:alert(1)",
        "\\\\attacker.example",
        "",
    ):
        browser, back = start_log_in(issuer, wanted=wanted)
        assert browser.get(back).headers["Location"] == "/account/", wanted


def test_oidc_discovery_of_another_issuer_is_rejected(issuer, settings):
    for change in (
        {"issuer": "https://other.example"}, {"issuer": None}, {"token_endpoint": "ftp://x"}, {"jwks_uri": None},
    ):  # fmt: skip
        issuer.metadata_changes = change
        client.forget_documents()
        assert Client().get("/account/oidc/start").status_code == 403, change
    issuer.metadata_changes = {}
    client.forget_documents()
    settings.PRODUCTION = True
    with pytest.raises(client.SignInFailed, match="bad_authorization_endpoint"):
        client.discover()


def test_oidc_userinfo_of_another_subject_or_address_does_not_verify_the_address(issuer):
    invited()
    del issuer.person["email_verified"]
    for userinfo in ({"sub": "john-1"}, {"email": "mallory@staff.example"}):
        issuer.userinfo = {**userinfo, "email_verified": True}
        client.forget_documents()
        assert is_rejected(*log_in(issuer)), userinfo


def test_unreachable_oidc_issuer_is_reported_as_an_outage(issuer):
    invited()
    browser, back = start_log_in(issuer)
    issuer.is_down = True
    assert browser.get(back).status_code == 502
    client.forget_documents()
    assert Client().get("/account/oidc/start").status_code == 502
    assert Client().post("/account/oidc/logout", {"logout_token": issuer.logout_token(sub="x")}).status_code == 503
    assert not User.objects.exists()


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
    assert is_rejected(*log_in(issuer))


def test_log_in_page_shows_the_oidc_button_only_with_an_issuer(issuer, settings):
    page = Client().get("/account/login?next=/admin/").content.decode()
    assert 'href="/account/oidc/start?next=/admin/"' in page
    settings.STAFF_OIDC = None
    assert "oidc" not in Client().get("/account/login").content.decode()
    for path in ("start", "callback", "logout"):
        assert Client().get(f"/account/oidc/{path}").status_code == 404
    assert Client().post("/account/oidc/logout").status_code == 404


def test_oidc_log_in_of_another_subject_or_an_unlinked_staff_account_requires_an_invitation(issuer, jane):
    browser, response = log_in(issuer, sub="jane-2")
    assert (response.status_code, is_in(browser), User.objects.count()) == (403, False, 1)
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
    assert log_in(issuer, sub="jane-1")[1].status_code == 403
    invited()
    assert log_in(issuer, sub="jane-2")[1].status_code == 302
    assert StaffIdentity.objects.get().user == user
