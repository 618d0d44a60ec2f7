"""An applicant's pages, from the mailed link to uploads, terms and the agreement: three widths, without scripts."""

import pytest
from django.db import transaction
from django.utils import timezone

from config.core.lifecycle import Actor
from credit.documents.requests import move_to_pending_documents
from credit.models import Application, DocumentFile
from identity.accounts.addresses import confirm
from tests.credit.document_support import PDF
from tests.credit.notices.test_table import REPORT, SCORE
from tests.credit.notices.world import WHOLE, World
from tests.credit.terms.lending import applied, approve, lender_of, listed
from tests.factories import PASSWORD
from tests.system.identity.test_account_browser import EMAIL, Person, mailed_path

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
    person = Person(chromium, live_server)
    person.open(mailed_path(), "my-log-in")
    person.send("my-documents", login=EMAIL, password=PASSWORD)
    file = {"name": "payslip.pdf", "mimeType": "application/pdf", "buffer": PDF}
    person.page.set_input_files("[type=file]", file)
    press(person, "Upload", "my-handed-in")
    assert DocumentFile.objects.get().document.application_id == application.pk
    press(person, "Send to the lender", "my-sent-back")
    assert approve(lender_of(offer), application).status_code == 200
    person.open(mailed_path(), "my-approved")
    person.page.click("text=Check the terms and decide")
    person.check_page("my-accept")
    person.page.click("text=Read and print the agreement")
    person.check_page("my-agreement-before")
    person.page.click("text=Check before you accept")
    check_decision(person)
    press(person, "Accept this loan", "my-accepted")
    assert Application.objects.get().accepted_at is not None
    person.page.click("text=Read and print the agreement")
    person.check_page("my-agreement")
    person.open("/my", "my-list")
    person.open("/my/consent", "my-consent")


def test_an_applicant_applies_in_a_browser(chromium, live_server, settings, user):
    settings.REVIEW_POLICY = "reviewed"
    offer = listed(application_schema=SCHEMA, description="For what you plan.")
    person = Person(chromium, live_server)
    person.open("/account/login", "my-log-in")
    person.send("account", login=user.username, password=PASSWORD)
    person.open("/my", "my-empty")
    person.open("/my/apply", "my-offers")
    person.page.click("text=Apply >> nth=-1")
    person.check_page("my-form")
    person.page.fill("#id_data-amount_cents", "8,000")
    press(person, "Save as a draft", "my-draft")
    person.page.click("text=Change the application")
    with person.page.expect_navigation():
        person.page.get_by_role("button", name="Check before sending").click()
    assert all("400" in words or words == person.page.url for words in person.complaints)
    person.complaints.clear()
    person.check_page("my-form-errors")
    assert person.page.input_value("#id_data-amount_cents") == "8000.00"
    person.page.select_option("#id_data-term_months", "24")
    person.page.get_by_label("No").check()
    for name, typed in TYPED.items():
        person.page.fill(f"[id='id_first-{name}']", typed)
    press(person, "Check before sending", "my-check")
    press(person, "Send to the lender", "my-sent")
    application = Application.objects.get()
    assert (application.status, application.offer_id) == ("submitted", offer.pk)
    assert application.application_data == {"amount_cents": 800_000, "term_months": 24, "owns_home": False}


@pytest.mark.parametrize("language", ["en", "es"])
def test_an_applicant_reads_notices_and_requests_reconsideration(chromium, live_server, settings, user, language):
    settings.REVIEW_POLICY, settings.REPORTS = "reviewed", "off"
    offer, person = None, Person(chromium, live_server)
    person.open("/account/login", "my-log-in")
    person.send("account", login=user.username, password=PASSWORD)
    for name, options in NOTICES.items():
        who = {**WHOLE, "language": language, "legal_name": LONG_NAME}
        world = World(offer, person=who, start=timezone.now(), consumer=user)
        offer = world.offer
        world.submit(0)
        getattr(world, name)(0, **options)
        world.issue(0)
        person.open(f"/my/applications/{world.pk}", f"my-{name}-{language}")
        person.page.click("section a[href*=notices]")
        person.check_page(f"my-notice-{name}-{language}")
        assert person.page.locator("html").get_attribute("lang") == language
        if name == "reject":
            person.open(f"/my/applications/{world.pk}", f"my-{name}-{language}")
            person.page.fill("#statement", "I have a raise.")
            button = {"en": "Send the request", "es": "Enviar la petición"}[language]
            press(person, button, f"my-asked-again-{language}")


def check_decision(person):
    """Check that both buttons look the same, that neither is focused, and that Enter decides nothing."""
    buttons = [person.page.get_by_role("button", name=name) for name in ("Accept this loan", "Decline")]
    person.page.set_viewport_size({"width": 375, "height": 900})
    looks = [button.evaluate(_LOOK) for button in buttons]
    assert looks[0] == looks[1]
    assert person.page.evaluate("document.activeElement.tagName") == "BODY"
    address = person.page.url
    for key in ("Enter", "Tab", "Enter"):  # the last Enter opens the first link of the page, which leads back
        person.page.keyboard.press(key)
        if key == "Enter":
            assert Application.objects.get().accepted_at is None
            assert Application.objects.get().status == "approved"
    person.page.wait_for_url("**/my")
    person.page.goto(address)


def press(person, name, shown):
    """Focus a button with the keyboard, and press it with Enter."""
    person.page.get_by_role("button", name=name).focus()
    with person.page.expect_navigation():
        person.page.keyboard.press("Enter")
    person.check_page(shown)
