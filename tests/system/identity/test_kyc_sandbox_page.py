"""The hosted page of the sandbox's identity verification, in a real browser."""

import pytest

from identity.kyc.models import KycVerification
from tests.api import client_of
from tests.identity.banking import start
from tests.system.browsing import fits, open_page, store_screenshot

pytestmark = pytest.mark.django_db


@pytest.fixture
def browser(live_server, settings, chromium):
    """A browser, with a live server at the configured base URL."""
    settings.BASE_URL = f"{live_server.url}/v1"
    return chromium


def test_a_sandbox_identity_verification_is_completed_with_the_keyboard(browser, transactional_db, user):
    verification = start(client_of(user), {"redirect_uri": "https://shop.example/back"})
    page = open_page(browser, verification["hosted_url"], java_script_enabled=False)
    store_screenshot(page, "verification-open")
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowDown")  # from "pass" to "fail"
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Tab")
    store_screenshot(page, "verification-chosen")
    page.keyboard.press("Enter")
    page.wait_for_selector("[role=status]")
    assert page.inner_text("[role=status]") == "Its status is pending review."
    assert page.get_attribute("a.button", "href") == "https://shop.example/back"
    store_screenshot(page, "verification-finished")
    assert KycVerification.objects.get(pk=verification["verification_id"]).status == "pending_review"
    assert page.complaints == []


def test_the_sandbox_verification_page_fits_a_phone_and_requires_a_choice(browser, transactional_db, user):
    verification = start(client_of(user))
    page = open_page(browser, verification["hosted_url"], viewport={"width": 360, "height": 740}, color_scheme="dark")
    store_screenshot(page, "verification-phone")
    assert fits(page)
    assert page.locator("label").first.evaluate("label => label.getBoundingClientRect().height") >= 44
    page.click("button")  # without a choice, the browser does not submit the form
    assert page.locator("form").count() == 1
    page.check("input[value=pass]")
    page.click("button")
    page.wait_for_selector("[role=status]")
    assert page.complaints == []
