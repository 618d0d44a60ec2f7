"""Test the pages that add, use, replace, and remove a second factor."""

import json
import re
from base64 import urlsafe_b64decode
from html import unescape
from zlib import decompress

import pytest
from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from django.contrib.sessions.models import Session
from django.test import Client

from config.mail.models import OutgoingMail
from identity.access import tokens
from identity.models import AccountHistory, TokenFamily
from tests.factories import PASSWORD
from tests.races import run_concurrently
from tests.second_factors import SoftKey, authenticator_of, code_of, recovery_codes_of, secret_on, wrong_code

pytestmark = pytest.mark.django_db
HOME = "/account/second-factor"
LOG_IN, CONFIRM = f"{HOME}/log-in", f"{HOME}/confirm"
CHANGES = [
    *(f"{HOME}/{path}" for path in ("app/add", "app/remove", "codes/new", "passkeys/add", "passkeys/1/remove")),
    "/account/email", "/account/password", "/account/password/set", "/account/reauthenticate", "/account/privacy",
]  # fmt: skip


def passkey_credential(**response):
    """Return a passkey credential as the browser sends it, with this response."""
    return json.dumps({"id": "AA", "rawId": "AA", "type": "public-key", "response": response})


NO_PASSKEYS = [
    "", "x", "[]", "{}", "null", '""', "1", "{", "[" * 70_000, "[" * 5_000, '{"id": "' + "x" * 70_000 + '"}',
    '{"id": 1}', passkey_credential(), passkey_credential(clientDataJSON="x", attestationObject="x"),
    passkey_credential(clientDataJSON="x", authenticatorData="x", signature="x"),
    passkey_credential(clientDataJSON="e30", attestationObject="oA"),
    passkey_credential(clientDataJSON="e30", authenticatorData="AA", signature="AA"),
    '{"id": "\\ud800", "rawId": "\\u0000", "type": [], "response": []}', "\x00", "\ud800",
]  # fmt: skip


def browser_of(user):
    browser = Client()
    browser.post("/account/login", {"login": user.username, "password": PASSWORD})
    return browser


def reauthenticated(user):
    """Return the browser of a user who has just confirmed the password again."""
    browser = browser_of(user)
    browser.post("/account/reauthenticate", {"password": PASSWORD})
    return browser


def codes_on(page):
    return re.findall(r"<code>(\w{5}-\w{5})</code>", page.content.decode())


def add_app(browser):
    """Add an authenticator app; return its secret and the recovery codes."""
    page = browser.get(f"{HOME}/app/add").content.decode()
    secret = secret_on(page)
    codes = codes_on(browser.post(f"{HOME}/app/add", {"code": code_of(secret)}))
    assert len(set(codes)) == 10
    return secret, codes


def test_user_logs_in_with_a_code_of_the_added_app_or_a_recovery_code(transactional_db, user):
    browser = reauthenticated(user)
    secret, codes = add_app(browser)
    assert browser.get(f"{HOME}/codes").headers["Location"] == HOME
    page = browser.get(HOME).content.decode()
    assert "10 codes are left" in page
    assert codes[0] not in page, "they are shown once"
    assert browser.get("/account/email").status_code == 200, "the session that added it has it"
    assert browser_of(user).post(LOG_IN, {"code": code_of(secret)}).status_code == 200, "it added the app"
    for code in (code_of(secret, steps=1), codes[7]):
        other = browser_of(user)
        assert other.get("/account/").status_code == 302
        assert other.post(LOG_IN, {"code": code}).headers["Location"] == "/account/"
        assert other.get("/account/email").status_code == 200
    assert "9 codes are left" in browser.get(HOME).content.decode()


@pytest.mark.parametrize(("wanted", "leads_to"), [("/admin/?a=1", "/admin/?a=1"), ("https://evil.example/", HOME)])
def test_recovery_codes_page_links_to_the_page_that_required_the_second_factor(
    transactional_db, user, wanted, leads_to
):
    browser = reauthenticated(user)
    links = re.findall(r'href="([^"]+/add[^"]*)"', browser.get(HOME, {"next": wanted}).content.decode())
    assert len(links) == 2
    add = unescape(links[0])
    secret = secret_on(browser.get(add).content.decode())
    page = browser.post(add, {"code": code_of(secret)}).content.decode()
    assert f'<a class="button" href="{leads_to}">I have them</a>' in page


