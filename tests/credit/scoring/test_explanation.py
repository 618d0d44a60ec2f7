"""Test the explanation of a decision, the automation of an offer, and the pages of both."""

import re
from html import unescape

import pytest
from django.utils import timezone, translation

from credit.core import rights
from credit.core.applicants import Applicants
from credit.core.facts import PERSON as PERSON_FACTS
from credit.core.facts import catalogue
from credit.core.jurisdictions import JURISDICTIONS
from credit.models import Score, ScoreFacts
from credit.my import rights_pages
from credit.my.content import title_of
from credit.review.automatic import decide_scored
from tests.api import assert_error, client_of
from tests.credit.applicants import PERSON
from tests.credit.eu.offers import EU_TERMS
from tests.credit.scoring.making import join
from tests.credit.scoring.submitting import SAYS_POOR, SAYS_SO_SO, draft_for, scored_offer, submit, verify
from tests.credit.support import make_reviewer, move
from tests.credit.test_my_pages import browser_of
from tests.factories import ApplicationFactory, OfferFactory, UserFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def offer(db):
    return scored_offer()[0]


@pytest.fixture
def declined(offer, user, api):
    """Return an application that the score declined and a reviewer rejected."""
    verify(user)
    application = draft_for(offer, user, SAYS_POOR)
    assert submit(api, application).status_code == 200
    move(client_of(make_reviewer()), application, "under_review")
    rejection = {"metadata": {"reasons": ["income_insufficient"]}}
    assert move(client_of(make_reviewer()), application, "rejected", **rejection).status_code == 200
    return application


def read(api, application, language="en"):
    response = api.read(f"/applications/{application.pk}/explanation?language={language}")
    assert response.status_code == 200, response.content
    return response.json()


class TestExplanation:
    def test_assisted_rejection_explains_each_input_with_source_and_points(self, api, declined):
        body = read(api, declined)
        assert (body["automated"], body["outcome"]) == ("assisted", "rejection")
        assert body["reasons"] == ["Income insufficient for amount of credit requested"]
        assert "with the score as a proposal" in body["decided_by"]
        income = body["inputs"][0]
        assert (income["points"], income["baseline"], income["range"]) == (20, 120, "less than $1,500.00")
        assert income["facts"][0] | {"as_of": None} == {
            "name": "application_data.monthly_income_cents", "value": 140_000, "source": "applicant",
            "source_text": "The applicant claims it.", "as_of": None,
        }  # fmt: skip
        score = Score.objects.get()
        assert [each["points"] for each in body["inputs"] if each["points"] is not None] == [
            points for _, _, points, _ in score.points
        ]
        assert body["score"]["total"] == score.total
        assert body["changes"]
        assert body["notice_days"] == 30
        assert body["can_do"]

    def test_explanation_of_an_unscored_decision_states_that_people_decided(self, api, user, reviewed):
        application = ApplicationFactory(consumer=user, status="under_review")
        move(client_of(make_reviewer()), application, "rejected", metadata={"reasons": ["no_credit_file"]})
        body = read(api, application)
        assert (body["automated"], body["score"], body["inputs"], body["changes"]) == ("none", None, None, None)
        assert body["decided_by"] == "A reviewer of the lender decided."
        assert body["reasons"] == ["No credit file"]

    def test_explanation_offers_to_report_a_wrong_value_while_corrections_are_accepted(self, api, offer, user):
        application = draft_for(offer, user, SAYS_SO_SO)
        submit(api, application)
        unscored = ApplicationFactory(consumer=user, status="submitted", application_data={"income": 5})
        for waiting in (application, unscored):
            assert "Report a wrong value" in [sentence[:20] for sentence in read(api, waiting)["can_do"]]
        body = read(api, application)
        assert (body["automated"], body["outcome"], body["rights"]) == ("assisted", None, [])
        assert body["decided_by"] == "The application is not decided."
        assert move(api, application, "withdrawn").status_code == 200
        assert Score.objects.filter(application=application).exists()
        assert read(api, application)["can_do"] == []

    def test_explanation_of_an_automatic_decision_states_that_no_person_took_part(self, api, offer, user, settings):
        settings.DECISIONING, settings.REVIEW_POLICY = "automatic", "reviewed"
        verify(user)
        application = draft_for(offer, user, SAYS_POOR)
        submit(api, application)
        decide_scored(now=timezone.now())
        body = read(api, application)
        assert (body["automated"], body["outcome"]) == ("alone", "rejection")
        assert body["decided_by"] == "The scoring model decided. No person took part."

    def test_explanation_is_in_the_requested_language(self, api, declined):
        body = read(api, declined, "es")
        assert body["language"] == "es"
        assert body["decided_by"] == "Decidió un revisor del prestamista, con el puntaje como propuesta."
        assert body["inputs"][0]["range"] == "menos de $1,500.00"
        assert_error(api.read(f"/applications/{declined.pk}/explanation?language=xx"), 400, "E1001")

    def test_explanation_has_no_inputs_after_the_facts_are_erased(self, api, declined):
        ScoreFacts.objects.all().delete()
        body = read(api, declined)
        assert (body["inputs"], body["changes"]) == (None, None)
        assert body["score"]["total"] == Score.objects.get().total

    def test_explanation_page_uses_plain_words_in_the_requested_language(self, offer, user, declined):
        address = f"/my/applications/{declined.pk}/explanation"
        text = unescape(re.sub("<[^>]+>", " ", browser_of(user).get(address).content.decode()))
        for words in (
            "What would have changed the result", "20 points, of at most 120. The lender compares them with",
            " · You stated it in the application",
        ):  # fmt: skip
            assert words in text
        assert "The applicant claims it" not in text
        assert "income: 20 points" not in text
        page = browser_of(user).get(address, headers={"Accept-Language": "es"}).content.decode()
        assert ">Deudas en relación con los ingresos<" in page
        assert re.search(r">Deudas en relación con los ingresos</bdi></h3>\s*<p>\d+ puntos, de un máximo de", page)
        assert "debt to income" not in page
        with translation.override("es"):
            assert title_of("home", {}) == "Vivienda"
        assert browser_of(UserFactory()).get(address).status_code == 404
        path = f"/applications/{declined.pk}/explanation"
        for stranger in (UserFactory(), join(scored_offer()[0].provider)):
            assert_error(client_of(stranger).read(path), 404, "E4002")
        assert client_of(join(offer.provider)).read(path).status_code == 200


