"""The pages of `/account/` in a real browser, at three widths, in light and dark; axe checks every page."""

import re
from urllib.parse import urlsplit

import pytest
from django.core import mail
from django.db import transaction
from django.utils import timezone

from config.core.lifecycle import Actor
from config.mail.delivery import deliver_some
from credit.models import Application
from identity.access import consents as kinds
from identity.access.consents import Consent, give_consent
from identity.access.tokens import start_family
from identity.accounts.invitations import invite
from identity.accounts.models import Export
from tests.api import client_of
from tests.factories import PASSWORD, ApplicationFactory
from tests.identity.oauth_support import make_client
from tests.identity.test_invitations import token_of
from tests.second_factors import code_of
from tests.system.browsing import add_app, check_at_widths, collect_errors

EMAIL = "jane@example.org"
WIDTHS = (1280, 768, 320)
LOG_OUT = "form[action='/account/logout'] button"
# Pages of an application can use a script for the progress of an upload, and a script for a print button.
PASSWORDS_OF_CHANGE = ("oldpassword", "password1", "password2")
OTHER_SCRIPTS = "script:not([src*='/credit/upload.'], [src*='/credit/print.'], [src*='/identity/password.'])"


class BrowserUser:
    """A browser whose pages must have no OTHER_SCRIPTS. Clicks are in the window that the width check sets last.

    Pages without a name are not checked. Translated pages need no axe, only enough width for their texts.
    """

    def __init__(self, browser, server, *, axe=True, **options):
        self.axe = axe
        self.page = browser.new_context(base_url=server.url, **options).new_page()
        self.complaints = collect_errors(self.page)

    def open(self, path, name=""):
        self.page.goto(path)
        self.check_page(name)

    def check_page(self, name):
        self.page.locator("h1").first.wait_for()  # wait for the target of a redirect
        if not name:
            return
        assert self.page.locator("h1").count() == 1, name
        assert (self.page.locator(OTHER_SCRIPTS).count() == 0) == ("passkey" not in name), name
        assert self.complaints == [], name
        check_at_widths(self.page, f"account-{name}", WIDTHS, axe=self.axe)
        self.complaints.clear()  # axe adds styles, which the content security policy rejects

    def send(self, name="", **fields):
        """Fill in the form, submit it, and check the next page."""
        for field, value in fields.items():
            self.page.fill(f"[name={field}]", value)
        with self.page.expect_navigation():
            self.page.click("button.primary")
        self.check_page(name)

    def press(self, name, button="main form:not(.aside) button"):
        """Click a button that opens another page, and check that page."""
        with self.page.expect_navigation():
            self.page.click(button)
        self.check_page(name)


def mailed_path():
    """Send all mails; return the path of the link in the newest mail."""
    while any(deliver_some(now=timezone.now()).values()):
        pass
    return urlsplit(re.search(r"https?://\S+", mail.outbox[-1].body)[0]).path


def test_a_user_signs_up_requests_erasure_and_logs_out_in_a_browser(chromium, live_server, transactional_db):
    browser_user = BrowserUser(chromium, live_server)
    browser_user.open("/account/signup", "sign-up")
    browser_user.send("sign-up-rejected", email=EMAIL, password1="short")
    browser_user.send("sent", email=EMAIL, password1=PASSWORD)
    browser_user.open(mailed_path(), "confirm")
    browser_user.send("offers-after-sign-up")
    browser_user.open("/account/", "account-after-sign-up")
    browser_user.press("log-in", LOG_OUT)
    browser_user.send("log-in-rejected", login=EMAIL, password="wrong")
    browser_user.send("account", login=EMAIL, password=PASSWORD)
    for path in ("", "name", "password", "sessions", "privacy", "email"):
        browser_user.open(f"/account/{path}", path)
        assert browser_user.page.locator(LOG_OUT).is_visible(), path
    browser_user.send("again", email="new@example.org")
    browser_user.send("email-pending", password=PASSWORD)
    browser_user.open("/account/delete")
    assert browser_user.page.url.endswith("/account/privacy")
    for action in ("export", "erase", "keep"):
        if action == "erase":
            browser_user.page.locator("details:has(button[value=erase]) > summary").click()
        browser_user.press(f"privacy-{action}", f"button[value={action}]")
    browser_user.press("logged-out", LOG_OUT)
    assert browser_user.page.url.endswith("/account/login")
    browser_user.page.goto("/account/privacy")
    assert "/account/login" in browser_user.page.url


@pytest.mark.parametrize("language", ["en", "es"])
def test_a_user_exports_data_requests_erasure_and_revokes_consents_on_the_privacy_page(
    chromium, live_server, user, language
):
    now = timezone.now()
    with transaction.atomic():
        withdrawn = ApplicationFactory(consumer=user, status="withdrawn", submitted_at=now)
        is_open = ApplicationFactory(consumer=user, share=["bank", "identity"])
        start_family(user=user, now=now, client=make_client()[0], scope="offers:read applications:write")
        for kind, scope in (
            (kinds.BANK_LINK, "First Platypus Bank"), (kinds.ELECTRONIC_NOTICES, "notices about applications"),
            (kinds.CREDIT_REPORT, f"{withdrawn.pk}: credit report to lender 700"),
        ):  # fmt: skip
            give_consent(user.pk, kind, withdrawn.pk, scope=scope, now=now)
        for status in ("ready", "expired", "failed"):
            Export.objects.create(account=user, requested_by=user, language=language, status=status, created_at=now)
    body = {"status": "submitted", "updated_by": str(user.pk)}
    assert client_of(user).replace(f"/applications/{is_open.pk}/status", body).status_code == 200
    browser_user = BrowserUser(chromium, live_server, axe=language == "en", locale=language)
    browser_user.open("/account/login")
    browser_user.send(f"account-{language}", login=user.username, password=PASSWORD)
    browser_user.open("/account/privacy", f"privacy-obstacle-{language}")
    Application.objects.filter(pk=is_open.pk).update(status="withdrawn")
    browser_user.press(f"privacy-again-{language}", "button[value=export]")
    browser_user.send(f"privacy-proved-{language}", password=PASSWORD)
    browser_user.press(f"privacy-export-{language}", "button[value=export]")
    browser_user.page.locator("details:has(button[value=erase]) > summary").click()
    browser_user.press(f"privacy-erase-{language}", "button[value=erase]")
    while browser_user.page.locator("button[value^=end]").count():
        browser_user.press(f"privacy-ended-{language}", "button[value^=end] >> nth=0")
    assert not Consent.objects.active().exists()
    browser_user.press(f"privacy-keep-{language}", "button[value=keep]")