def test_secret_of_a_pending_authenticator_app_is_encrypted_in_the_session(user):
    browser = reauthenticated(user)
    page = browser.get(f"{HOME}/app/add").content.decode()
    secret = secret_on(page)
    kept = [item.session_data for item in Session.objects.all()]
    assert kept
    assert secret not in str(kept)
    for record in kept:
        packed = record.removeprefix(".").partition(":")[0]
        held = urlsafe_b64decode(packed + "=" * (-len(packed) % 4))
        assert secret.encode() not in (decompress(held) if record.startswith(".") else held)
    assert browser.session["mfa.totp.secret"] == secret


WRONG_CODES = ["", "12345", "abcdef", "\uff11" * 6, "1" * 9000, "00000\x00", "wrong"]


def test_wrong_code_adds_no_authenticator_app_and_does_not_log_in_the_user(user, no_rate_limits):
    browser = reauthenticated(user)
    assert browser.post(f"{HOME}/app/add", {"code": "123456"}).status_code == 200, "the page was not open"
    browser.get(f"{HOME}/app/add")
    codes = [wrong_code() if code == "wrong" else code for code in WRONG_CODES]
    for code in codes:
        assert browser.post(f"{HOME}/app/add", {"code": code}).status_code == 200
        assert not Authenticator.objects.exists()
    authenticator_of(user)
    other = browser_of(user)
    for code in codes:
        assert other.post(LOG_IN, {"code": code}).status_code == 200
        assert other.get("/account/").status_code == 302


def fresh_code(user, kind):
    authenticator_of(user)
    codes = recovery_codes_of(user)
    return code_of() if kind == "code of the app" else codes[0]


@pytest.mark.parametrize("kind", ["code of the app", "recovery code"])
def test_authenticator_code_can_be_used_for_only_one_log_in_on_the_page(user, kind):
    code = fresh_code(user, kind)
    assert browser_of(user).post(LOG_IN, {"code": code}).status_code == 302
    assert "already used" in browser_of(user).post(LOG_IN, {"code": code}).content.decode()


@pytest.mark.parametrize("kind", ["code of the app", "recovery code"])
def test_only_one_of_concurrent_log_ins_with_the_same_authenticator_code_succeeds(committed, user, kind):
    code = fresh_code(user, kind)
    browsers = [browser_of(user) for _ in range(4)]
    answers = run_concurrently(
        *[lambda item=browser: item.post(LOG_IN, {"code": code}).status_code for browser in browsers]
    )
    assert sorted(answers) == [200, 200, 200, 302]


def test_second_factor_confirmation_changes_the_session_id(user):
    browser, second = browser_of(user), browser_of(user)
    authenticator_of(user)
    assert second.post(CONFIRM, {"code": recovery_codes_of(user)[0].lower()}).status_code == 302
    assert second.get("/account/email").status_code == 200
    second.post("/account/logout")
    before = browser.session.session_key
    browser.post(CONFIRM, {"code": code_of()})
    assert browser.session.session_key != before
    assert not Session.objects.filter(session_key=before).exists()
    page = browser.get("/account/sessions").content.decode()
    assert (page.count("(this session)"), page.count("Last used:")) == (1, 0)


def test_password_confirmation_changes_the_session_id(user):
    browser = browser_of(user)
    before = browser.session.session_key
    browser.post("/account/reauthenticate", {"password": PASSWORD})
    assert browser.session.session_key != before
    assert not Session.objects.filter(session_key=before).exists()


def test_a_session_without_the_second_factor_cannot_change_the_account(user):
    browser = reauthenticated(user)
    authenticator_of(user)
    for path in CHANGES:
        for answer in (browser.get(path), browser.post(path, {})):
            assert answer.headers["Location"] == f"{CONFIRM}?next={path}"


def test_adding_a_second_factor_requires_reauthentication(user):
    authenticator_of(user)
    recovery_codes_of(user)
    browser = browser_of(user)
    browser.post(LOG_IN, {"code": code_of()})
    for path in (path for path in CHANGES if HOME in path):
        location = browser.get(path).headers["Location"]
        assert location.startswith("/account/reauthenticate"), location
    assert (Authenticator.objects.count(), user.recovery_codes.count()) == (1, 10)
    browser.post("/account/reauthenticate", {"password": PASSWORD})
    browser.post("/account/email", {"email": "new@example.org", "action_add": ""})
    assert OutgoingMail.objects.get().template == "confirm_address"


