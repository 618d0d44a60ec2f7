"""Test EU documents of loans with one payment, a week's term, or a moved first payment, and of lines of credit."""

import re
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from types import SimpleNamespace

import pytest
from django.test import Client
from django.utils import timezone, translation

from credit.console.offer_forms import _payments as payments_shown
from credit.core.applicants import Applicants
from credit.core.examples import representative_example
from credit.core.figures import outside
from credit.core.jurisdictions import Conventions
from credit.core.lines import cost_of_line
from credit.core.loan_words import duration_in_words, in_words
from credit.core.quotes import amortise, cost_of, eu_totals
from credit.models import Notice, Offer
from credit.my.apply import rows_of
from credit.notices.services import issue_due
from credit.terms.precontract import form_of
from tests.api import client_of
from tests.credit.eu.forms import LANGUAGES, TODAY
from tests.credit.eu.offers import EU_TERMS, LENDER, TEXTS, eu_offer
from tests.credit.eu.test_precontract import values_of
from tests.credit.notices.test_pages import read
from tests.credit.notices.world import WHOLE
from tests.credit.terms.lending import accept_terms, applied, approve

BERLIN = "Europe/Berlin"


def values_of_loan(*, months=1, amount=50_000, rate=Decimal(12), language="en", first=None, **about):
    figures, schedule = cost_of(amount, rate, months, 0, first, method="eu_annex_iii", today=TODAY)
    totals = eu_totals(Conventions.of(EU_TERMS), amount, 0, figures["finance_charge_cents"])
    loan = {"amount_cents": amount, "rate_percent": rate, "term_months": months, "fee_cents": 0}
    terms = {**loan, **figures, **totals, "first_payment_on": first and first.isoformat()}
    form = form_of(EU_TERMS, SimpleNamespace(**LENDER), terms, schedule, language=language, today=TODAY, **about)
    return values_of({"rows": form.rows})


@pytest.mark.parametrize(("language", "month", "payment"), [
    ("en", "1 month", "One payment of 505.00\u00a0EUR, due on December 29, 2026."),
    ("es", "1 mes", "Un pago de 505,00\u00a0EUR, que vence el 29 de diciembre de 2026."),
    ("de", "1 Monat", "Eine Zahlung von 505,00\u00a0EUR, fällig am 29. Dezember 2026."),
])  # fmt: skip
def test_precontract_form_uses_the_singular_for_a_single_payment(language, month, payment):
    values = values_of_loan(language=language)
    assert (values["duration"], values["instalments"]) == (month, payment)
    with translation.override(language):
        assert month in in_words({"amount_cents": 50_000, "rate_percent": 12, "term_months": 1, "currency": "EUR"})


def test_precontract_form_states_the_duration_of_a_week_in_days():
    values = values_of_loan(first=TODAY + timedelta(days=7))
    assert values["duration"] == "7 days, until December 6, 2026"
    assert values["schedule"] == "The payments are listed at the end of this form."


@pytest.mark.parametrize(("months", "amount", "first", "words"), [
    (24, 1_000_000, None, "24 months"),
    (24, 1_000_000, date(2027, 1, 15), "747 days, until December 15, 2028"),
    (60, 3, None, "91 days, until February 28, 2027"),  # The loan has three payments of a cent.
    (1, 1_000, date(2026, 11, 30), "1 day, until November 30, 2026"),
])  # fmt: skip
def test_stated_loan_duration_ends_with_the_last_payment(months, amount, first, words):
    schedule = amortise(amount, Decimal(0), months, start=TODAY, first_payment_on=first)
    assert duration_in_words(months, schedule, start=TODAY) == words


@pytest.mark.parametrize("language", LANGUAGES)
def test_precontract_form_states_the_end_of_validity_with_a_time_zone(language):
    """The offer ends at 00:30 in Berlin, on a day whose rest is too late."""
    end = datetime(2026, 12, 28, 23, 30, tzinfo=UTC)
    validity = values_of_loan(language=language, valid_until=end, zone=BERLIN)["validity"]
    assert re.search(r"29.*(0:30 CET|00:30 CET|12:30 a\.m\. CET)", validity), validity


def test_precontract_form_states_that_a_later_loan_start_changes_the_payment_dates():
    assert (
        "a loan that starts on November 29, 2026. If the loan starts later, the dates change."
        in values_of_loan()["schedule"]
    )