@pytest.fixture
def declined_in_euros(declined):
    """Return the declined application, to an offer in euros."""
    declined.refresh_from_db()
    declined.offer_snapshot = {**declined.offer_snapshot, **EU_TERMS}
    declined.applicants = Applicants.of([{**PERSON, "language": "de"}])
    declined.save()
    return declined


class TestExplanationInEuros:
    def test_suggested_changes_show_amounts_in_units_of_the_currency(self, api, declined_in_euros):
        body = read(api, declined_in_euros, "de")
        assert body["inputs"][0]["range"] == "weniger als 1.500,00\u00a0EUR"
        assert "0,4 oder mehr" in [each["range"] for each in body["inputs"]]
        changes = " ".join(body["changes"])
        assert "1.500,00\u00a0EUR oder mehr, aber weniger als 3.000,00\u00a0EUR" in changes
        assert "150000" not in changes

    def test_german_explanation_page_has_titles_dates_and_laws_in_german(self, declined_in_euros, user):
        page = browser_of(user).get(f"/my/applications/{declined_in_euros.pk}/explanation").content.decode()
        text = unescape(re.sub("<[^>]+>", " ", page))
        for words in ("Einkommen pro Monat", "Identität geprüft", "DSGVO 16;", "KI-Verordnung 86", "2023/2225 18(9)"):
            assert words in text, words
        shown = re.sub(r' value="[^"]*"', "", page)
        assert not re.search(r"application_data\.|identity\.verified|GDPR|AI Act|CCD2|\d{4}-\d\d-\d\d", shown)


def test_each_displayed_fact_has_a_title():
    seen = {name for name in catalogue() if not name.startswith(PERSON_FACTS)}
    assert seen == rights_pages._TITLES.keys()


class TestAutomation:
    def test_automation_endpoint_of_an_offer_is_public_and_describes_the_published_model_version(
        self, anonymous, offer
    ):
        body = anonymous.read(f"/provider-offers/{offer.pk}/automation").json()
        assert (body["automated"], body["version"]) == ("assisted", 1)
        assert {each["code"] for each in body["categories"]} == {"application_data", "identity"}
        assert {each["code"] for each in body["sources"]} == {"applicant", "platform"}
        assert body["before"]
        spanish = anonymous.read(f"/provider-offers/{offer.pk}/automation?language=es").json()
        assert spanish["reviewed_by"] == "Decide una persona. El puntaje es una propuesta para ella."

    def test_offer_without_a_scoring_model_reports_no_automation(self, anonymous, offer, settings):
        plain = OfferFactory()
        body = anonymous.read(f"/provider-offers/{plain.pk}/automation").json()
        assert (body["automated"], body["model_id"], body["before"]) == ("none", None, [])
        settings.DECISIONING = "off"
        assert anonymous.read(f"/provider-offers/{offer.pk}/automation").json()["automated"] == "none"
        assert_error(anonymous.read("/provider-offers/999999/automation"), 404, "E4004")

    def test_application_form_shows_the_notice_about_automated_scoring(self, user, offer):
        offer.provider_id = "1001"
        page = browser_of(user).get(f"/my/apply/{offer.pk}").content.decode()
        assert "A score is computed automatically from your data" in page


@pytest.mark.parametrize(("jurisdiction", "foreign"), [("us", "CCD2|GDPR|AI Act"), ("eu", "SB 26|USC|CFR")])
def test_explanation_of_rights_cites_only_laws_of_the_jurisdiction(jurisdiction, foreign):
    duties = [duty for (law, _way, _outcome), duty in rights.DUTIES.items() if law == jurisdiction]
    cited = {right.law for duty in duties for right in (*duty.before, *duty.after)}
    assert [law for law in cited if re.search(foreign, law)] == []


def test_every_combination_of_jurisdiction_process_and_outcome_has_declared_notice_rules():
    keys = {(j, w, o) for j in JURISDICTIONS for w in rights.WAYS for o in rights.OUTCOMES}
    assert rights.DUTIES.keys() == keys
    assert all(right.law for duty in rights.DUTIES.values() for right in duty.after)


def test_notice_deadlines_in_days_equal_the_documented_deadlines():
    days = {(jurisdiction, outcome): duty.days for (jurisdiction, _way, outcome), duty in rights.DUTIES.items()}
    none = dict.fromkeys([("us", "approval"), ("eu", "approval"), ("eu", "worse")])
    assert days == none | {("us", "rejection"): 30, ("us", "worse"): 30, ("eu", "rejection"): 3}
