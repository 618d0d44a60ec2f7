"""Test the mails to the applicant about the steps of an application."""

import json
from datetime import timedelta

import pytest
from allauth.account.models import EmailAddress
from django.utils import timezone

from config.mail.delivery import message_of
from config.mail.models import OutgoingMail
from credit.applications.services import expire_idle
from credit.core.figures import reference_of
from credit.models import Application
from identity.accounts.addresses import confirm
from tests.api import client_of
from tests.credit.terms.lending import accept_terms, applied, approve, lender_of, listed
from tests.credit.terms.test_agreement import CONTACT, RESIDENT
from tests.credit.terms.test_counteroffers import counter
from tests.credit.test_my_content import written
from tests.credit.test_my_pages import browser_of, press_button, upload_file
from tests.factories import UserFactory

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("reviewed")]
REJECTION = {"metadata": {"reasons": ["income_insufficient"]}}
SECRETS = ("Ada Example", "2 Main St", "97701", "ada@example.org", "income", "Income")


@pytest.fixture
def person():
    user = UserFactory()
    confirm(user, "ada@example.org")
    return user


def application_of(person, status="under_review", language="en", **columns):
    offer = listed()
    for name, value in CONTACT.items():
        setattr(offer.provider, name, value)
    offer.provider.save()
    application = applied(offer, consumer=person, status=status, **columns)
    return offer, written(application, [{**RESIDENT, "language": language}])


def mails():
    """Return the (subject, text) of each queued mail about an application, oldest first."""
    messages = [
        message_of(to=mail.recipient, template=mail.template, context=json.loads(mail.context), language=mail.language)
        for mail in OutgoingMail.objects.filter(template="application").order_by("pk")
    ]
    return [(message.subject, message.body) for message in messages]


def change(offer, application, to, **members):
    body = {"status": to, "updated_by": "x", **members}
    assert lender_of(offer).replace(f"/applications/{application.pk}/status", body).status_code == 200


def send(offer, application):
    press_button(application, "send")


def withdraw(offer, application):
    press_button(application, "withdraw")


def request_documents(offer, application):
    change(offer, application, "pending_documents", reason="A payslip.")


def send_documents(offer, application):
    body = {"names": ["Proof of my bankruptcy"], "reason": "Income"}
    assert lender_of(offer).send(f"/applications/{application.pk}/documents", body).status_code == 201
    upload_file(application)
    assert "The documents were sent to the lender." in press_button(application, "send")
    assert not [text for _subject, text in mails() if "bankruptcy" in text]


def reject(offer, application):
    change(offer, application, "rejected", **REJECTION)


def grant(offer, application):
    assert approve(lender_of(offer), application).status_code == 200


def offer_other_terms(offer, application):
    assert counter(lender_of(offer), application).status_code == 201


def accept(offer, application):
    grant(offer, application)
    assert accept_terms(client_of(application.consumer), application).status_code == 200


def accept_other_terms(offer, application):
    offer_other_terms(offer, application)
    assert accept_terms(client_of(application.consumer), application).status_code == 200


def decline(offer, application):
    grant(offer, application)
    browser_of(application.consumer).post(f"/my/applications/{application.pk}/accept", {"do": "decline", "sure": "yes"})


def decline_other_terms(offer, application):
    offer_other_terms(offer, application)
    offered = application.counteroffers.get()
    path = f"/applications/{application.pk}/counteroffers/{offered.pk}/decline"
    assert client_of(application.consumer).send(path, {}).status_code == 200


def withdraw_other_terms(offer, application):
    offer_other_terms(offer, application)
    path = f"/applications/{application.pk}/counteroffers/{application.counteroffers.get().pk}"
    assert lender_of(offer).remove(path).status_code in {200, 204}


def ask_again(offer, application):
    reject(offer, application)
    press_button(application, "ask_again", statement="I have a raise.")


def reopen(offer, application):
    reject(offer, application)
    change(offer, application, "under_review", reason="A new payslip.")


def expire(offer, application):
    request_documents(offer, application)
    assert expire_idle(now=timezone.now() + timedelta(days=31))["pending_documents"] == 1


