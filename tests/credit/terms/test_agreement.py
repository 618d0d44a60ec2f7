"""Test the agreement of `GET /applications/{id}/agreement` as JSON and as a page to print."""

import json
import re
from datetime import UTC, datetime, time
from hashlib import sha256
from zoneinfo import ZoneInfo

import pytest
from django.utils import timezone
from django.utils.formats import date_format

from config.core.json_text import canonical_json
from credit.api.terms.views import agreement_page
from credit.core.applicants import Applicants
from credit.core.figures import money, reference_of
from credit.export import rendered_agreements
from credit.models import Offer, Provider
from credit.terms import acceptance
from credit.terms.agreement import agreement_of
from tests.api import assert_error, client_of
from tests.credit.scoring.submitting import draft_for, scored_offer, submit, verify
from tests.credit.support import key_of, move
from tests.credit.terms.lending import LINE, accept_terms, applied, approve, lender_of, listed
from tests.factories import UserFactory

PERSON = {"legal_name": "Ada Example", "email": None}
pytestmark = pytest.mark.django_db
# A day, or a moment with its zone and without fractions of a second (HTML, valid date string)
HTML_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:Z|[+-][0-9]{2}:?[0-9]{2}))?")
GIVEN = {"amount_cents": 1_200_000, "rate_percent": 7.25, "term_months": 36, "fee_cents": 5_000}


def accepted(offer, terms=GIVEN, **columns):
    """Return an application that is approved with terms, and accepted."""
    application = applied(offer, **columns)
    assert approve(lender_of(offer), application, terms).status_code == 200
    assert accept_terms(client_of(application.consumer), application).status_code == 200
    application.refresh_from_db()
    return application


@pytest.fixture
def agreed(offer, settings):
    settings.ANCHOR_DECISIONS = True
    return accepted(offer, applicants=Applicants.of([PERSON]))


def read(client, application, **headers):
    return client.read(f"/applications/{application.pk}/agreement", **headers)


def test_credit_agreement_contains_every_part_and_its_hash(agreed, offer):
    consumer = client_of(agreed.consumer)
    answer = read(consumer, agreed)
    assert answer.status_code == 200, answer.content
    shown = answer.json()
    digest = shown.pop("agreement_sha256")
    assert digest == sha256(canonical_json(shown)).hexdigest()
    assert shown["lender"]["provider_id"] == offer.provider_id
    assert shown["borrower"] == {"consumer_id": str(agreed.consumer_id), "applicants": [PERSON]}
    assert {name: shown["terms"][name] for name in GIVEN} == GIVEN
    assert shown["schedule_sha256"] == sha256(canonical_json(shown["schedule"])).hexdigest()
    four = ("apr_percent", "finance_charge_cents", "amount_financed_cents", "total_of_payments_cents")
    assert shown["disclosure"] == {name: shown["terms"][name] for name in four}
    decision, accepted = (json.loads(shown[part]["proof"]["record"]) for part in ("decision", "acceptance"))
    assert decision["terms_sha256"] == accepted["terms_sha256"] == shown["terms_sha256"]
    assert accepted["schedule_sha256"] == shown["schedule_sha256"]
    assert shown["acceptance"]["accepted_by"] == str(agreed.consumer_id)
    assert read(lender_of(offer), agreed).json() == {**shown, "agreement_sha256": digest}


def test_agreement_omits_a_lender_created_after_the_application(agreed, offer):
    offer.provider.name, offer.provider.created_at = "Late Bank", timezone.now()
    offer.provider.save()
    assert read(client_of(agreed.consumer), agreed).json()["lender"] == {"provider_id": offer.provider_id, "name": ""}


def test_agreement_page_shows_the_accepting_borrower_and_the_reference(agreed):
    page = agreement_page(None, agreement_of(agreed)).content.decode()
    assert f"<td><bdi>{PERSON['legal_name']}</bdi>, " in page
    assert reference_of(agreed.pk) in page
    assert page.index('href="#main"') < page.index('<main id="main"')


