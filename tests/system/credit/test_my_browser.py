"""An applicant's pages in a real browser: application, uploads, terms, agreement, and notices."""

import re

import pytest
from django.db import transaction
from django.utils import timezone
from playwright.sync_api import expect

from config.core.lifecycle import Actor
from credit.documents.requests import move_to_pending_documents
from credit.models import Application, DocumentFile
from identity.accounts.addresses import confirm
from tests.credit.document_support import PDF
from tests.credit.notices.test_table import REPORT, SCORE
from tests.credit.notices.world import WHOLE, World
from tests.credit.terms.lending import applied, approve, lender_of, listed
from tests.factories import PASSWORD
from tests.system.identity.test_account_browser import EMAIL, BrowserUser, mailed_path

LONG_NAME = "Wolfeschlegelsteinhausenbergerdorff"  # 35 letters
_LOOK = """button => {
  const style = getComputedStyle(button);
  const names = ["color", "backgroundColor", "borderTopColor", "borderTopWidth", "fontWeight", "fontSize", "width"];
  return names.map(name => style[name]);
}"""
SCHEMA = {
    "type": "object",
    "properties": {
        "owns_home": {"type": "boolean", "title": "Do you own your home?"},
        "income_cents": {"type": "integer", "title": "Income a year", "description": "Before tax."},
        "purpose": {"type": "string", "enum": ["Car", "Home"]},
        "story": {"type": "string", "title": "Anything else?"},
    },
    "required": ["owns_home"],
}
TYPED = {
    "legal_name": "Ada Example", "address.line1": "1 Main St", "address.city": "Portland",
    "address.postal_code": "97201",
}  # fmt: skip
NOTICES = {
    "approve": {},
    "counter": {"with_denial": True},
    "request_documents": {},
    "reject": {"consumer_report": REPORT | SCORE},
}


def test_an_applicant_uploads_documents_and_accepts_the_terms(chromium, live_server, settings, user):
    settings.REVIEW_POLICY = "reviewed"
    confirm(user, EMAIL)
    offer = listed()
    application = applied(offer, consumer=user)
    owner = Actor(user=offer.provider.owner, credential="test")
    with transaction.atomic():
        move_to_pending_documents(
            str(application.pk), names=["Payslip"], reason="The last.", actor=owner, now=timezone.now()
        )
    browser_user = BrowserUser(chromium, live_server)
    browser_user.open(mailed_path())
    browser_user.send("my-documents", login=EMAIL, password=PASSWORD)
    file = {"name": "payslip.pdf", "mimeType": "application/pdf", "buffer": PDF}
    browser_user.page.set_input_files("[type=file]", {**file, "buffer": b""})
    press(browser_user, "Upload", "my-upload-rejected")
    browser_user.page.set_input_files("[type=file]", file)
    press(browser_user, "Upload", "my-uploaded")
    assert DocumentFile.objects.get().document.application_id == application.pk
    press(browser_user, "Send the documents to the lender", "my-sent-back")
    assert approve(lender_of(offer), application).status_code == 200
    browser_user.open(mailed_path(), "my-approved")
    browser_user.page.click("text=Check the terms and decide")
    browser_user.check_page("my-accept")
    browser_user.page.click("text=Read and print the agreement")
    browser_user.check_page("my-agreement-before")
    browser_user.page.click("text=Check before you accept")
    check_decision(browser_user)
    press(browser_user, "Decline", "my-decline")
    browser_user.page.click("text=Back to the terms")
    with browser_user.page.expect_navigation():
        browser_user.page.get_by_role("button", name="Accept this loan").click()
    assert all("400" in words or words == browser_user.page.url for words in browser_user.complaints)
    browser_user.complaints.clear()
    browser_user.check_page("my-accept-unchecked")
    box = browser_user.page.get_by_label("I have read the terms and the agreement")
    box.check()
    with browser_user.page.expect_navigation():
        box.press("Enter")
    assert Application.objects.get().accepted_at is None
    box.check()
    press(browser_user, "Accept this loan", "my-accepted")
    assert Application.objects.get().accepted_at is not None
    browser_user.page.click("text=Read and print the agreement")
    browser_user.check_page("my-agreement")
    browser_user.open("/my", "my-list")
    browser_user.open("/my/consent", "my-consent")


