"""Compare rates and amounts of notices, information forms, and agreements with the package curo.

`SHOWN_LOANS` is the number of loans that the test compares under each law, by default 3.
"""

import os
import re
from datetime import date
from decimal import Decimal
from random import Random
from types import SimpleNamespace

import pytest
from django.template.loader import render_to_string

from credit.core.jurisdictions import Conventions
from credit.core.quotes import cost_of, eu_totals
from credit.notices.content import render
from credit.terms.agreement import in_words
from credit.terms.precontract import form_of
from tests.credit.eu.offers import EU_TERMS, LENDER
from tests.credit.notices.test_pages import read

LOANS = int(os.environ.get("SHOWN_LOANS", "3"))
# The day is one of the first 27 of a month, so that curo does not assume a series of month ends.
TODAY = date(2026, 11, 10)
RATE = r"Annual percentage rate(?: of charge \(APR\))?[^0-9]*(\d+(?:\.\d+)?) ?%"
NOTICE = {
    "blocks": ["action", "terms", "creditor"], "kind": "approval", "is_denial": False, "language": "en",
    "application_id": "01900000-0000-7000-8000-000000000110", "submitted_at": "2026-11-09T12:00:00Z",
    "decided_at": "2026-11-10T12:00:00Z", "creditor": {"name": "Harbor", "address": "1 Quai du Port"}, "persons": [],
    "reports": [], "until": None, "respond_by": None, "zone": "UTC", "reasons": [], "missing": [],
}  # fmt: skip


def documents_of(law, terms, schedule):
    """Return the text of each document that states the loan's rate."""
    kept = {"terms": {"kept": terms, "as_of": TODAY.isoformat()}}
    agreed = SimpleNamespace(terms=terms, schedule=schedule, as_of=TODAY.isoformat(), lender=SimpleNamespace(**LENDER))
    pages = {
        "notice": render({**NOTICE, **kept}, law),
        "agreement": render_to_string("credit/agreement.html", {**in_words(agreed, None), "agreement": agreed}),
    }
    if law == "eu":
        form = form_of(EU_TERMS, SimpleNamespace(**LENDER), terms, schedule, language="en", today=TODAY)
        pages["form"] = form.html
    return {name: read(page)[0] for name, page in pages.items()}


def random_loan(law, chance):
    """Return the terms of a random loan with their figures, and its schedule."""
    amount, months = chance.randint(100_000, 9_999_999), chance.randint(6, 60)
    rate, fee = Decimal(chance.randint(100, 2_500)) / 100, chance.randint(0, 2_000)
    conventions = Conventions.of({**EU_TERMS} if law == "eu" else {})
    figures, schedule = cost_of(amount, rate, months, fee, None, method=conventions.apr_method, today=TODAY)
    terms = {
        "amount_cents": amount, "rate_percent": float(rate), "term_months": months, "fee_cents": fee,
        "first_payment_on": None, **figures, "apr_percent": float(figures["apr_percent"]),
    }  # fmt: skip
    if law == "eu":
        terms |= eu_totals(conventions, amount, fee, figures["finance_charge_cents"])
    return terms, schedule


def worth(convention, schedule, percent, *, law):
    """Return the present value of the payments at a rate, with the time counted by curo."""
    from pandas import Timestamp

    total = 0.0
    for row in schedule:
        time = convention.compute_factor(Timestamp(TODAY), Timestamp(row.due_on))
        whole, part = time.primary_period_fraction, time.partial_period_fraction or 0
        rate = percent / (1200 if law == "us" else 100)
        total += row.payment_cents / ((1 + part * rate) * (1 + rate) ** whole)
    return total


@pytest.mark.timeout(120 + LOANS * 10)
@pytest.mark.parametrize(("law", "half"), [("us", 0.005), ("eu", 0.05)])
def test_displayed_apr_in_documents_equals_the_result_of_the_curo_library(law, half):
    from curo import EU200848EC, USAppendixJ

    convention, chance = {"us": USAppendixJ, "eu": EU200848EC}[law](), Random(f"shown {law}")
    for _ in range(LOANS):
        terms, schedule = random_loan(law, chance)
        texts = documents_of(law, terms, schedule)
        shown = {name: re.search(RATE, text)[1] for name, text in texts.items()}
        assert len(set(shown.values())) == 1, shown
        rate = float(shown["notice"])
        below, above = (worth(convention, schedule, rate + by, law=law) for by in (-half - 1e-4, half + 1e-4))
        financed = terms["amount_financed_cents"]
        assert below > financed > above, (shown, terms)
        payable = terms.get("total_payable_cents") or terms["total_of_payments_cents"]
        assert all(f"{payable / 100:,.2f}" in text for text in texts.values()), (payable, texts)
