"""Test that a lender's owner can translate the texts of an offer in the console."""

import html
import re

import pytest
from django.urls import reverse

from credit.console import offers
from credit.models import Provider
from tests.backoffice.lenders import console_client, lender_of
from tests.backoffice.pages import confirm, send_form, text_of
from tests.credit.translated import ENGLISH, OFFER, SPANISH, translated
from tests.factories import OfferFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def lender():
    return lender_of("quartz", 701)


@pytest.fixture
def owner(lender):
    return console_client(lender.people["owner"])


def offer_of(lender, **terms):
    provider = Provider.objects.get(pk=str(lender.number))
    return OfferFactory(provider=provider, owner=lender.people["owner"], **{**translated(), **terms})


def action_of(offer, language):
    return reverse("admin:credit_offer_do", args=[offer.pk, f"texts-{language}"])


def entered(page, texts):
    """Map the name of each field on the page to its translation in `texts`.

    The help text of a field is the original text, which is the key in `texts`.
    """
    rows = re.findall(r'<textarea name="(text_\d+)".*?<p class="help" id="id_\1_helptext">(.*?)</p>', page, re.DOTALL)
    return {name: texts[html.unescape(text)] for name, text in rows if html.unescape(text) in texts}


def test_lender_owner_can_translate_the_texts_of_an_offer(owner, lender):
    offer = offer_of(lender, translations=None)
    page = owner.get(action_of(offer, "es")).content.decode()
    assert 'lang="es"' in page
    texts = {OFFER["name"]: "Préstamo", "Kind of work": "Tipo de obra", "new_roof": "Un techo nuevo"}
    texts |= {"Estimate of the work": "Presupuesto", OFFER["terms_text"]: "Uno.\r\nDos."}
    send_form(owner, action_of(offer, "es"), **entered(page, texts))
    offer.refresh_from_db()
    member = {"title": "Tipo de obra", "choices": {"new_roof": "Un techo nuevo"}}
    assert offer.translations == {
        "es": {
            "name": "Préstamo",
            "application_schema": {"properties": {"purpose": member}},
            "required_documents": {"Estimate of the work": "Presupuesto"},
            "terms_text": "Uno.\nDos.",
        }
    }
    assert offer.version == 2


def test_translation_form_shows_stored_texts_and_deletes_texts_that_the_user_clears(owner, lender):
    offer = offer_of(lender)
    page = text_of(owner.get(action_of(offer, "es")))
    assert SPANISH["description"] in page
    assert "Field “Kind of work”" in page
    for version in (2, 2):
        response = send_form(owner, action_of(offer, "es"))
        offer.refresh_from_db()
        assert (offer.translations, offer.version) == ({"en": ENGLISH}, version)
    assert "You changed no text, so nothing was stored." in text_of(response)


def test_translation_form_in_the_offers_language_contains_only_labels_for_choices(owner, lender):
    page = owner.get(action_of(offer_of(lender), "en")).content.decode()
    labels = re.findall(r'<label for="id_text_\d+">(.*?)</label>', page)
    assert labels == ["Choice “new_roof”", "Choice “windows”", "Choice “1”", "Choice “2”"]


def test_translation_form_shows_the_error_of_an_invalid_text_at_its_field(owner, lender):
    offer = offer_of(lender)
    page = send_form(owner, action_of(offer, "es"), text_0="a\u202eb")
    assert "invisible or control character U+202E" in text_of(page)
    offer.refresh_from_db()
    assert offer.version == 1


def test_translation_page_of_an_offer_with_too_many_texts_refers_to_the_api(owner, lender, monkeypatch):
    monkeypatch.setattr(offers, "FIELDS_MAX", 3)
    response = owner.get(action_of(offer_of(lender), "es"), follow=True)
    assert "Translate them with the API." in text_of(response)


def test_offer_page_shows_the_translations_with_titles(owner, lender):
    offer = offer_of(lender, language="en")
    page = text_of(owner.get(reverse("admin:credit_offer_change", args=[offer.pk])))
    for text in ("Language English", "Spanish Offer: Name Préstamo para el hogar", "Field “Kind of work”: Title Tipo"):
        assert text in page
    assert "application_schema" not in page


def test_offer_update_retains_the_translations(owner, lender):
    offer = offer_of(lender)
    fields = {"name": "Prairie loan", "product_type": "personal_loan", "amount_min": "1,000", "amount_max": "2,000"}
    fields |= {"rate_min": "6.9", "rate_max": "17.5", "terms": "12", "terms_text": "", "language": "en"}
    confirm(owner, reverse("admin:credit_offer_do", args=[offer.pk, "change-terms"]), **fields)
    offer.refresh_from_db()
    assert (offer.name, offer.language, offer.translations["es"]["name"]) == ("Prairie loan", "en", SPANISH["name"])
    assert "terms_text" not in offer.translations["es"]