def test_an_applicant_corrects_and_submits_an_application_in_a_browser(chromium, live_server, settings, user):
    settings.REVIEW_POLICY = "reviewed"
    offer = listed(application_schema=SCHEMA, description="For what you plan.")
    browser_user = BrowserUser(chromium, live_server)
    browser_user.open("/my/apply", "my-offers-visitor")
    browser_user.page.fill("#id_amount", "8,000")
    press(browser_user, "Show the costs", "my-offers-error")
    browser_user.open("/my/apply?amount=8000&months=13", "my-offers-nearest")
    browser_user.page.select_option("#id_months", "24")
    press(browser_user, "Show the costs", "my-offers-costs")
    browser_user.page.click("text=Apply >> nth=-1")
    browser_user.check_page("my-offer-visitor")
    browser_user.page.click("main >> text=Log in to apply")
    browser_user.send("my-form", login=user.username, password=PASSWORD)
    assert browser_user.page.input_value("#id_data-amount_cents") == "8000.00"
    browser_user.page.fill("#id_first-legal_name", TYPED["legal_name"])
    press(browser_user, "Compute the installments", "my-form-estimate")
    assert browser_user.page.url.endswith("#installments")
    # The second click can abort the navigation of the first, so the test waits for the URL instead of a navigation.
    browser_user.page.get_by_role("button", name="Save as a draft").dblclick()
    expect(browser_user.page).to_have_url(re.compile("/my/applications/"), timeout=30_000)
    assert "#" not in browser_user.page.url
    browser_user.check_page("my-draft")
    assert Application.objects.count() == 1
    browser_user.page.click("text=Change the application")
    assert browser_user.page.input_value("#id_first-legal_name") == TYPED["legal_name"]
    browser_user.page.select_option("#id_data-term_months", "")
    with browser_user.page.expect_navigation():
        browser_user.page.get_by_role("button", name="Check before sending").click()
    assert all("400" in words or words == browser_user.page.url for words in browser_user.complaints)
    browser_user.complaints.clear()
    browser_user.check_page("my-form-errors")
    assert browser_user.page.input_value("#id_data-amount_cents") == "8000.00"
    browser_user.page.select_option("#id_data-term_months", "24")
    browser_user.page.get_by_label("No").check()
    for name, typed in TYPED.items():
        browser_user.page.fill(f"[id='id_first-{name}']", typed)
    browser_user.page.fill("[id='id_first-address.region']", "Oregon")
    press(browser_user, "Check before sending", "my-check")
    press(browser_user, "Send to the lender", "my-sent")
    application = Application.objects.get()
    assert (application.status, application.offer_id) == ("submitted", offer.pk)
    assert application.application_data == {"amount_cents": 800_000, "term_months": 24, "owns_home": False}


@pytest.mark.parametrize("language", ["en", "es"])
def test_an_applicant_reads_notices_and_requests_reconsideration(chromium, live_server, settings, user, language):
    settings.REVIEW_POLICY, settings.REPORTS = "reviewed", "off"
    offer, browser_user = None, BrowserUser(chromium, live_server, axe=language == "en")
    browser_user.open("/account/login")
    browser_user.send(login=user.username, password=PASSWORD)
    for name, options in NOTICES.items():
        identity = {**WHOLE, "language": language, "legal_name": LONG_NAME}
        world = World(offer, person=identity, start=timezone.now(), consumer=user)
        offer = world.offer
        world.submit(0)
        getattr(world, name)(0, **options)
        world.issue(0)
        browser_user.open(f"/my/applications/{world.pk}", f"my-{name}-{language}")
        browser_user.page.click("section a[href*=notices]")
        browser_user.check_page(f"my-notice-{name}-{language}")
        assert browser_user.page.locator("html").get_attribute("lang") == language
        if name == "reject":
            browser_user.open(f"/my/applications/{world.pk}", f"my-{name}-{language}")
            browser_user.page.fill("#statement", "I have a raise.")
            button = {"en": "Send the request", "es": "Enviar la petición"}[language]
            press(browser_user, button, f"my-reconsideration-{language}")


def check_decision(browser_user):
    """Check that both buttons have the same style, that neither is focused, and that Enter decides nothing."""
    buttons = [browser_user.page.get_by_role("button", name=name) for name in ("Accept this loan", "Decline")]
    browser_user.page.set_viewport_size({"width": 375, "height": 900})
    looks = [button.evaluate(_LOOK) for button in buttons]
    assert looks[0] == looks[1]
    assert browser_user.page.evaluate("document.activeElement.tagName") == "BODY"
    address = browser_user.page.url
    # The first link skips to the content, and the second opens the start page. The last Enter opens the link to /my.
    for key in ("Enter", "Tab", "Tab", "Tab", "Enter"):
        browser_user.page.keyboard.press(key)
        if key == "Enter":
            assert Application.objects.get().accepted_at is None
            assert Application.objects.get().status == "approved"
    browser_user.page.wait_for_url("**/my")
    browser_user.page.goto(address)


def press(browser_user, name, next_page):
    """Focus a button, press it with Enter, and check the next page."""
    browser_user.page.get_by_role("button", name=name).focus()
    with browser_user.page.expect_navigation():
        browser_user.page.keyboard.press("Enter")
    browser_user.check_page(next_page)
