"""Test that applicants request corrections, and that an accepted correction creates a new score."""

import re
from datetime import date, timedelta

import pytest
from django.utils import timezone

from config.webhooks.models import Event
from credit.console.facts import facts_shown
from credit.core.facts import Known
from credit.documents import storage
from credit.models import Correction, DocumentFile, RequestedDocument, Score, ScoreFacts
from credit.my.content import value_in_words
from credit.scoring import facts_of
from credit.scoring.scores import with_corrections
from identity.accounts.addresses import confirm
from tests.api import assert_error, client_of
from tests.credit.scoring.making import join
from tests.credit.scoring.submitting import SAYS_POOR, draft_for, scored_offer, submit, verify
from tests.credit.support import move
from tests.credit.test_application_mails import mails
from tests.credit.test_my_pages import browser_of
from tests.factories import UserFactory

pytestmark = pytest.mark.django_db
INCOME, HOUSING = "application_data.monthly_income_cents", "application_data.housing"
BODY = {"fact": INCOME, "claimed": 320_000, "statement": "I typed a digit wrong."}


@pytest.fixture
def reviewer(reviewers_api):
    return reviewers_api


@pytest.fixture
def application(user, api, reviewer):
    """Return a rejected application that the score declined."""
    verify(user)
    application = draft_for(scored_offer()[0], user, SAYS_POOR)
    assert submit(api, application).status_code == 200
    move(reviewer, application, "under_review")
    assert move(reviewer, application, "rejected", metadata={"reasons": ["income_insufficient"]}).status_code == 200
    return application


@pytest.fixture
def path(application):
    return f"/applications/{application.pk}/corrections"


def uploaded(application):
    now = timezone.now()
    person = application.consumer
    document = RequestedDocument.objects.create(application=application, name="x", requested_at=now, changed_by=person)
    stored = storage.store_file(b"%PDF-1.4", now=now)
    about = {"name": "x", "size_bytes": 1, "received_at": now, "principal": person}
    return str(DocumentFile.objects.create(document=document, stored=stored, **about).pk)


def requested(api, path, **changes):
    response = api.send(path, {**BODY, **changes})
    assert response.status_code == 201, response.content
    return response.json()


class TestRequest:
    def test_correction_request_is_due_after_30_days(self, api, path):
        body = requested(api, path)
        correction = Correction.objects.get()
        assert (body["status"], body["fact"], body["claimed"]) == ("open", INCOME, 320_000)
        assert correction.due_at - correction.requested_at == timedelta(days=30)
        assert api.read(path).json()["corrections"] == [body]
        event = Event.objects.filter(type="application.correction_requested").first()
        assert event.object["correction_id"] == body["id"]
        assert "320000" not in str(event.object)

    def test_second_open_correction_request_for_a_fact_is_rejected(self, api, path):
        requested(api, path)
        assert_error(api.send(path, BODY), 400, "E3004")
        requested(api, path, fact=HOUSING, claimed="own")

    def test_correction_of_a_fact_that_is_not_in_application_data_is_rejected(self, api, user, path):
        for fact in ("person.accounts", "bank.linked", "nothing", "application_data.unknown"):
            error = assert_error(api.send(path, {**BODY, "fact": fact}), 400, "E3020")
            assert INCOME in error["details"]["allowed"]
        draft = draft_for(scored_offer()[0], user)
        error = assert_error(api.send(f"/applications/{draft.pk}/corrections", BODY), 400, "E3020")
        assert "`draft`" in error["message"]

    def test_correction_error_of_an_application_without_values_states_that_no_value_exists(self, api, user):
        body = {"consumer_id": str(user.pk), "offer_id": 99, "provider_id": 1, "initial_status": "submitted"}
        created = api.send("/applications", body).json()
        error = assert_error(api.send(f"/applications/{created['id']}/corrections", BODY), 400, "E3020")
        assert error["message"] == "The application has no value that can be corrected."

    def test_malformed_correction_request_is_rejected(self, api, path):
        for changes in (
            {"claimed": None}, {"claimed": {}}, {"claimed": "a" * 1001}, {"statement": ""}, {"fact": ""},
            {"fact": "identity.verified", "claimed": 1}, {"file": "x"}, {"statement": "a" * 4001},
        ):  # fmt: skip
            assert_error(api.send(path, {**BODY, **changes}), 400, "E1001")

    def test_correction_of_a_fact_that_the_applicant_did_not_state_requires_a_file(self, api, application, path):
        report = {"fact": "identity.verified", "claimed": False}
        error = assert_error(api.send(path, {**BODY, **report}), 400, "E1001")
        assert "requires an uploaded file" in str(error)
        requested(api, path, **report, file=uploaded(application))

    def test_only_the_applicant_can_request_a_correction(self, path, reviewer):
        assert_error(client_of(UserFactory()).send(path, BODY), 404, "E4002")
        assert_error(reviewer.send(path, BODY), 404, "E4002")
        assert_error(client_of(UserFactory()).read(path), 404, "E4002")