@pytest.mark.django_db
def test_agreement_of_a_line_of_credit_has_an_amount_and_no_schedule():
    offer = eu_offer(term_options_months=None, texts={**TEXTS, "termination": "A month's notice."})
    application = applied(offer, data={"amount_cents": 1_000_000})
    client = client_of(application.consumer)
    assert approve(client, application, {"rate_percent": 14.2}).status_code == 200
    assert accept_terms(client, application).status_code == 200
    page = client.read(f"/applications/{application.pk}/agreement", accept="text/html").content.decode()
    text = read(page)[0]
    assert re.search(r"Total amount of credit The sums that are made available to you\. 10,000\.00.EUR", text), text
    assert "The total cost of the credit as a yearly percentage. The credit is drawn down at once and in full." in text
    assert "schedule" not in page


@pytest.mark.django_db
def test_pages_of_an_eu_line_of_credit_show_its_rate_and_assumptions():
    language, rate, payable = "de", "17,4 %", "10.769,17\u00a0EUR"
    assumption = "Der Kredit wird sofort und in voller Höhe in Anspruch genommen."
    offer = eu_offer(term_options_months=None, texts={**TEXTS, "termination": "A month's notice."})
    person = {**WHOLE, "language": language}
    application = applied(offer, applicants=Applicants.of([person]), data={"amount_cents": 1_000_000})
    client = client_of(application.consumer)
    assert approve(client, application, {"rate_percent": 14.2, "fee_cents": 10_000}).status_code == 200
    browser = Client(headers={"accept-language": language})
    browser.force_login(application.consumer)
    own = f"/my/applications/{application.pk}"
    for path in (own, f"{own}/accept", f"{own}/agreement"):
        text = read(browser.get(path).content.decode())[0]
        assert all(words.replace("\u00a0", " ") in text for words in (rate, payable, assumption)), (path, text)
    assert accept_terms(client, application).status_code == 200
    for path in (own, f"{own}/agreement"):
        assert rate in read(browser.get(path).content.decode())[0]
    issue_due(now=timezone.now())
    notice = read(Notice.objects.get(kind="approval").html)[0]
    assert all(words.replace("\u00a0", " ") in notice for words in (rate, payable, assumption)), notice


def example_of(language="en", **terms):
    with translation.override(language):
        return representative_example({**EU_TERMS, **terms}, today=TODAY)


def test_representative_example_of_a_line_of_credit_has_the_apr_of_the_precontract_form():
    example = example_of(term_options_months=None)
    rate, payable = cost_of_line(1_000_000, Decimal("14.2"), start=TODAY, fee=30_000)
    assert example["apr_percent"] == float(round(rate, 4))
    assert (example["payment_cents"], example["total_payable_cents"]) == (None, payable)
    assert "line of credit, total amount of credit 9,700.00\u00a0EUR" in example["text"]
    assert "monthly payments" not in example["text"]
    assert example["text"].endswith("with twelve equal monthly repayments of capital.")
    overdraft = example_of(term_options_months=[], product_type="overdraft")
    assert overdraft["apr_percent"] > example["apr_percent"]
    assert "If an overdraft has no fixed term, the APR is calculated for three months." in overdraft["text"]


@pytest.mark.parametrize(("language", "words"), [
    ("en", "one payment of 505.00\u00a0EUR after 1 month"), ("es", "un pago de 505,00\u00a0EUR al cabo de 1 mes"),
    ("de", "eine Zahlung von 505,00\u00a0EUR nach 1 Monat"),
])  # fmt: skip
def test_representative_example_of_one_payment_uses_the_singular(language, words):
    example = {"amount_cents": 50_000, "months": 1, "rate_percent": 12, "fee_cents": 0}
    assert words in example_of(language, example=example, term_options_months=[1])["text"]


@pytest.mark.parametrize(("language", "rates"), [("de", "6,9\u00a0% \u2013 17,5\u00a0%"), ("en", "6.9% \u2013 17.5%")])
def test_offer_rates_use_the_decimal_separator_of_the_language(language, rates):
    offer = Offer(**{**EU_TERMS, "apr_min_percent": 6.9, "apr_max_percent": 17.5})
    with translation.override(language):
        assert rates in dict(rows_of(offer)).values()


@pytest.mark.parametrize(("terms", "words"), [
    ([1], "The offer's term is 1 month."), ([24], "The offer's term is 24 months."),
    ([24, 12], "The offer's terms are 12, 24 months."),
])  # fmt: skip
def test_error_for_a_term_outside_the_offer_lists_the_offers_terms(terms, words):
    assert [outside_limits for _field, _limit, outside_limits in outside({"term_options_months": terms}, None, 7)] == [
        words
    ]


def test_console_shows_the_payment_of_a_one_month_loan():
    bounds = {"apr_min_percent": 12, "apr_max_percent": 12, "loan_amount_max_cents": 50_000}
    shown = payments_shown({**bounds, "term_options_months": [1], "jurisdiction": "us"})
    assert [loan for loan, _payment in shown] == ["$500.00 at 12.00% for 1 month"]
