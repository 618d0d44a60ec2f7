"""Test the section of an application's page that states the next step, who acts, by when, and the next payment."""

import re
from datetime import timedelta
from html import unescape

import pytest
from django.utils import timezone

from credit.core import deadlines
from credit.core.figures import date_in_words, money
from credit.models import Clock
from tests.api import client_of
from tests.credit.document_support import with_documents
from tests.credit.terms.lending import LINE, accept_terms, applied, approve, lender_of, listed
from tests.credit.terms.test_agreement import CONTACT
from tests.credit.terms.test_counteroffers import counter
from tests.credit.test_my_content import living_in, written
from tests.credit.test_my_language import speaking
from tests.credit.test_my_pages import browser_of, page_of, press_button
from tests.factories import UserFactory

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("reviewed")]
ZONE = "America/Los_Angeles"
REJECTED = {"metadata": {"reasons": ["income_insufficient"]}}


def sent(status="under_review", language="en", offer=None, **columns):
    offer = offer or listed()
    for name, value in CONTACT.items():
        setattr(offer.provider, name, value)
    offer.provider.save()
    persons = [{**person, "language": language} for person in living_in("OR")]
    return offer, written(applied(offer, status=status, **columns), persons)


def steps_of(application):
    """Return the rows of the section as a dictionary."""
    title = "(?:What happens next|Wie es weitergeht|Qué ocurre ahora)"
    section = re.search(f"<h2>{title}</h2>.*?</table>", page_of(application))[0]
    rows = re.findall(r'<th scope="row">(.*?)</th><td>(.*?)</td>', section)
    return {name: " ".join(unescape(re.sub(r"<[^>]+>", " ", value)).split()) for name, value in rows}


def change(offer, application, to, **members):
    body = {"status": to, "updated_by": "x", **members}
    assert lender_of(offer).replace(f"/applications/{application.pk}/status", body).status_code == 200
    application.refresh_from_db()


def after(application, days):
    return deadlines.in_words(application.updated_at + timedelta(days=days), ZONE)


def test_next_step_of_an_incomplete_draft_is_to_complete_the_draft():
    _, application = sent("draft", submitted_at=None, data=None)
    words = "Complete and check the application, then send it to the lender."
    assert steps_of(application)["Next step"] == words
    words = "Check the application, then send it to the lender."
    assert f"<br>{words} Do this by" in browser_of(application.consumer).get("/my").content.decode()


def test_next_step_of_a_draft_or_document_request_shows_its_expiry_as_deadline():
    _, application = sent("draft", submitted_at=None)
    assert steps_of(application) == {
        "Next step": "Check the application, then send it to the lender.",
        "Who acts": "You",
        "Deadline": after(application, 30),
    }
    application = written(with_documents(UserFactory()), living_in("OR"))
    steps = steps_of(application)
    assert (steps["Who acts"], steps["Deadline"]) == ("You", after(application, 30))


@pytest.mark.parametrize("status", ["draft", "pending_documents", "approved", "submitted", "rejected"])
def test_application_list_shows_the_deadline_of_each_application_that_waits_for_the_applicant(status):
    _, application = sent(status)
    browser = browser_of(application.consumer)
    is_due = status in {"draft", "pending_documents", "approved"}
    assert (f"Do this by {after(application, 30)}." in browser.get("/my").content.decode()) is is_due
    speaking(application)
    assert ("Hágalo a más tardar el" in browser.get("/my").content.decode()) is is_due


@pytest.mark.parametrize("status", ["submitted", "under_review"])
def test_next_step_of_a_submitted_application_is_the_decision_by_the_notice_deadline(status):
    _, application = sent(status)
    assert steps_of(application)["Deadline"] == "Usually within 30 days after the application was sent"
    clock = Clock.start(application, Clock.APPLICATION, now=timezone.now())
    steps = steps_of(application)
    assert (steps["Who acts"], steps["Deadline"]) == ("The lender", deadlines.in_words(clock.due_at, ZONE))
    assert steps["Contact"].split() == ["Cedar", "Bank", "+15035550100"]
    clock.due_at -= timedelta(days=31)
    clock.save()
    words = deadlines.in_words(clock.due_at, ZONE)
    assert steps_of(application)["Deadline"] == f"{words}. This date has passed: contact the lender."