class TestAnswersToCorrections:
    def test_accepted_correction_creates_a_new_score_and_retains_the_old_score(self, api, application, path, reviewer):
        before = Score.objects.get()
        kept = ScoreFacts.objects.get().facts
        correction = requested(api, path)
        answer = {"status": "corrected", "reason": "The pay slip shows it."}
        body = reviewer.replace(f"{path}/{correction['id']}", answer).json()
        assert {**answer, "is_scored_again": True}.items() <= body.items()
        old, new = Score.objects.order_by("number")
        assert (old.total, old.points, old.facts_sha256) == (before.total, before.points, before.facts_sha256)
        assert ScoreFacts.objects.get(score=old).facts == kept
        assert new.total > old.total
        assert new.facts_if_kept.values()[INCOME] == 320_000
        assert [fact["source"] for fact in new.sources if fact["name"] == INCOME] == ["corrected"]
        application.refresh_from_db()
        assert (application.status, application.application_data["monthly_income_cents"]) == ("rejected", 140_000)
        assert api.read(f"/applications/{application.pk}/explanation").json()["score"]["total"] == old.total

    def test_pages_mark_the_corrected_value_and_the_score_of_the_earlier_values(
        self, api, user, application, path, reviewer
    ):
        browser, place = browser_of(user), f"/my/applications/{application.pk}"
        correction = requested(api, path)
        for page in (place, f"{place}/explanation"):
            assert "corrected to" not in browser.get(page).content.decode()
        reviewer.replace(f"{path}/{correction['id']}", {"status": "corrected", "reason": "Seen."})
        new = Score.objects.order_by("number").last()
        for page in (place, f"{place}/explanation"):
            assert "$1,400.00 · corrected to $3,200.00" in browser.get(page).content.decode()
        note = f"This score used the values before the correction. The score of the corrected values is {new.total}."
        assert note in browser.get(f"{place}/explanation").content.decode()
        user.language = "es"
        user.save()
        page = browser.get(f"{place}/explanation").content.decode()
        assert f"El puntaje con los valores corregidos es {new.total}." in page
        assert "· corregido a $3,200.00" in page

    def test_corrected_fact_is_listed_with_corrected_as_its_source(self, api, application, path, reviewer):
        reviewer.replace(f"{path}/{requested(api, path)['id']}", {"status": "corrected", "reason": "Seen."})
        facts = reviewer.read(f"/applications/{application.pk}/facts").json()["facts"]
        [fact] = [fact for fact in facts if fact["name"] == INCOME]
        assert (fact["value"], fact["source"], fact["differs_from_claim"]) == (320_000, "corrected", True)
        [row] = [row for row in facts_shown(application) if row["corrected"] != "—"]
        assert (row["claimed"], row["confirmed"], row["differs"]) == ("$1,400.00", "—", True)
        assert row["corrected"].startswith("$3,200.00 (")

    def test_facts_of_a_closed_application_cannot_be_corrected(self, api, application, path, reviewer):
        places = [f"{path}/{requested(api, path, **changes)['id']}" for changes in ({}, {"fact": HOUSING})]
        for place, status in zip(places, ("withdrawn", "expired"), strict=True):
            type(application).objects.filter(pk=application.pk).update(status=status)
            assert_error(reviewer.replace(place, {"status": "corrected", "reason": "Yes."}), 400, "E3004")
            assert Score.objects.count() == 1
            assert reviewer.replace(place, {"status": "refused", "reason": "It ended."}).status_code == 200

    def test_facts_cannot_be_corrected_while_a_decision_is_pending(self, api, path, reviewer, monkeypatch):
        place = f"{path}/{requested(api, path)['id']}"
        for waiting in ("pending_decision", "open_of"):
            with monkeypatch.context() as patch:
                patch.setattr(facts_of, waiting, lambda _application: object())
                assert_error(reviewer.replace(place, {"status": "corrected", "reason": "Yes."}), 400, "E3004")
                assert Correction.objects.get().status == "open"
                if waiting == "open_of":
                    assert reviewer.replace(place, {"status": "refused", "reason": "No."}).status_code == 200

    def test_rejected_correction_changes_no_score_and_is_final(self, api, path, reviewer):
        place = f"{path}/{requested(api, path)['id']}"
        body = reviewer.replace(place, {"status": "refused", "reason": "No document shows it."}).json()
        assert (body["status"], body["is_scored_again"]) == ("refused", False)
        assert Score.objects.count() == 1
        assert_error(reviewer.replace(place, {"status": "corrected", "reason": "Yes."}), 400, "E3004")

    def test_applicants_and_strangers_cannot_answer_a_correction_request(self, api, application, path):
        place = f"{path}/{requested(api, path)['id']}"
        answer = {"status": "corrected", "reason": "Mine."}
        assert_error(api.replace(place, answer), 403, "E2010")
        assert_error(client_of(UserFactory()).replace(place, answer), 404, "E4002")
        other = client_of(join(scored_offer()[0].provider))
        assert_error(other.replace(place, answer), 404, "E4002")

    def test_malformed_response_to_a_correction_request_is_rejected(self, api, path, reviewer):
        place = f"{path}/{requested(api, path)['id']}"
        for body, code in (
            ({}, "E1004"), ({"status": "open", "reason": "x"}, "E1004"), ({"status": "refused"}, "E1001"),
            ({"status": "refused", "reason": ""}, "E1001"),
        ):  # fmt: skip
            assert_error(reviewer.replace(place, body), 400, code)
        assert_error(reviewer.replace(f"{path}/none", {"status": "refused", "reason": "x"}), 404, "E4001")


