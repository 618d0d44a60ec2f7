"""Test EU documents about a scored report, and about a line of credit without a ceiling."""

from datetime import timedelta

import pytest
from django.utils import timezone

from credit.models import Notice, Offer
from credit.notices import services
from credit.review.automatic import decide_scored
from tests.api import assert_error, client_of
from tests.credit.eu.offers import CONTACT, EU_TERMS, eu_offer
from tests.credit.eu.test_precontract import values_of
from tests.credit.notices.test_pages import read
from tests.credit.scoring.test_waiting_score import offer_with, submitted, work
from tests.credit.terms.lending import LINE
from tests.factories import UserFactory

pytestmark = pytest.mark.django_db


def form_of(offer, query=""):
    return client_of(UserFactory()).read(f"/provider-offers/{offer.pk}/precontract{query}")


@pytest.mark.parametrize(("currency", "shown"), [("EUR", "1,500.00\u00a0EUR"), ("PLN", "6,675.00\u00a0PLN")])
def test_precontract_form_of_a_line_of_credit_without_a_ceiling_assumes_1500_euros(currency, shown):
    """Directive (EU) 2023/2225, Annex III, part II (h): the form has the ceiling, and the APR by (a) and (e)."""
    example = {"amount_cents": 1_000_000, "months": 12, "rate_percent": 14.2, "fee_cents": 0}
    answer = form_of(eu_offer(**{**LINE, "currency": currency, "example": example}))
    assert answer.status_code == 200, answer.content
    values = values_of(answer.json())
    assert values["total_credit"].startswith(shown)
    assert (values["duration"], values["apr"].partition("\n")[0]) == ("Open-end", "15.2 %")
    assert "If no credit limit is agreed yet, the APR is calculated for a limit of 1,500 euros." in values["example"]
    assert (answer.json()["terms"]["amount_cents"], answer.json()["schedule"]) == (None, [])


def test_precontract_form_of_a_line_of_credit_uses_the_requested_amount_as_ceiling():
    offer = eu_offer(**LINE)
    values = values_of(form_of(offer, "?amount_cents=500000").json())
    assert values["total_credit"].startswith("4,700.00\u00a0EUR")  # The fee is deducted from the payout.
    assert "not agreed yet" not in values["example"]
    assert_error(form_of(offer, "?term_months=12"), 400, "E1001")
    assert_error(form_of(offer, "?amount_cents=1"), 400, "E1001")


@pytest.mark.parametrize(("currency", "fee", "shown"), [
    ("JPY", 30_000, "970,000\u00a0JPY"),  # The currency has no fixed rate to the euro.
    # No rate in the supported range satisfies the equation of these loans.
    ("EUR", 150_000, "8,500.00\u00a0EUR"), ("EUR", 149_999, "8,500.01\u00a0EUR"),
])  # fmt: skip
def test_precontract_form_of_a_line_of_credit_without_a_ceiling_contains_the_example_amount(currency, fee, shown):
    example = {"amount_cents": 1_000_000, "months": 12, "rate_percent": 14.2, "fee_cents": fee}
    small = {"regime": "ccd2_small", "regime_reason": "Small."}
    answer = form_of(eu_offer(**{**LINE, **small, "currency": currency, "example": example}))
    assert answer.status_code == 200, answer.content
    values = values_of(answer.json())
    assert values["total_credit"].startswith(shown)
    assert "1,500 euros" not in values["example"]


def test_precontract_form_of_an_amount_with_an_out_of_range_rate_returns_400():
    example = {"amount_cents": 1_000_000, "months": 12, "rate_percent": 14.2, "fee_cents": 300_000}
    assert_error(form_of(eu_offer(**{**LINE, "example": example}), "?amount_cents=300001"), 400, "E1001")


def test_automatic_rejection_based_on_a_report_states_result_supplier_and_categories_of_the_report(user, settings):
    """Directive (EU) 2023/2225, Art. 19(6), 18(8): a score alone declines, from a report that no person typed."""
    settings.REPORTS, settings.DECISIONING, settings.REVIEW_POLICY = "sandbox", "automatic", "reviewed"
    offer = offer_with("credit")
    Offer.objects.filter(pk=offer.pk).update(**EU_TERMS)
    offer.refresh_from_db()
    for name, value in {**CONTACT, "name": "Cedar Bank", "address": "1 Bank Street"}.items():
        setattr(offer.provider, name, value)
    offer.provider.save()
    application = submitted(user, offer, "Thinfile", language="en")
    assert work() == (1, 0)
    assert decide_scored(now=timezone.now())["rejected"] == 1
    services.issue_due(now=timezone.now() + timedelta(hours=1))
    notice = Notice.objects.get(application=application.pk)
    assert notice.due_at - application.history.get(status="rejected").changed_at <= timedelta(days=3)
    text = read(notice.html)[0]
    for words in (
        "Result of the consultation: A thin file", "Sandbox Bureau 1 Sandbox Way, Austin, TX 78701",
        "Telephone: +1 800 555 0100", "accounts inquiries", "No person had a part in it.",
        "You have the right to a human assessment.",
    ):  # fmt: skip
        assert words in text, words
    assert "are part of our reasons above" not in text