def test_checkbox_shows_the_passwords_of_a_form_until_it_is_sent(chromium, live_server, user):
    browser_user = BrowserUser(chromium, live_server)
    page, box = browser_user.page, browser_user.page.get_by_label("Show password")
    browser_user.open("/account/login")
    box.check()
    assert page.locator("[name=password]").get_attribute("type") == "text"
    page.evaluate("document.querySelector('main form').addEventListener('submit', event => event.preventDefault())")
    page.fill("[name=login]", user.username)
    page.fill("[name=password]", PASSWORD)
    page.click("main button.primary")
    assert (page.locator("[name=password]").get_attribute("type"), box.is_checked()) == ("password", False)
    browser_user.open("/account/login")
    browser_user.send(login=user.username, password=PASSWORD)
    browser_user.open("/account/password")
    box.check()
    assert [page.locator(f"[name={name}]").get_attribute("type") for name in PASSWORDS_OF_CHANGE] == ["text"] * 3
    box.uncheck()
    assert page.locator("[type=password]").count() == 3


def test_checkbox_for_passwords_is_hidden_without_javascript(chromium, live_server):
    browser_user = BrowserUser(chromium, live_server, java_script_enabled=False)
    browser_user.open("/account/login")
    assert not browser_user.page.get_by_text("Show password").is_visible()


def test_password_reset_and_invitation_can_be_completed_in_a_browser(chromium, live_server, user, settings):
    type(user).objects.filter(pk=user.pk).update(email=EMAIL)
    browser_user = BrowserUser(chromium, live_server)
    browser_user.open("/account/password/forgot", "forgot")
    browser_user.send("sent", email=EMAIL)
    browser_user.open(mailed_path(), "new-password")
    browser_user.send("new-password-done", password1="a new one, and long", password2="a new one, and long")
    settings.SIGN_UP = "invited"
    browser_user.open("/account/signup", "by-invitation")
    invite(actor=Actor.system("test"), email="j@example.org", role="developer", now=timezone.now())
    browser_user.open(f"/account/invitation/{token_of()}", "invitation")
    browser_user.send("invited-sign-up")
    browser_user.send("invitation-accepted", password1=PASSWORD)
    assert "You accepted the invitation of" in browser_user.page.inner_text("h1")


def test_a_user_adds_uses_and_removes_a_second_factor_in_a_browser(chromium, live_server, user):
    browser_user = BrowserUser(chromium, live_server)
    page = browser_user.page
    browser_user.open("/account/second-factor")
    browser_user.send("second-factor-none", login=user.username, password=PASSWORD)
    secret = add_app(page, PASSWORD, browser_user.check_page)
    page.context.clear_cookies()
    browser_user.open("/account/login")
    browser_user.send("code", login=user.username, password=PASSWORD)
    browser_user.send("code-rejected", code="12345")
    browser_user.send(code=code_of(secret, steps=1))
    browser_user.open("/account/second-factor/app/remove")
    browser_user.send("remove-app", password=PASSWORD)
    browser_user.open("/account/second-factor/codes/new", "new-codes")
    browser_user.press("recovery-codes")
    page.goto("/account/second-factor/app/remove")
    browser_user.press("second-factor-none")


def test_a_passkey_that_is_added_in_a_browser_can_be_used_to_log_in(chromium, live_server, user):
    """Uses the host name localhost, because browsers support passkeys without TLS only there."""
    browser_user = BrowserUser(chromium, live_server)
    page, server = browser_user.page, live_server.url.replace("127.0.0.1", "localhost")
    tools = page.context.new_cdp_session(page)
    tools.send("WebAuthn.enable")
    key = {"protocol": "ctap2", "transport": "internal", "hasUserVerification": True, "isUserVerified": True}
    options = {**key, "hasResidentKey": True, "automaticPresenceSimulation": True}
    tools.send("WebAuthn.addVirtualAuthenticator", {"options": options})

    def log_in(name):
        browser_user.open(f"{server}/account/login")
        browser_user.send(name, login=user.username, password=PASSWORD)

    log_in("")
    browser_user.open(f"{server}/account/second-factor/passkeys/add")
    browser_user.send("add-passkey", password=PASSWORD)
    page.fill("[name=name]", "My phone")
    browser_user.press("", "#mfa_webauthn_add")
    browser_user.open(f"{server}/account/second-factor", "second-factor-of-key")
    page.context.clear_cookies()
    log_in("code-or-passkey")
    browser_user.press("", "#passkey")
    browser_user.open(f"{server}/account/second-factor/passkeys/confirm", "confirm-by-passkey")
    browser_user.press("", "#mfa_webauthn_reauthenticate")
    page.goto(f"{server}/account/second-factor")
    with page.expect_navigation():
        page.click("text=Remove My phone")
    browser_user.check_page("remove-key")