def test_agreement_page_shows_its_dates_in_utc_for_readers_in_other_time_zones(agreed):
    agreement = agreement_of(agreed)
    day = agreed.loan_terms.as_of
    agreement.acceptance.accepted_at = datetime.combine(day, time(7, 53), tzinfo=UTC)
    with timezone.override(ZoneInfo("America/Los_Angeles")):
        page = agreement_page(None, agreement).content.decode()
    assert f"{date_format(day, 'F j, Y')}</time> (UTC)" in page
    assert f"{date_format(day, 'F j, Y')}, 07:53 UTC</time>" in page
    assert "Back to the application" not in page


def test_agreement_page_has_the_same_figures_as_the_json(agreed):
    consumer = client_of(agreed.consumer)
    shown = read(consumer, agreed).json()
    page = read(consumer, agreed, accept="text/html")
    assert page.headers["Content-Type"].startswith("text/html")
    text = page.content.decode()
    figures = [value for name, value in shown["disclosure"].items() if name.endswith("_cents")]
    figures += [row["payment_cents"] for row in shown["schedule"]]
    assert all(money(cents) in text for cents in figures)
    assert (shown["terms"]["apr_percent"], "7.53%" in text) == (7.5326, True)
    assert all(row["due_on"] in text for row in shown["schedule"])
    assert shown["agreement_sha256"] in text
    assert PERSON["legal_name"] in text
    times = re.findall(r'<time datetime="([^"]*)">', text)
    assert len(times) == len(shown["schedule"]) + 3
    assert all(HTML_DATE.fullmatch(time) for time in times)


TERMS_TEXT = "Late payments: 5% of the payment after 15 days.\nThe law of Oregon governs the agreement."
RESIDENT = {
    "legal_name": "Ada Example", "email": None,
    "address": {"line1": "2 Main St", "city": "Bend", "region": "OR", "postal_code": "97701", "country": "US"},
}  # fmt: skip
CONTACT = {"name": "Cedar Bank", "address": "1 Bank Street\nPortland, OR 97201", "phone": "+15035550100"}


def agreed_in_us(person=RESIDENT, **terms):
    """Return an accepted application to a US offer with the lender's terms."""
    offer = listed(terms_text=TERMS_TEXT, **terms)
    Provider.objects.filter(pk=offer.provider_id).update(**CONTACT)
    return accepted(offer, applicants=Applicants.of([person]))


def test_us_agreement_retains_its_parties_and_terms_after_a_change_of_the_lender():
    application = agreed_in_us()
    consumer = client_of(application.consumer)
    shown = read(consumer, application).json()
    assert {member["name"]: member["text"] for member in shown["members"]} == {
        "parties": "Cedar Bank\n1 Bank Street\nPortland, OR 97201\n+15035550100",
        "credit_type": "Loan",
        "other_terms": TERMS_TEXT,
    }
    Provider.objects.update(address="9 New Street", phone="+15035550199")
    Offer.objects.update(terms_text="Other terms.")
    assert read(consumer, application).json() == shown
    page = read(consumer, application, accept="text/html").content.decode()
    for text in (*shown["members"][0]["text"].split("\n"), *TERMS_TEXT.split("\n"), "2 Main St", "Bend, OR 97701"):
        assert text in page
    assert "This is an agreement between the lender and the borrower about a loan." in page
    for text in ("(provider", "incomplete", "Information required by law", "9 New Street"):
        assert text not in page


def test_us_agreement_is_in_the_borrowers_language_except_for_the_lenders_text():
    application = agreed_in_us(person={**RESIDENT, "language": "es"})
    page = read(client_of(application.consumer), application, accept="text/html").content.decode()
    for text in ("Partes", "Condiciones del prestamista", "Estados Unidos", *TERMS_TEXT.split("\n")):
        assert text in page


