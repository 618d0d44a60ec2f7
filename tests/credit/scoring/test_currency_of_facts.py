"""Test that bank and report facts are used only in the offer's currency, in its minor units."""

import json
from datetime import timedelta

import pytest
from django.utils import timezone

from credit.core.applicants import Applicants
from credit.core.facts import catalogue
from credit.core.report_summary import checked_summary
from credit.models import LastScore, Offer, Report, Score
from credit.reports.sandbox import SandboxVendor
from identity.bank.models import BankAccount, BankTransaction
from tests.api import client_of
from tests.backoffice.conftest import backoffice_client, staff_of
from tests.backoffice.pages import text_of
from tests.credit.applicants import PERSON
from tests.credit.scoring import sourced
from tests.credit.scoring.submitting import draft_for, scored_offer, submit
from tests.credit.test_my_pages import browser_of
from tests.factories import OfferFactory

pytestmark = pytest.mark.django_db
SHOWN = {"USD": "$3,200.00", "EUR": "3,200.00 EUR", "JPY": "320,000 JPY"}
BANK = {name for name, fact in catalogue().items() if fact.source == "bank"}
CLAIMS = {"amount_cents": 500_000, "monthly_income_cents": 200_000, "monthly_debt_cents": 60_000}


def in_currency(offer, currency):
    if currency != "USD":
        Offer.objects.filter(pk=offer.pk).update(jurisdiction="eu", currency=currency)
        offer.refresh_from_db()
    return offer


def bank_in(user, currency):
    """Link a bank that reported a monthly income of 320,000 minor units, and spending of 200,000."""
    sourced.bank(user, paid_in=320_000, paid_out=200_000)
    for model in (BankAccount, BankTransaction):
        model.objects.filter(user=user).update(currency=currency)


@pytest.fixture
def reviewer(db):
    return staff_of("Reviewer")


@pytest.mark.parametrize(
    ("of_offer", "of_bank"),
    [("USD", "USD"), ("EUR", "EUR"), ("JPY", "JPY"), ("USD", "EUR"), ("EUR", "USD"), ("EUR", "JPY")],
)
def test_bank_facts_are_used_only_in_the_currency_of_the_offer(api, user, reviewer, of_offer, of_bank):
    bank_in(user, of_bank)
    offer, _ = scored_offer(definition=sourced.card())
    application = draft_for(in_currency(offer, of_offer), user, CLAIMS)
    response = submit(api, application)
    assert response.status_code == 200, response.content
    is_same = of_offer == of_bank
    stored = Score.objects.get().kept_facts.values()
    assert stored[sourced.INCOME] == (320_000 if is_same else None)
    facts = {fact["name"]: fact for fact in api.read(f"/applications/{application.pk}/facts").json()["facts"]}
    values = {name: fact["value"] for name, fact in facts.items() if name in BANK}
    assert (values[sourced.INCOME], values[sourced.SPENDING]) == ((320_000, 200_000) if is_same else (None, None))
    assert all(value is None for value in values.values()) is not is_same
    assert facts[sourced.INCOME]["differs_from_claim"] is (True if is_same else None)
    page = text_of(backoffice_client(reviewer).get(f"/admin/credit/application/{application.pk}/change/"))
    assert (f"{SHOWN[of_offer]} in, " in page) is is_same
    assert ("not known: in another currency" in page) is not is_same


def test_offer_match_reads_bank_facts_in_the_currency_of_each_offer(api, user):
    bank_in(user, "EUR")
    income = sourced.card()["characteristics"][0]
    card = sourced.card(
        inputs=[{"name": "income", "from": sourced.INCOME, "type": "number"}],
        characteristics=[income],
        outcomes=[{"outcome": "approve", "from": 600}, {"outcome": "decline"}],
    )
    dollars, version = scored_offer(definition=card)
    model = {"provider": version.model.provider, "blockscore_model_id": version.model_id}
    euros, yen = (in_currency(OfferFactory(**model, name=f"In {currency}"), currency) for currency in ("EUR", "JPY"))
    body = {"amount_cents": 500_000, "currency": "EUR"}
    matches = {offer["id"]: offer["why_not"] for offer in api.send("/offers/match", body).json()["offers"]}
    declined = {offer: "Income insufficient" in json.dumps(why) for offer, why in matches.items()}
    assert declined == {str(dollars.pk): True, str(euros.pk): False, str(yen.pk): True}
    assert LastScore.objects.count() == 1


class YenVendor(SandboxVendor):
    """The sandbox's vendor, with amounts in yen."""

    def request(self, request):
        answer = super().request(request)
        answer.summary["currency"] = "JPY"
        return answer


@pytest.mark.parametrize(("of_offer", "place", "of_report"), [
    ("USD", "sandbox", "USD"), ("JPY", "sandbox", "USD"), ("EUR", f"{__name__}:YenVendor", "JPY"),
    ("JPY", f"{__name__}:YenVendor", "JPY"),
])  # fmt: skip
def test_report_amounts_are_used_only_in_the_currency_of_the_offer(
    api, user, settings, reviewer, of_offer, place, of_report
):
    settings.REPORTS = place
    offer, _ = scored_offer(definition=sourced.card())
    application = draft_for(in_currency(offer, of_offer), user, CLAIMS)
    body = {"updated_by": str(user.pk), "applicants": [{**PERSON, "legal_name": "Rosa Thickfile"}]}
    assert api.replace(f"/applications/{application.pk}", body).status_code == 200
    assert submit(api, application).status_code == 200
    reviewers, path = client_of(reviewer), f"/applications/{application.pk}"
    for kind in ("credit", "income"):
        response = reviewers.send(f"{path}/reports", {"kind": kind, "purpose": "credit_transaction", "applicant": 1})
        assert (response.status_code, response.json()["summary"]["currency"]) == (201, of_report)
    facts = {fact["name"]: fact["value"] for fact in reviewers.read(f"{path}/facts").json()["facts"]}
    amounts = [facts.get(f"report.{name}_monthly_cents") for name in ("obligations", "income")]
    assert amounts == ([45_000, 520_000] if of_offer == of_report else [None, None])
    assert (facts["report.score"], facts["report.delinquencies_24_months"]) == (724, 0)
    page = browser_of(user).get(f"/my/applications/{application.pk}").content.decode().replace("\u00a0", " ")
    assert {"USD": "$450.00", "JPY": "45.000 JPY"}[of_report] in page


def test_report_summary_without_a_currency_is_in_dollars(user, settings):
    offer, _ = scored_offer(definition=sourced.card())
    application = draft_for(offer, user, CLAIMS, applicants=Applicants.of([PERSON]))
    now = timezone.now()
    about = {"application": application, "applicant": 1, "kind": "credit", "purpose": "credit_transaction"}
    Report.objects.create(
        **about, vendor="x", person=Report.persons_of(application, 1)[0], status="received", requested_at=now,
        look_at=now, as_of=now.date(), expires_at=now + timedelta(days=1),
        summary='{"agency":{},"obligations_monthly_cents":7}',
    )  # fmt: skip
    assert Report.figures_of(application, now).obligations_monthly_cents == 7


@pytest.mark.parametrize("currency", ["usd", "US", "DOLLAR", 840, ["USD"], "US$", "ÜSD"])
def test_report_summary_with_an_invalid_currency_code_is_rejected(currency):
    agency = {"name": "Bureau", "address": "1 Way", "phone": "1"}
    with pytest.raises(ValueError, match="ISO 4217"):
        checked_summary({"agency": agency, "currency": currency})
    assert checked_summary({"agency": agency, "currency": "JPY"})["currency"] == "JPY"
