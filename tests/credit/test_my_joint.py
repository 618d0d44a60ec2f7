"""Test the declarations of two applicants: joint intent at the submission, and the agreement of both at acceptance."""

import re

import pytest

from credit.models import Acceptance
from tests.api import client_of
from tests.credit.applicants import PERSON
from tests.credit.terms.lending import applied, approve, lender_of
from tests.credit.test_my_content import written
from tests.credit.test_my_pages import page_of, press_button
from tests.credit.test_my_terms import TERMS, decide, terms_page

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("reviewed")]
INTENT = "We intend to apply for joint credit, and the second applicant agrees."
ACCEPTS = "We accept this joint credit, and the second applicant agrees to be bound by it."
BOX = re.compile(r'<label><input type="checkbox" name="joint" value="yes" required> ([^<]+)</label>')
ROSA = {**PERSON, "language": "en"}
SECOND = {**PERSON, "legal_name": "Ben Quillfeather"}


def test_submission_of_two_applicants_on_applicant_pages_requires_and_stores_their_joint_intent(offer):
    draft = written(applied(offer, status="draft", submitted_at=None), [ROSA, SECOND])
    assert BOX.findall(page_of(draft)) == [INTENT]
    assert "Confirm that both applicants agree." in press_button(draft, "send")
    assert draft.status == "draft"
    assert "The application was sent to the lender." in press_button(draft, "send", joint="yes")
    declared = draft.history.get(status="submitted").metadata
    assert declared == {"joint_credit": {"declaration": INTENT, "language": "en"}}
    assert BOX.findall(page_of(draft)) == []


def test_submission_of_a_single_applicant_on_applicant_pages_requires_no_declaration(offer):
    draft = written(applied(offer, status="draft", submitted_at=None), [ROSA])
    assert BOX.findall(page_of(draft)) == []
    assert "The application was sent to the lender." in press_button(draft, "send")
    assert draft.history.get(status="submitted").metadata is None


def test_acceptance_of_two_applicants_on_applicant_pages_requires_a_declaration_in_the_agreement(offer):
    application = written(applied(offer), [ROSA, SECOND])
    assert approve(lender_of(offer), application, TERMS).status_code == 200
    application.refresh_from_db()
    label = f"<span>I have read the terms and the agreement, and I accept them. {ACCEPTS}</span>"
    assert label in terms_page(application)
    sha256 = application.loan_terms.terms_sha256
    page = decide(application, "accept", terms_sha256=sha256, agreed="")
    assert "Select the checkbox to accept." in page
    assert "<h1>Check before you accept</h1>" in page
    assert application.accepted_at is None
    assert "You accepted the offer." in decide(application, "accept", terms_sha256=sha256)
    agreement = client_of(application.consumer).read(f"/applications/{application.pk}/agreement").json()
    assert agreement["members"][-1] == {"name": "joint_credit", "title": "Joint credit", "text": ACCEPTS}


def test_spanish_page_of_two_applicants_has_the_declaration_in_spanish(offer):
    draft = written(applied(offer, status="draft", submitted_at=None), [{**PERSON, "language": "es"}, SECOND])
    words = "Tenemos la intención de solicitar un crédito conjunto, y el segundo solicitante está de acuerdo."
    assert BOX.findall(page_of(draft)) == [words]


def test_acceptance_through_the_api_requires_no_declaration(offer):
    application = written(applied(offer), [ROSA, SECOND])
    assert approve(lender_of(offer), application, TERMS).status_code == 200
    application.refresh_from_db()
    body = {"terms_sha256": application.loan_terms.terms_sha256}
    path = f"/applications/{application.pk}/acceptance"
    assert client_of(application.consumer).send(path, body).status_code == 200
    names = {member["name"] for member in Acceptance.objects.get().members}
    assert "joint_credit" not in names
