"""From the link of a mail to a document handed in, terms taken up and the agreement: three widths, without a script."""

import pytest
from django.db import transaction
from django.utils import timezone

from config.core.lifecycle import Actor
from credit.documents.requests import ask_for_documents
from credit.models import DocumentFile
from identity.accounts.addresses import confirm
from tests.credit.document_support import PDF
from tests.credit.terms.lending import applied, approve, lender_of, listed
from tests.factories import PASSWORD
from tests.system.identity.test_account_browser import EMAIL, WIDTHS, Person, mailed_path


@pytest.mark.parametrize("width", WIDTHS)
def test_a_person_answers_what_an_application_needs(chromium, live_server, settings, user, width):
    settings.REVIEW_POLICY = "reviewed"
    confirm(user, EMAIL)
    offer = listed()
    application = applied(offer, consumer=user)
    owner = Actor(user=offer.provider.owner, credential="test")
    with transaction.atomic():
        ask_for_documents(str(application.pk), names=["Payslip"], reason="The last.", actor=owner, now=timezone.now())
    person = Person(chromium, live_server, width)
    person.open(mailed_path(), "my-log-in")
    person.send("my-documents", login=EMAIL, password=PASSWORD)
    file = {"name": "payslip.pdf", "mimeType": "application/pdf", "buffer": PDF}
    person.page.set_input_files("[type=file]", file)
    press(person, "Hand in", "my-handed-in")
    assert DocumentFile.objects.get().document.application_id == application.pk
    press(person, "Send it back", "my-sent-back")
    assert approve(lender_of(offer), application).status_code == 200
    person.open(mailed_path(), "my-approved")
    press(person, "Take up these terms", "my-taken-up")
    person.page.click("text=The agreement, to read and to print")
    person.look("my-agreement")
    person.open("/my", "my-list")


def press(person, name, shown):
    """Find a button as who uses a keyboard does, and press it with the Enter key."""
    person.page.get_by_role("button", name=name).focus()
    with person.page.expect_navigation():
        person.page.keyboard.press("Enter")
    person.look(shown)
