"""The European precontract form: page breaks in its PDF, its labels, and published APRs.

`EU_FORMS=500` sets the number of random loans in each language.
"""

import json
import os
import random
import re
import subprocess
from datetime import date
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from types import SimpleNamespace

import pytest
from django.utils import translation

from config.core.currencies import amount_in_words, number_in_words
from credit.api.printing import pdf_of
from credit.core.annex_i import KEY_PARTS, ROWS
from credit.core.apr import eu_annex_iii, in_month, month_of
from credit.core.quotes import Instalment
from credit.terms.precontract import form_of
from tests.credit.eu.forms import LANGUAGES, form, random_form
from tests.credit.eu.offers import EU_TERMS, LENDER

FOLDER = Path(__file__).parent
PUBLISHED = json.loads((FOLDER / "published_aprs.json").read_text())  # examples of the Commission and the directives
LABELS = json.loads((FOLDER / "annex_i.json").read_text())  # Directive (EU) 2023/2225, Annex I


def pages_of(form, tmp_path):
    file = tmp_path / "form.pdf"
    file.write_bytes(pdf_of(form.html))
    text = subprocess.run(["pdftotext", "-raw", file, "-"], capture_output=True, check=True, text=True).stdout
    return [re.sub(r"\s+", " ", page) for page in text.split("\f")]


def assert_key_information_first(form, pages):
    for row in form.rows:
        first_words = " ".join(row["title"].split()[:2])
        where = {number for number, page in enumerate(pages) if first_words in page}
        if row["part"] == KEY_PARTS[0]:
            assert 0 in where, row
        elif row["part"] in KEY_PARTS:
            assert where & {0, 1}, row
        elif row["part"]:
            assert max(where) > 0, row
    heading = next(row["title"] for row in form.rows if row["part"] == "1")
    assert heading not in pages[0]


@pytest.mark.parametrize("language", LANGUAGES)
def test_precontract_form_with_long_texts_has_key_information_on_two_pages_and_every_payment(tmp_path, language):
    long = form(language, length=1_000)
    pages = pages_of(long, tmp_path)
    assert_key_information_first(long, pages)
    with translation.override(language):
        principals = [amount_in_words(row.principal_cents, "EUR").replace("\u00a0", " ") for row in long.schedule]
    assert [amount for amount in principals if amount not in " ".join(pages)] == []


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("seed", range(int(os.environ.get("EU_FORMS", "1"))))
def test_key_information_of_a_precontract_form_is_on_its_first_two_pages_for_random_loans(tmp_path, language, seed):
    loan = random_form(language, random.Random(seed))
    assert_key_information_first(loan, pages_of(loan, tmp_path))


def cash_flows(published):
    """Return the day of the drawdown, and the payments as pairs of day and cents."""
    first = date.fromisoformat(published["first"])
    amounts = [cents for times, cents in published["payments"] for _ in range(times)]
    days = [in_month(month_of(first) + published["step"] * number, first.day) for number in range(len(amounts))]
    return date.fromisoformat(published["start"]), list(zip(days, amounts, strict=True))


def published_apr(published):
    return published.get("by_annex_iii", published["printed"])


def test_computed_apr_of_each_example_loan_equals_the_published_apr():
    wrong = {}
    for published in PUBLISHED:
        start, payments = cash_flows(published)
        expected, apr = published_apr(published), eu_annex_iii(published["financed"], payments, start=start)
        if str(apr.quantize(Decimal(expected), ROUND_HALF_UP)) != expected:
            wrong[published["id"]] = apr
    assert wrong == {}


OF_OFFERS = [published for published in PUBLISHED if published.get("form")]


def shown_apr(published):
    return Decimal(published_apr(published)).quantize(Decimal("0.1"), ROUND_HALF_UP)


@pytest.mark.parametrize("language", LANGUAGES)
def test_precontract_form_of_each_published_example_loan_shows_its_apr(language):
    wrong = []
    for published in OF_OFFERS:
        loan_form = form_of_published(published, language)
        with translation.override(language):
            printed_apr = f"{number_in_words(shown_apr(published))} %"
        apr = next(row for row in loan_form.rows if ROWS[row["number"] - 1].name == "apr")
        if not apr["value"].startswith(f"{printed_apr}\n") or f">{printed_apr}" not in loan_form.html:
            wrong.append(published["id"])
    assert wrong == []


def test_precontract_pdf_of_a_published_example_loan_shows_its_apr(tmp_path):
    assert f"{shown_apr(OF_OFFERS[0])} %" in pages_of(form_of_published(OF_OFFERS[0], "en"), tmp_path)[0]


def form_of_published(published, language):
    start, payments = cash_flows(published)
    financed, paid = published["financed"], sum(cents for _, cents in payments)
    apr = eu_annex_iii(financed, payments, start=start)
    rows = [Instalment(number, day, cents, 0, cents, 0) for number, (day, cents) in enumerate(payments, start=1)]
    terms = {
        "amount_cents": financed, "rate_percent": 6, "term_months": len(payments), "fee_cents": 0, "currency": "EUR",
        "fee_financed": True, "apr_percent": apr, "total_credit_cents": financed,
        "total_cost_cents": paid - financed, "total_payable_cents": paid,
    }  # fmt: skip
    return form_of(EU_TERMS, SimpleNamespace(**LENDER), terms, rows, language=language, today=start)


def test_every_row_of_annex_i_is_in_its_part_of_the_precontract_form():
    parts = {"I": "Part I ", "II": "Part II ", "1": "1: ", "2": "2: ", "3": "3: ", "4": "4: ", "": "Whole form"}
    assert len(ROWS) == len(LABELS) == 60
    for row, label in zip(ROWS, LABELS, strict=True):
        assert parts[row.part] in f"{label['part']} ", row
        words = {word.lower()[:5] for word in re.findall(r"\w{3,}", row.title)}
        assert words & {word.lower()[:5] for word in re.findall(r"\w{3,}", label["label"])}, (row.title, label)