@pytest.mark.parametrize(
    ("name", "source", "days", "is_corrected"),
    [
        ("report.score", "report", 1, False), ("report.score", "report", 0, True), ("report.score", "report", -1, True),
        ("confirmed.income", "confirmed", 1, False), ("application_data.income", "applicant", 1, True),
        ("account.age_days", "platform", 1, True),
    ],
)  # fmt: skip
def test_later_value_of_a_fact_replaces_a_correction(name, source, days, is_corrected):
    day = date(2026, 3, 1)
    fact, correction = Known(1, source, day + timedelta(days=days)), Known(2, "corrected", day)
    assert with_corrections({name: fact}, {name: correction}) == {name: correction if is_corrected else fact}
    assert with_corrections({name: Known(None, source, None)}, {name: correction}) == {name: correction}
    assert with_corrections({}, {name: correction}) == {}


def test_correction_is_requested_on_the_page_in_major_currency_units(application, user):
    browser, place = browser_of(user), f"/my/applications/{application.pk}/explanation"
    typed = {"fact": INCOME, "claimed": "$3,200.50", "statement": "Typed wrong."}
    assert browser.post(place, typed).status_code == 302
    assert Correction.objects.get().parsed_claim == 320_050
    page = browser.get(place).content.decode()
    assert "Corrections that you requested" in page
    assert "the right value: <bdi>$3,200.50</bdi> (open)" in page
    assert '<p><bdi class="lines">Typed wrong.</bdi></p>' in page
    assert re.search(r"You reported it on \w+ \d+, \d{4}. A reviewer answers by \w+ \d+, \d{4}", page)
    claim = value_in_words(INCOME, application.application_data["monthly_income_cents"])
    assert re.search(rf'<option value="{INCOME}">[^<]+: {re.escape(claim)}</option>', page)
    for claimed in ("", "abc", "1e99", "NaN"):
        browser.post(place, {**typed, "fact": "application_data.monthly_debt_cents", "claimed": claimed})
    assert Correction.objects.count() == 1
    assert browser_of(UserFactory()).post(place, typed).status_code == 404