def test_agreement_of_an_application_without_applicants_shows_the_name_of_the_account(offer):
    application = accepted(offer, consumer=UserFactory(first_name="Dana", last_name="Example"))
    page = read(client_of(application.consumer), application, accept="text/html").content.decode()
    assert '<bdi class="lines">Dana Example</bdi>' in page


def test_us_agreement_stored_without_items_has_an_unchanged_hash(monkeypatch):
    monkeypatch.setattr(acceptance, "members_of", lambda *_about: None)
    application = agreed_in_us()
    consumer = client_of(application.consumer)
    shown = read(consumer, application).json()
    digest = shown.pop("agreement_sha256")
    assert digest == sha256(canonical_json(shown)).hexdigest()
    assert list(shown) == [
        "application_id", "offer_id", "offer_version", "offer_terms_sha256", "lender", "borrower", "terms",
        "terms_sha256", "starts_on", "schedule", "schedule_sha256", "disclosure", "decision", "acceptance",
    ]  # fmt: skip
    assert list(shown["lender"]) == ["provider_id", "name"]
    page = read(consumer, application, accept="text/html").content.decode()
    assert '<bdi class="lines">Cedar Bank</bdi>' in page
    assert TERMS_TEXT.splitlines()[0] not in page


def test_agreement_of_a_line_of_credit_contains_no_payments_or_term():
    application = accepted(listed(**LINE), {"rate_percent": 9.9}, data={"amount_cents": 500_000})
    consumer = client_of(application.consumer)
    shown = read(consumer, application).json()
    assert (shown["schedule"], shown["disclosure"]["apr_percent"]) == (None, None)
    page = read(consumer, application, accept="text/html").content.decode()
    for text in ("about a line of credit", "The lender has set no other terms.", "Credit limit"):
        assert text in page


def test_data_export_of_a_borrower_contains_the_agreement_page(agreed):
    ((name, page, _label),) = rendered_agreements(agreed.consumer_id)
    assert name == f"agreements/{agreed.pk}.html"
    assert PERSON["legal_name"] in page.decode()
    assert read(client_of(agreed.consumer), agreed).json()["agreement_sha256"] in page.decode()
    assert not [*rendered_agreements(UserFactory().pk)]


def test_agreement_of_a_scored_application_requires_the_scope_score_read(settings):
    settings.ANCHOR_DECISIONS, settings.DECISIONING, settings.REVIEW_POLICY = True, "advise", "open"
    scored, consumer = scored_offer()[0], UserFactory()
    verify(consumer)
    application, client = draft_for(scored, consumer), client_of(consumer)
    assert submit(client, application).status_code == 200
    for to in ("under_review", "approved"):
        terms = {"terms": {"amount_cents": 500_000}} if to == "approved" else {}
        assert move(lender_of(scored), application, to, reason="Enough income.", metadata=terms).status_code == 200
    assert accept_terms(client, application).status_code == 200
    assert read(client, application).status_code == 200
    assert_error(read(key_of(consumer, "applications:read"), application), 403, "E2005")
    assert read(key_of(consumer, "applications:read", "score:read"), application).status_code == 200


def test_agreement_exists_only_for_an_accepted_loan_that_is_not_reopened(agreed, offer):
    waiting, without_loan = applied(offer), applied(offer, status="approved")
    consumer = client_of(waiting.consumer)
    assert_error(read(consumer, waiting), 404, "E4001")
    approve(lender_of(offer), waiting, GIVEN)
    assert_error(read(consumer, waiting), 404, "E4001")
    consumer = client_of(without_loan.consumer)
    assert accept_terms(consumer, without_loan).status_code == 200
    assert_error(read(consumer, without_loan), 404, "E4001")
    assert move(lender_of(offer), agreed, "under_review", reason="The income was forged.").status_code == 200
    assert_error(read(client_of(agreed.consumer), agreed), 404, "E4001")