def test_removing_a_second_factor_revokes_its_credentials_and_notifies_the_owner_by_mail(user):
    EmailAddress.objects.create(user=user, email="jane@example.org", verified=True, primary=True)
    authenticator_of(user)
    recovery_codes_of(user)
    browser = browser_of(user)
    browser.post(LOG_IN, {"code": code_of()})
    browser.post("/account/reauthenticate", {"password": PASSWORD})
    tokens.start_family(user=user, now=user.credentials_changed_at, second_factor=True)
    assert browser.post(f"{HOME}/app/remove").headers["Location"] == HOME
    assert not Authenticator.objects.exists()
    assert not user.recovery_codes.exists(), "they go with the last factor"
    assert browser.post(f"{HOME}/codes/new").headers["Location"] == HOME
    assert not user.recovery_codes.exists()
    assert TokenFamily.objects.get().revoked_at is not None
    assert json.loads(OutgoingMail.objects.get().context)["event"] == "app_removed"


def test_new_recovery_codes_replace_the_old_codes_and_are_announced_to_the_owner_by_mail(user):
    EmailAddress.objects.create(user=user, email="jane@example.org", verified=True, primary=True)
    authenticator_of(user)
    old = recovery_codes_of(user)
    browser = browser_of(user)
    browser.post(LOG_IN, {"code": code_of()})
    browser.post("/account/reauthenticate", {"password": PASSWORD})
    tokens.start_family(user=user, now=user.credentials_changed_at, second_factor=True)
    assert "The old codes stop working" in browser.get(f"{HOME}/codes/new").content.decode()
    new = codes_on(browser.post(f"{HOME}/codes/new"))
    assert len(set(new) - set(old)) == 10
    assert browser_of(user).post(LOG_IN, {"code": old[0]}).status_code == 200
    assert browser_of(user).post(LOG_IN, {"code": new[0]}).status_code == 302
    assert browser.get("/account/email").status_code == 200, "the session keeps the factor"
    assert TokenFamily.objects.get().revoked_at is not None, "what was made with an old one may be another's"
    assert json.loads(OutgoingMail.objects.get().context)["event"] == "codes_created"
    entry = AccountHistory.objects.get(account=user)
    assert (entry.action, entry.credential) == ("account.second_factor_added", "session")


def test_adding_another_second_factor_preserves_recovery_codes(transactional_db, user):
    browser = reauthenticated(user)
    TestPasskeys().add(browser, SoftKey())
    kept = {*user.recovery_codes.values_list("hash", flat=True)}
    page = browser.get(f"{HOME}/app/add").content.decode()
    code = code_of(secret_on(page))
    assert browser.post(f"{HOME}/app/add", {"code": code}).headers["Location"] == HOME
    assert {*user.recovery_codes.values_list("hash", flat=True)} == kept
    browser.post(f"{HOME}/app/remove")
    assert user.recovery_codes.count() == 10, "the passkey is left"


def test_an_invalid_passkey_is_rejected(user, no_rate_limits):
    browser = reauthenticated(user)
    forms = [{"credential": text.encode("utf-8", "replace").decode(), "name": "n"} for text in NO_PASSKEYS]
    for fields in forms:
        browser.get(f"{HOME}/passkeys/add")
        assert browser.post(f"{HOME}/passkeys/add", fields).status_code in {200, 400}
        assert not Authenticator.objects.exists()
    authenticator_of(user)
    other = browser_of(user)
    browser.post(CONFIRM, {"code": code_of()})
    for fields in forms:
        other.get(LOG_IN)
        assert other.post(LOG_IN, fields).status_code in {200, 400}
        assert other.get("/account/").status_code == 302
        assert browser.post(f"{HOME}/passkeys/confirm", fields).status_code in {302, 400}


