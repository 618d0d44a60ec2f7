"""Test the sections of the application form: their order, their progress, and the data to share."""

import re

import pytest
from django.utils import timezone

from identity.bank.models import BankAccount, BankItem
from tests.api import client_of
from tests.credit.terms.lending import LOAN, applied, listed
from tests.credit.test_my_apply import ADA, ANSWERS, SCHEMA, TYPED, draft_of, send
from tests.credit.test_my_language import german, spanish
from tests.credit.test_my_pages import browser_of
from tests.factories import OfferFactory, UserFactory
from tests.identity.banking import read, start, submit_outcome
from tests.identity.test_account_consents import link_bank

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("reviewed")]
SHARING = "Data shared with the lender"


@pytest.fixture
def full_offer():
    return listed(application_schema=SCHEMA, applicant_requires=["date_of_birth"])


def form_of(offer, user, **headers):
    return " ".join(browser_of(user).get(f"/my/apply/{offer.pk}", headers=headers).content.decode().split())


def steps_in(page):
    """Return (anchor, title, progress) of each step."""
    steps = re.search(r'<ol class="steps">(.*?)</ol>', page)[1]
    return re.findall(r'<a href="#(\w+)">(.*?)</a> <span class="standing[ \w]*">(.*?)</span>', steps)


def states_in(page):
    return {anchor: state for anchor, _title, state in steps_in(page)}


def shared_in(page):
    return set(re.findall(r'name="share-share" value="(\w+)"', page))


class TestSteps:
    def test_application_form_has_a_numbered_section_with_the_fields_of_each_step(self, full_offer, user):
        page = form_of(full_offer, user)
        steps = steps_in(page)
        assert [anchor for anchor, _title, _state in steps] == ["loan", "answers", "applicant", "sending"]
        sections = re.findall(
            r'<section id="(\w+)"> <h2><span class="number">(\d)</span> <span id="\1-title">(.*?)</span></h2>', page
        )
        assert sections == [(anchor, str(at), title) for at, (anchor, title, _state) in enumerate(steps, start=1)]
        parts = re.split(r'<section id="', page)
        fields = {part.partition('"')[0]: set(re.findall(r'name="((?:data|first)-[^"]+)"', part)) for part in parts}
        assert fields["loan"] == {"data-amount_cents", "data-term_months"}
        assert fields["answers"] == {*ANSWERS} - fields["loan"]
        assert fields["applicant"] == {*ADA}
        without_answers = OfferFactory(provider=full_offer.provider, **LOAN)
        steps = steps_in(form_of(without_answers, user))
        assert [anchor for anchor, _title, _state in steps] == ["loan", "applicant", "sending"]

    def test_application_form_shows_whether_each_step_is_complete(self, full_offer, user):
        assert states_in(form_of(full_offer, user)) == {
            "loan": "To do", "answers": "To do", "applicant": "To do", "sending": "To do",
        }  # fmt: skip
        send(f"/my/apply/{full_offer.pk}", user, "save", **ANSWERS)
        page = " ".join(browser_of(user).get(f"/my/applications/{draft_of(user).pk}/edit").content.decode().split())
        assert states_in(page) | {"applicant": "To do"} == states_in(page)
        assert (states_in(page)["loan"], states_in(page)["answers"]) == ("Complete", "Complete")

    def test_application_form_marks_steps_with_invalid_fields(self, full_offer, user):
        path = f"/my/apply/{full_offer.pk}"
        _answer, page = send(path, user, **TYPED | {"first-phone": "1", "data-persons": "9"})
        assert states_in(page) == {
            "loan": "Complete", "answers": "Errors", "applicant": "Errors", "sending": "To do",
        }  # fmt: skip
        second = {"second-legal_name": "Bob Example", "second-phone": "1"}
        assert states_in(send(path, user, **TYPED | second)[1])["applicant"] == "Errors"
        # The United Arab Emirates have no postal codes.
        home = {"first-phone": "", "first-address.country": "AE", "first-address.postal_code": ""}
        _answer, page = send(path, user, **TYPED | home | {"data-amount_cents": "x"})
        assert states_in(page)["applicant"] == "Complete"

    def test_every_application_form_step_is_available_in_spanish_and_german(self, user):
        offer = listed(name="Solar")
        assert "Puede guardar un borrador" in spanish(form_of(offer, user, accept_language="es"))
        assert "Sie können einen Entwurf speichern" in german(form_of(offer, user, accept_language="de"))


class TestSharing:
    def test_applicant_can_share_only_a_linked_bank_and_a_submitted_identity_check(self, full_offer, user):
        page = form_of(full_offer, user)
        assert (shared_in(page), SHARING in page) == (set(), False)
        assert link_bank(client_of(user), user).status_code == 200
        page = form_of(full_offer, user)
        assert (shared_in(page), SHARING in page) == ({"bank"}, True)
        assert states_in(page)["sharing"] == "Optional"
        shown = start(client_of(user))
        assert shared_in(form_of(full_offer, user)) == {"bank"}
        submit_outcome(shown, "pass")
        assert read(client_of(user), shown["verification_id"]).json()["status"] == "verified"
        assert shared_in(form_of(full_offer, user)) == {"bank", "identity"}
        assert shared_in(form_of(full_offer, UserFactory())) == set()
        BankItem.objects.update(unlinked_at=timezone.now())
        BankAccount.objects.all().delete()
        assert shared_in(form_of(full_offer, user)) == {"identity"}

    def test_draft_form_retains_a_stored_choice_to_share_unavailable_data(self, full_offer, user):
        draft = applied(full_offer, consumer=user, status="draft", submitted_at=None, share=["bank"])
        page = browser_of(user).get(f"/my/applications/{draft.pk}/edit").content.decode()
        assert shared_in(page) == {"bank"}
        assert "checked" in re.search(r'<input type="checkbox" name="share-share"[^>]*>', page)[0]

    def test_application_form_accepts_a_choice_to_share_data_that_became_unavailable(self, full_offer, user):
        _answer, page = send(f"/my/apply/{full_offer.pk}", user, **TYPED | {"data-persons": "9", "share-share": "bank"})
        assert shared_in(page) == {"bank"}
        answer, _page = send(f"/my/apply/{full_offer.pk}", user, **TYPED | {"share-share": "bank"})
        assert answer.status_code == 302
        assert draft_of(user).share == ["bank"]