def test_next_step_of_an_approval_or_counteroffer_is_its_acceptance_by_the_expiry():
    offer, application = sent()
    assert counter(lender_of(offer), application).status_code == 201
    steps, offered = steps_of(application), application.counteroffers.get()
    assert (steps["Who acts"], steps["Deadline"]) == ("You", deadlines.in_words(offered.expires_at, ZONE))
    offer, application = sent(offer=offer)
    assert approve(lender_of(offer), application).status_code == 200
    application.refresh_from_db()
    assert steps_of(application) == {
        "Next step": "Accept or decline the terms.",
        "Who acts": "You",
        "Deadline": after(application, 30),
        "Contact": "Cedar Bank +15035550100",
    }


def test_next_step_of_an_approval_after_its_first_payment_date_is_a_new_decision_by_the_lender(monkeypatch):
    offer, application = sent()
    first = timezone.now().date() + timedelta(days=5)
    terms = {"amount_cents": 1_000_000, "rate_percent": 7.5, "term_months": 24, "first_payment_on": first.isoformat()}
    assert approve(lender_of(offer), application, terms).status_code == 200
    days_later = timezone.now() + timedelta(days=7)
    monkeypatch.setattr(timezone, "now", lambda: days_later)
    steps = steps_of(application)
    assert "The lender must decide again." in steps["Next step"]
    assert steps["Who acts"] == "The lender"
    assert "Deadline" not in steps


def test_next_step_of_an_accepted_loan_is_the_first_or_the_next_payment(monkeypatch):
    offer, application = sent()
    assert approve(lender_of(offer), application).status_code == 200
    assert accept_terms(client_of(application.consumer), application).status_code == 200
    schedule = client_of(application.consumer).read(f"/applications/{application.pk}/agreement").json()["schedule"]
    application.refresh_from_db()
    terms = application.loan_terms
    steps = steps_of(application)
    first = f"{money(terms.payment_cents)} on {date_in_words(timezone.datetime.fromisoformat(schedule[0]['due_on']))}"
    assert steps["First payment"] == first
    assert steps["Next step"] == "The lender provides the credit under the agreement."
    assert (steps["Who acts"], steps["Deadline"]) == ("The lender", "The lender sets the day.")
    assert "+15035550100" in steps["Contact"]
    days_later = timezone.now() + timedelta(days=40)
    monkeypatch.setattr(timezone, "now", lambda: days_later)
    later = steps_of(application)
    assert "First payment" not in later
    assert later["Next payment"].startswith(f"{money(terms.payment_cents)} on ")


def test_next_step_of_an_accepted_line_of_credit_contains_no_payment():
    offer, application = sent(offer=listed(**LINE), data={"amount_cents": 500_000})
    assert approve(lender_of(offer), application, {"rate_percent": 9.9}).status_code == 200
    assert accept_terms(client_of(application.consumer), application).status_code == 200
    assert not {"First payment", "Next payment"} & {*steps_of(application)}


def test_next_step_of_a_rejected_application_is_a_reconsideration_request_without_a_deadline():
    offer, application = sent()
    change(offer, application, "rejected", **REJECTED)
    steps = steps_of(application)
    assert (steps["Who acts"], steps["Deadline"]) == ("You", "The request has no deadline.")
    press_button(application, "ask_again", statement="I have a raise.")
    request = application.review_requests.get()
    steps = steps_of(application)
    assert steps["Who acts"] == "A reviewer who had no part in the decision"
    assert steps["Deadline"] == deadlines.in_words(request.due_at, ZONE)


def test_next_step_of_an_ended_application_has_no_actor_and_no_deadline():
    offer = listed()
    for status in ("withdrawn", "expired"):
        assert {*steps_of(sent(status, offer=offer)[1])} == {"Next step", "Contact"}


def test_next_step_section_is_in_the_language_of_the_applicant():
    offer = listed()
    for language, names in (("es", "Siguiente paso Quién actúa"), ("de", "Nächster Schritt Wer handelt")):
        steps = steps_of(sent(language=language, offer=offer)[1])
        assert " ".join([*steps][:2]) == names
        assert not re.search(r"\b(the|within|Usually)\b", " ".join([*steps, *steps.values()]))
