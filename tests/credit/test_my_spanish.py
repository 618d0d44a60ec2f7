"""Test that an applicant who reads Spanish meets no English text on any page, also not in texts of lenders.

Each page is requested in English and in Spanish. A text that is the same on both pages is not translated. Names, values
that the applicant entered, and texts with a `lang` of their own are exceptions.
"""

import re
from html.parser import HTMLParser

import pytest
from django.utils import timezone
from django.utils.translation import override

from credit.core.translations import document_title
from credit.demo import book
from credit.models import Application, Offer
from identity.models import User
from tests.commands import run_json
from tests.credit.notices.world import World, provider_offer
from tests.credit.terms.lending import SAID
from tests.credit.test_my_pages import browser_of
from tests.credit.translated import translated
from tests.documents import ROOT

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("reviewed")]
# Names, addresses, states, time zones, laws, and the texts that the applicant wrote are the same in both languages.
NAMES = re.compile(
    r"Credit Platform|Cedar Lending|Cedar Bank|Alder Bank|Harbour Credit Union|Sandbox Bureau|12 Cedar Street"
    r"|[123] Bank Street|Ames|Portland|\b(?:IA|OR|Iowa|Kansas|Minnesota|Nebraska|Oregon)\b|Dana Example|\S+@\S+"
    r"|C[DS]T|UTC|[\w-]+\.pdf|PDF"
    r"|English(?: \(United States\))?|Español|Deutsch"
    r"|\d+ CFR [\d.()a-z]+|SB [\d-]+|\d+ USC \w+|^(Principal|Error|Total)$"
    r"|I have found another offer\.|My income is \$3,100 a month\."
)
# Reviewers of the demo wrote these texts, which stay in their language.
WRITTEN = {
    "Income is too low for the requested amount.", "Income and identity are verified.",
    "Please send your last two pay stubs.", "Pay stub of last month", "Pay stub of the month before last",
    "The score proposes approval, and the file supports it.",
}  # fmt: skip
_SKIPPED = {"script", "style", "code"}
_VOID = {"br", "img", "input", "link", "meta", "hr"}
PERSON = book.DATA["applicant"]


class Texts(HTMLParser):
    """Collect the texts of a page, without those that have a `lang` of their own."""

    def __init__(self, page):
        super().__init__()
        self.texts, self.open, self.language = set(), [], None
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        if tag == "html":
            self.language = values["lang"]
        # Names of countries can be the same in both languages.
        is_country = tag == "option" and re.fullmatch("[A-Z]{2}", values.get("value") or "")
        if tag not in _VOID:
            self.open.append((tag, is_country or ("lang" in values and tag != "html")))
        if not self.is_skipped:
            self.texts |= {values[name] for name in ("alt", "aria-label", "placeholder", "title") if values.get(name)}

    def handle_endtag(self, tag):
        while self.open and self.open.pop()[0] != tag:
            pass

    def handle_data(self, data):
        if not self.is_skipped:
            self.texts |= {part.strip() for part in re.split(r" · | \| |(?<=[.?!:]) ", " ".join(data.split()))}

    @property
    def is_skipped(self):
        return any(tag in _SKIPPED or has_language for tag, has_language in self.open)


def untranslated(english, spanish):
    """Return the texts of the Spanish page that are the same on the English page, without names and figures."""
    english, spanish = Texts(english), Texts(spanish)
    assert (english.language, spanish.language) == ("en", "es")
    return sorted(text for text in english.texts & spanish.texts if re.search("[A-Za-z]{2}", NAMES.sub("", text)))


def shown_to(user, path, language):
    User.objects.filter(pk=user.pk).update(language=language)
    response = browser_of(user).get(path, follow=True)
    assert response.status_code == 200, path
    return response.content.decode()


@pytest.fixture
def demo(settings, tmp_path, bookless):
    settings.VAR_DIR, settings.REVIEW_POLICY = tmp_path, "open"
    return User.objects.get(pk=run_json("seed_demo")["user_id"])


# These documents are in the language of the application, or uploaded files. The next test compares the documents.
FIXED = re.compile(r"/(agreement|notices|information|proof|files)(/|$)")