def test_correction_form_retains_its_input_after_a_validation_error(application, user):
    browser, place = browser_of(user), f"/my/applications/{application.pk}/explanation"
    typed = {"fact": INCOME, "claimed": "a <lot>", "statement": 'Typed "wrong".'}
    answer = browser.post(place, typed)
    page = answer.content.decode()
    assert answer.status_code == 400
    assert '<a href="#claimed">The right value</a>: Enter a number' in page
    assert page.count('role="alert" tabindex="-1" autofocus') == 1
    assert "<title>Errors: " in page
    assert '<div id="claimed-error"><p class="error">Enter a number' in page
    assert re.search(r'<input id="claimed"[^>]* aria-invalid="true"', page)
    assert re.search(r'<textarea id="statement"[^>]* aria-invalid', page) is None
    assert f'<option value="{INCOME}" selected>' in page
    assert 'value="a &lt;lot&gt;"' in page
    assert "Typed &quot;wrong&quot;.</textarea>" in page
    assert not Correction.objects.exists()
    assert "Typed" not in browser.get(place).content.decode()


@pytest.mark.parametrize("answer", ["corrected", "refused"])
def test_report_and_answer_of_a_wrong_value_send_a_mail_without_the_value(api, reviewer, application, path, answer):
    confirm(application.consumer, "ada@example.org")
    requested(api, path)
    correction = Correction.objects.get()
    body = {"status": answer, "reason": "The payslip shows it."}
    assert reviewer.replace(f"{path}/{correction.pk}", body).status_code == 200
    subjects, texts = zip(*mails(), strict=True)
    assert [subject.partition(":")[0] for subject in subjects] == [
        "You reported a wrong value",
        "The lender answered your report of a wrong value",
    ]
    assert "Deadline: " in texts[0]
    assert "Next step: Log in, and open “How the decision is made”." in texts[1]
    assert not [text for text in texts if "3,200" in text or "payslip" in text]
    page = browser_of(application.consumer).get(f"/my/applications/{application.pk}/explanation").content.decode()
    assert re.search(r"A reviewer answered on \w+ \d+, \d{4}", page)


def test_correction_form_links_the_error_of_a_missing_statement_to_its_field(application, user):
    place = f"/my/applications/{application.pk}/explanation"
    typed = {"fact": INCOME, "claimed": "4000", "statement": ""}
    page = browser_of(user).post(place, typed, headers={"Accept-Language": "es"}).content.decode()
    assert '<a href="#statement">¿Por qué es erróneo?</a>: ' in page
    assert re.search(r'<textarea id="statement"[^>]* aria-invalid="true"', page)


@pytest.mark.parametrize(
    ("claimed", "error"),
    [("9999999999999", "Enter at most 1,000,000,000,000."), ("-9999999999999", "Enter at least -1,000,000,000,000.")],
)
def test_correction_form_rejects_a_huge_number_with_the_limit(application, user, claimed, error):
    place = f"/my/applications/{application.pk}/explanation"
    answer = browser_of(user).post(place, {"fact": INCOME, "claimed": claimed, "statement": "Wrong."})
    assert f'<div id="claimed-error"><p class="error">{error}</p>' in answer.content.decode()
