"""The developer pages in a real browser, from an invitation to a verified webhook."""

import hashlib
import hmac
import re
from uuid import uuid4

from django.utils import timezone

from config.core.lifecycle import Actor
from config.ops.request_log import LOG
from config.webhooks.models import DELIVERED, Delivery
from config.webhooks.worker import Worker
from identity.accounts.invitations import invite
from tests.api import ApiClient, client_of
from tests.factories import PASSWORD
from tests.system.browsing import check_at_widths, collect_errors
from tests.system.identity.test_account_browser import mailed_path
from tests.webhooks.conftest import private_allowed, receiver  # noqa: F401  fixtures

CLICKS_MAX = 10
WIDTHS = (1440, 768, 375)


class Visitor:
    """A browser window that counts clicks and records errors."""

    def __init__(self, browser, server):
        self.page = browser.new_context(base_url=server.url, viewport={"width": 1440, "height": 900}).new_page()
        self.complaints, self.clicks = collect_errors(self.page), 0

    def click(self, role, name):
        self.clicks += 1
        with self.page.expect_navigation():
            self.page.get_by_role(role, name=name, exact=True).click()

    def check_page(self, name):
        page = self.page
        assert page.locator("h1").count() == 1, name
        assert page.locator("script:not([src*='/identity/copy.'])").count() == 0, name
        assert self.complaints == [], name
        check_at_widths(page, f"developers-{name}", WIDTHS)
        self.complaints.clear()  # axe adds styles, which the content security policy rejects


def test_an_invited_developer_verifies_a_webhook_within_ten_clicks(
    chromium, live_server, transactional_db, settings, receiver
):  # fmt: skip
    settings.SIGN_UP = "invited"
    invite(actor=Actor.system("test"), email="dev@example.org", role="developer", now=timezone.now())
    visitor = Visitor(chromium, live_server)
    page = visitor.page
    visitor.clicks += 1  # the link in the mail
    page.goto(mailed_path())
    visitor.click("button", "Accept")
    page.fill("[name=password1]", PASSWORD)
    visitor.click("button", "Sign up")
    visitor.click("link", "For developers (in English): keys, webhooks, requests")
    visitor.click("link", "Add a webhook")
    page.fill("[name=url]", receiver.url)
    visitor.click("button", "Add the webhook")
    secret = re.search(r"whsec_\S+", page.inner_text("main"))[0]
    visitor.click("button", "Send a test")
    Worker().run(once=True)
    page.wait_for_selector("#outcome:has-text('The receiver accepted the event: HTTP 200 OK')")  # without a click
    assert page.locator("#deliveries td strong").all_inner_texts() == [DELIVERED.capitalize()]
    (delivery,) = receiver.received
    signed = hmac.new(secret.encode(), delivery.body, hashlib.sha256).hexdigest()
    assert delivery.headers["X-Service-Signature"] == signed
    assert Delivery.objects.get().status == DELIVERED
    assert visitor.clicks <= CLICKS_MAX
    assert visitor.complaints == []


def test_every_developer_page_fits_the_screen_and_passes_axe(chromium, live_server, user, receiver):
    visitor = Visitor(chromium, live_server)
    page = visitor.page
    page.goto("/developers")
    page.fill("[name=login]", user.username)
    page.fill("[name=password]", PASSWORD)
    visitor.click("button", "Log in")
    visitor.check_page("overview-new")
    visitor.click("link", "API keys")
    page.fill("[name=name]", "My server")
    page.check("[name=reach][value=all]")
    visitor.click("button", "Create the key")
    key = re.search(r"ck_test_\w+", page.inner_text("main"))[0]
    visitor.check_page("key")
    visitor.click("link", "Back")
    page.click("text=Rotate")
    page.click("summary:has-text('Create a key')")
    visitor.check_page("keys")
    page.fill("#name", "Second server")
    visitor.complaints.clear()
    visitor.click("button", "Create the key")
    assert page.evaluate("document.activeElement.getAttribute('role')") == "alert"
    page.get_by_role("link", name="Scopes", exact=True).click()
    assert page.url.endswith("#scopes")
    assert visitor.complaints.pop(0).endswith("/developers/keys")  # the response has the status 400
    visitor.complaints.clear()
    visitor.check_page("keys-with-errors")
    visitor.click("link", "OAuth clients")
    page.fill("[name=name]", "My app")
    page.fill("[name=redirect_uris]", "https://app.example/callback")
    page.check("[value='offers:read']")
    visitor.click("button", "Register the client")
    visitor.click("link", "Back")
    visitor.check_page("clients")
    visitor.click("link", "My app")
    visitor.check_page("client")
    visitor.click("link", "Webhooks")
    page.fill("[name=url]", receiver.url)
    visitor.click("button", "Add the webhook")
    visitor.check_page("secret")
    visitor.click("button", "Send a test")
    Worker().run(once=True)
    page.wait_for_selector("#outcome:has-text('The receiver accepted the event')")
    visitor.click("button", "Create a new secret")
    visitor.click("link", "The webhook")
    visitor.check_page("webhook")
    visitor.click("link", "Webhooks")
    visitor.check_page("webhooks")
    visitor.click("link", "Events")
    visitor.check_page("events")
    visitor.click("link", "webhook.test")
    visitor.check_page("event")
    for _ in range(2):
        request_id = ApiClient(api_key=key).read(f"/applications/{uuid4()}").headers["X-Request-Id"]
    client_of(user).read("/applications")
    LOG.flush()
    visitor.click("link", "Requests")
    visitor.check_page("requests")
    page.fill("#request_id", request_id)
    visitor.click("button", "Filter")
    assert page.locator("tbody tr").count() == 1
    visitor.click("link", "GET /v1/applications/{application_id}")
    assert page.locator("dl code.copied").inner_text() == request_id
    visitor.check_page("request")
    visitor.click("link", "E4002")
    assert "/docs/errors/E4002" in page.url