def paths_of(user):
    """Yield the pages of an applicant: all pages that links on other pages lead to."""
    ahead, known = ["/my", "/my/apply", "/my/apply?amount=9000&months=24"], set()
    while ahead:
        path = ahead.pop()
        if path in known:
            continue
        known.add(path)
        yield path
        links = re.findall(r'href="(/my[^"#]*)"', shown_to(user, path, "es"))
        ahead += [link.replace("&amp;", "&") for link in links if not FIXED.search(link)]


def test_spanish_pages_of_the_demo_contain_no_english_text(demo):
    found, paths = {}, [*paths_of(demo)]
    for path in paths:
        english, spanish = (shown_to(demo, path, language) for language in ("en", "es"))
        if same := untranslated(english, spanish):
            found[path] = same
    assert found == {}
    marked = {
        text for path in paths for text in re.findall(r'<span lang="en">(.*?)</span>', shown_to(demo, path, "es"))
    }
    assert marked == WRITTEN
    assert len(paths) > 25


def test_translation_check_finds_a_missing_translation_of_a_lender_text(demo):
    (offer,) = Offer.objects.filter(name__startswith="Prairie home")
    path = f"/my/apply/{offer.pk}"
    del offer.translations["es"]["application_schema"]["properties"]["income_cents"]
    offer.save()
    english, spanish = (shown_to(demo, path, language) for language in ("en", "es"))
    assert '<span lang="en">Yearly income before tax</span>' in spanish
    unmarked = spanish.replace('<span lang="en">', "<span>")
    assert untranslated(english, unmarked) == ["Yearly income before tax"]


def test_spanish_documents_of_a_translated_offer_contain_no_english_text():
    offer = provider_offer(**translated(required_documents=None))
    pages = [documents_in(language, offer) for language in ("en", "es")]
    assert [len(each) for each in pages] == [6, 6]
    for english, spanish in zip(*pages, strict=True):
        assert untranslated(english, spanish) == []


def documents_in(language, offer):
    """Return the pages of an applicant and the documents in a language, at several steps of an application."""
    world = World(offer, person={**PERSON, "language": language}, start=timezone.now())
    Application.objects.filter(pk=world.pk).update(application_data={**SAID, "purpose": "new_roof", "floors": 2})
    here, browser = f"/my/applications/{world.pk}", browser_of(world.consumer.user)
    pages = [browser.get(here)]
    world.submit(0)
    world.request_documents(0, "Estimate of the work")
    pages.append(browser.get(here))
    world.issue(0)
    assert ("Presupuesto de la obra" in world.notice.html) == (language == "es")
    notice = browser.get(f"{here}/notices/{world.notice.pk}")
    world.supply(0)
    world.approve(0)
    pages += [browser.get(f"{here}/accept"), browser.get(f"{here}/agreement")]
    world.take_up(0)
    pages.append(browser.get(f"{here}/agreement"))
    return [page.content.decode() for page in [notice, *pages]]


def test_common_english_document_titles_are_translated_without_a_translation_of_the_lender():
    world = World(provider_offer(), person={**PERSON, "language": "es"}, start=timezone.now())
    world.submit(0)
    world.request_documents(0, "Bank Statement", "Proof of address", "Letter of my landlord")
    page = browser_of(world.consumer.user).get(f"/my/applications/{world.pk}").content.decode()
    assert "<bdi>Estado de cuenta bancario</bdi>" in page
    assert "<bdi>Comprobante de domicilio</bdi>" in page
    assert '<span lang="en">Letter of my landlord</span>' in page
    with override("es"):
        assert document_title({"language": "de"}, "Passport") == "Passport"
        own = {"translations": {"es": {"required_documents": {"Payslip": "Nómina"}}}}
        assert document_title(own, "Payslip") == "Nómina"


def test_spanish_texts_use_the_terms_of_the_united_states():
    for app in ("credit", "identity"):
        catalog = (ROOT / app / "locale/es/LC_MESSAGES/django.po").read_text()
        assert re.findall("(?i)puntuaci[oó]n|tipos? de interés|rellenad", catalog) == []
