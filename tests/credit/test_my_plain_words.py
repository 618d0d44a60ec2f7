"""Test that pages of applicants cite laws only in small print."""

import re

import pytest

from config.core.privacy import register
from credit.core.errors import PricingNoticeDue
from credit.my.words import error_message
from tests.credit.eu.test_data_cases import borrowed
from tests.credit.eu.test_eu_cases import scored
from tests.credit.notices.test_pages import ROOT, read
from tests.credit.scoring.submitting import SAYS_POOR
from tests.credit.terms.lending import listed
from tests.credit.test_my_pages import browser_of
from tests.factories import UserFactory

pytestmark = pytest.mark.django_db
CITATION = re.compile(
    r"\b\d+ (?:CFR|U\.?S\.?C)|\bSB \d|\bCCD2\b|\bAI Act\b|\bGDPR\b|\bRGPD\b|\bDSGVO\b|KI-Verordnung"
    r"|\bArt(?:icle|ikel|ículo|\.) ?\d|\bartículo \d|(?:Directive|Directiva|Richtlinie|Regulation) \("
)
SMALL = re.compile(r'<small class="law">.*?</small>', re.DOTALL)
# The regulations fix the texts of notices, of the information form, and of the agreement.
FIXED = ("notices", "agreement.html", "precontract.html", "precontract_part.html")
TEMPLATES = [
    file
    for folder in (ROOT / "templates" / "credit" / "my", ROOT.parent / "identity" / "templates")
    for file in folder.rglob("*.html")
]


def plain(page):
    """Return the text of a page; check that it cites laws, and only in small print."""
    assert SMALL.search(page)
    text = read(SMALL.sub("", page))[0]
    assert CITATION.findall(text) == []
    return text


def test_template_texts_cite_laws_only_in_small_print():
    found = {file.name: CITATION.findall(SMALL.sub("", file.read_text())) for file in TEMPLATES}
    assert {name: laws for name, laws in found.items() if laws} == {}


def test_retention_rules_of_the_privacy_register_cite_no_law():
    for label, table in register().items():
        rules = {treatment.keep.rule for treatment in table.fields.values() if treatment.keep is not None}
        texts = [table.purpose, table.source, table.recipients, table.retention, *rules]
        assert [text for text in texts if CITATION.search(text)] == [], label


def test_privacy_page_cites_laws_only_in_small_print():
    browser = browser_of(borrowed().consumer)
    for language in ("en", "es", "de"):
        page = browser.get("/account/privacy", headers={"Accept-Language": language}).content.decode()
        text, small = plain(page), " ".join(SMALL.findall(page))
        assert "12 CFR 1002.12(b)(1)" in small
        if language == "en":
            for words in ("For your account, your applications, and your loans", "Because a law requires it"):
                assert words in text
            assert "applications for credit the person, and their use of the account the lender that" in text


@pytest.mark.usefixtures("reviewed")
def test_explanation_of_a_decision_cites_laws_only_in_small_print(settings):
    world = scored(settings, SAYS_POOR)
    world.move(0, "under_review")
    world.reject(1)
    world.application.applicants = None
    browser = browser_of(world.consumer.user)
    for language in ("en", "es", "de"):
        path, headers = f"/my/applications/{world.pk}/explanation", {"Accept-Language": language}
        page = browser.get(path, headers=headers).content.decode()
        plain(page)
        assert len(SMALL.findall(page)) == 1


def test_application_form_and_the_error_of_an_unread_pricing_notice_cite_no_law():
    message = error_message(PricingNoticeDue())
    assert "notice about your credit report" in message
    page = browser_of(UserFactory()).get(f"/my/apply/{listed().pk}").content.decode()
    assert CITATION.findall(message + read(page)[0]) == []