STEPS = [
    (send, "Your application was sent to the lender", "The lender will review it.", True, "draft"),
    (withdraw, "Your application was withdrawn", "The application is closed.", False, "under_review"),
    (request_documents, "The lender requests documents", "Log in to see what the", True, "under_review"),
    (send_documents, "Your documents were sent to the lender", "The lender decides, or", False, "under_review"),
    (reject, "The lender decided on your application", "Log in to read the decision and its", False, "under_review"),
    (grant, "The lender decided on your application", "Accept or decline the terms.", True, "under_review"),
    (offer_other_terms, "The lender offers other terms", "Accept or decline the", True, "under_review"),
    (accept, "You accepted the offer", "The lender provides the credit under the agreement.", False, "under_review"),
    (accept_other_terms, "You accepted the offer", "The lender provides the credit under", False, "under_review"),
    (decline, "You declined the offer", "The application is closed.", False, "under_review"),
    (decline_other_terms, "You declined the counteroffer", "The lender decides, or requests", False, "under_review"),
    (withdraw_other_terms, "The lender withdrew its counteroffer", "The lender decides, or", False, "under_review"),
    (ask_again, "You requested reconsideration", "A reviewer reconsiders the decision.", True, "under_review"),
    (reopen, "Your application is under review again", "The lender decides, or requests", False, "under_review"),
    (expire, "Your application expired", "You can apply again.", False, "under_review"),
]


@pytest.mark.parametrize(
    ("do", "title", "step", "has_deadline", "status"), STEPS, ids=[row[0].__name__ for row in STEPS]
)
def test_each_status_change_sends_a_mail_with_lender_reference_amount_and_next_step(
    person, settings, do, title, step, has_deadline, status
):
    draft = {"submitted_at": None} if status == "draft" else {}
    offer, application = application_of(person, status, **draft)
    do(offer, application)
    subject, text = mails()[-1]
    assert subject == f"{title}: Cedar Bank, {reference_of(application.pk)}"
    assert f"Application: {reference_of(application.pk)}\nLender: Cedar Bank\nAmount: $" in text
    assert f"Next step: {step}" in text
    assert ("Deadline: " in text) is has_deadline
    assert f"\n{settings.APP_URL}/my/applications/{application.pk}\n" in text
    assert not [secret for secret in SECRETS if secret in subject + text]


def test_mail_about_a_counteroffer_has_the_offered_and_the_requested_amount(person):
    offer_other_terms(*application_of(person))
    assert "\nAmount: $6,000.00\nRequested amount: $10,000.00\n" in mails()[-1][1]


@pytest.mark.parametrize("accepting", [accept, accept_other_terms])
def test_acceptance_of_a_loan_sends_a_single_mail_with_the_first_payment(person, accepting):
    offer, application = application_of(person)
    accepting(offer, application)
    subjects = [subject.partition(":")[0] for subject, _ in mails()]
    offered = accepting is accept_other_terms
    first = "The lender offers other terms" if offered else "The lender decided on your application"
    assert subjects == [first, "You accepted the offer"]
    application.refresh_from_db()
    assert f"monthly payments of ${application.loan_terms.payment_cents / 100:,.2f}" in mails()[-1][1]


def test_mail_about_a_rejection_does_not_state_the_outcome(person):
    offer, application = application_of(person)
    reject(offer, application)
    ((subject, text),) = mails()
    assert not [word for word in ("reject", "declin", "reconsider") if word in (subject + text).lower()]


@pytest.mark.parametrize(
    ("language", "title", "rows"),
    [
        ("es", "Usted aceptó la oferta", ("Prestamista: Cedar Bank", "Siguiente paso: ", "Monto: ")),
        ("de", "Sie haben das Angebot angenommen", ("Kreditgeber: Cedar Bank", "Nächster Schritt: ", "Betrag: ")),
    ],
)
def test_application_mail_is_in_the_language_of_the_first_applicant(person, language, title, rows):
    offer, application = application_of(person, language=language)
    accept(offer, application)
    subject, text = mails()[-1]
    assert subject.startswith(title)
    assert not [row for row in rows if row not in text]
    assert "Next" not in text
    assert "payments" not in text


def test_new_draft_and_start_of_the_review_send_no_mail(person):
    offer, application = application_of(person, "submitted")
    change(offer, application, "under_review")
    draft = written(applied(offer, consumer=person, status="draft", submitted_at=None), [RESIDENT])
    press_button(draft, "withdraw")
    assert Application.objects.get(pk=draft.pk).status == "withdrawn"
    assert not mails()


@pytest.mark.parametrize("why", ["unwanted", "unconfirmed"])
def test_application_mail_is_not_sent_after_an_opt_out_or_to_an_unconfirmed_address(person, why):
    if why == "unwanted":
        browser_of(person).post("/account/", {"wants_mail": "no"})
    else:
        EmailAddress.objects.update(verified=False)
    offer, application = application_of(person)
    accept(offer, application)
    assert not OutgoingMail.objects.exists()


def test_application_mail_queued_by_the_previous_version_is_sent():
    message = message_of(to="a@example.org", template="application", context={"link": "https://x/my"}, language="en")
    assert message.subject.startswith("News about your application at ")
    assert "https://x/my" in message.body