class TestPasskeys:
    @pytest.fixture
    def key(self):
        return SoftKey()

    def options(self, page):
        return json.loads(re.search(r'id="js_data" type="application/json">(.*?)</script>', page.content.decode())[1])

    def add(self, browser, key, name="my phone"):
        options = self.options(browser.get(f"{HOME}/passkeys/add", secure=True))["creation_options"]
        assert options["publicKey"]["rp"]["name"] == "Credit Platform"
        fields = {"name": name, "credential": json.dumps(key.create(options))}
        return browser.post(f"{HOME}/passkeys/add", fields, secure=True)

    def answer(self, browser, key, path):
        options = self.options(browser.get(path, secure=True))["request_options"]
        return {"credential": json.dumps(key.get(options))}

    def test_passkey_can_be_added_used_to_log_in_and_removed_by_its_account(self, user, stranger, key):
        browser, earlier = reauthenticated(user), reauthenticated(user)
        assert len(codes_on(self.add(browser, key))) == 10
        other = browser_of(user)
        answers = self.answer(other, key, LOG_IN)
        assert other.post(LOG_IN, answers, secure=True).headers["Location"] == "/account/"
        assert other.get("/account/email").status_code == 200, "it is a second factor like any other"
        assert "my phone" in other.get(HOME).content.decode()
        earlier_answers = self.answer(earlier, key, f"{HOME}/passkeys/confirm")
        assert earlier.post(f"{HOME}/passkeys/confirm", earlier_answers, secure=True).status_code == 302
        assert earlier.get("/account/email").status_code == 200, "it confirms a session"
        passkey = Authenticator.objects.get(type="webauthn")
        strangers = reauthenticated(stranger)
        assert strangers.post(f"{HOME}/passkeys/{passkey.pk}/remove").status_code == 404
        assert "my phone" not in strangers.get(HOME).content.decode()
        assert browser.post(f"{HOME}/passkeys/{passkey.pk}/remove").headers["Location"] == f"{HOME}/passkeys"
        assert not Authenticator.objects.exists()

    def test_passkey_response_of_another_key_or_account_or_site_is_rejected(self, user, stranger, key):
        self.add(reauthenticated(user), key)
        self.add(reauthenticated(stranger), theirs := SoftKey())
        browser = browser_of(user)
        elsewhere = SoftKey(origin="https://testserver.evil.example", private=key.private, identifier=key.identifier)
        impostor = SoftKey(identifier=key.identifier)
        for wrong in (theirs, elsewhere, impostor):
            assert browser.post(LOG_IN, self.answer(browser, wrong, LOG_IN), secure=True).status_code == 200
        assert browser.get("/account/").status_code == 302
        answers = self.answer(browser, key, LOG_IN)
        second = browser_of(user)
        second.get(LOG_IN, secure=True)
        assert second.post(LOG_IN, answers, secure=True).status_code == 200, "the challenge of another session"
        assert browser.post(LOG_IN, answers, secure=True).status_code == 302

    def test_passkey_above_the_limit_of_20_per_account_is_rejected(self, user, key):
        browser = reauthenticated(user)
        self.add(browser, key)
        data = Authenticator.objects.get(type="webauthn").data
        for _ in range(19):
            Authenticator.objects.create(user=user, type="webauthn", data=data)
        answer = self.add(browser, SoftKey())
        assert "at most 20" in answer.content.decode()


def test_concurrent_additions_store_one_authenticator_app(committed, user):
    browsers = [reauthenticated(user) for _ in range(3)]
    pages = [browser.get(f"{HOME}/app/add").content.decode() for browser in browsers]
    codes = [code_of(secret_on(page)) for page in pages]

    def add(browser, code):
        return lambda: browser.post(f"{HOME}/app/add", {"code": code}).status_code

    answers = run_concurrently(*map(add, browsers, codes))
    assert 500 not in answers
    assert Authenticator.objects.filter(type="totp").count() == 1


def test_second_factor_pages_redirect_anonymous_visitors_to_the_log_in():
    for path in (HOME, CONFIRM, *CHANGES):
        assert Client().get(path).headers["Location"].startswith("/account/login?next="), path
    assert Client().get(LOG_IN).headers["Location"] == "/account/login", "it is for who has given the password"


def test_only_passkey_pages_run_a_script(user):
    browser = reauthenticated(user)
    for path in (HOME, f"{HOME}/app/add"):
        assert "<script" not in browser.get(path).content.decode()
    authenticator_of(user)
    assert "<script" not in browser_of(user).get(LOG_IN).content.decode()
