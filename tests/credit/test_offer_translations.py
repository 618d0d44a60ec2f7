"""Test the translations of an offer's texts: their validation, and the pages of applicants in each language."""

import re
from copy import deepcopy

import pytest
from django.test import Client
from django.utils.translation import override

from credit.core.translations import BYTES_MAX, in_language, marked_lines, pruned
from credit.models import Offer
from tests.api import assert_error
from tests.credit.terms.lending import applied, listed
from tests.credit.test_my_pages import browser_of
from tests.credit.translated import OFFER, SPANISH, translated
from tests.factories import UserFactory

pytestmark = pytest.mark.django_db
PATH = "/provider-offers"
BODY = {"provider_id": "acme", "product_type": "personal_loan", **translated()}
PURPOSE = "/translations/es/application_schema/properties/purpose"


def wrong():
    """Yield (JSON pointer of the error, translations)."""
    for value in ([], "es", 1, True):
        yield "/translations", value
    yield "/translations", {"fr": {}}
    yield "/translations", {"es-MX": {}}
    for value in (None, [], "Préstamo", 5):
        yield "/translations/es", {"es": value}
    yield "/translations/es", {"es": {"title": "Préstamo"}}
    for text in (None, 5, "", "  ", [], {}, "x" * 256, "a\nb", "a\u202eb", "a\u0007b", "a\u2066b"):
        yield "/translations/es/name", {"es": {"name": text}}
    for text in ("x" * 2_001, "a\u202eb"):
        yield "/translations/es/description", {"es": {"description": text}}
    yield "/translations/es/terms_text", {"es": {"terms_text": "x" * 10_001}}
    for schema in (None, [], "Obras"):
        yield "/translations/es/application_schema", {"es": {"application_schema": schema}}
    for name, part in (
        ("", {"enum": {}}),
        ("/title", {"title": "x" * 201}),
        ("/choices", {"choices": {"garage": "x"}}),
        ("/choices", {"choices": []}),
        ("/choices/new_roof", {"choices": {"new_roof": None}}),
    ):
        yield PURPOSE + name, {"es": {"application_schema": {"properties": {"purpose": part}}}}
    yield "/translations/es/application_schema/properties", {"es": {"application_schema": {"properties": {"age": {}}}}}
    yield "/translations/es/required_documents", {"es": {"required_documents": {"Passport": "Pasaporte"}}}
    yield "/translations/es", {"es": {"texts": {"drawdown": "De inmediato"}}}
    yield "/translations/en", {"en": {"name": "Another English name"}}


@pytest.mark.parametrize(("pointer", "translations"), wrong())
def test_invalid_offer_translations_are_rejected_with_a_json_pointer(api, pointer, translations):
    response = api.send(PATH, {**BODY, "translations": translations})
    assert_error(response, 400, "E1001")
    assert [detail["field"] for detail in response.json()["details"]] == [pointer]
    assert not Offer.objects.exists()


def test_offer_translations_above_the_size_limit_are_rejected(api):
    properties = {
        f"f{number}": {"type": "string", "enum": [f"v{value}" for value in range(60)]} for number in range(12)
    }
    choices = {name: {"choices": dict.fromkeys(member["enum"], "ñ" * 60)} for name, member in properties.items()}
    translations = {"es": {"application_schema": {"properties": choices}}}
    schema = {"type": "object", "properties": properties}
    response = api.send(PATH, {**BODY, "application_schema": schema, "required_documents": None,
                               "translations": translations})  # fmt: skip
    assert_error(response, 400, "E1001")
    assert response.json()["message"] == f"/translations: Must have at most {BYTES_MAX} bytes."


@pytest.mark.parametrize("language", ["fr", "ES", "", 5, True, []])
def test_unknown_language_of_an_offer_is_rejected(api, language):
    assert_error(api.send(PATH, {**BODY, "language": language}), 400, "E1001")


def test_offer_translations_are_returned_unchanged_and_replaced_with_the_offer(api):
    created = api.send(PATH, BODY).json()
    assert (created["language"], created["translations"]) == (None, BODY["translations"])
    assert api.read(f"{PATH}/{created['id']}").json()["translations"] == BODY["translations"]
    replaced = api.replace(f"{PATH}/{created['id']}", {**BODY, "translations": None, "language": "en"}).json()
    assert (replaced["version"], replaced["language"], replaced["translations"]) == (2, "en", None)


def test_offer_is_found_by_its_translated_name(api):
    api.send(PATH, BODY)
    assert "prestamo" in Offer.objects.get().search_words


def page_of(path, language, user=None):
    browser = Client() if user is None else browser_of(user)
    response = browser.get(path, headers={"Accept-Language": language})
    assert response.status_code == 200
    return re.sub(r"\s+", " ", response.content.decode())


def english_texts():
    """Yield each English text of the offer that a form shows."""
    schema = OFFER["application_schema"]
    yield from (OFFER["name"], schema["title"], schema["description"], "new roof", "new_roof<")
    for member in schema["properties"].values():
        yield from filter(None, (member["title"], member.get("description")))


def test_pages_of_an_offer_show_the_translations():
    offer = listed(**translated())
    page = page_of("/my/apply", "es")
    assert SPANISH["name"] in page
    assert SPANISH["description"] in page
    assert OFFER["description"] not in page
    page = page_of(f"/my/apply/{offer.pk}", "es", UserFactory())
    for text in (
        "Obras en su vivienda",
        "Describa la obra",
        "Tipo de obra",
        "Un techo nuevo",
        "Basta una frase.",
        "Uno",
    ):
        assert text in page
    assert [text for text in english_texts() if text in page] == []
    assert 'lang="en"' not in page.replace('en" lang="en"', "")


def test_application_form_shows_labels_for_choice_values():
    offer = listed(**translated())
    page = page_of(f"/my/apply/{offer.pk}", "en", UserFactory())
    assert '<option value="new_roof">A new roof</option>' in page
    assert '<option value="windows">Windows</option>' in page


def test_untranslated_offer_texts_are_marked_with_the_offers_language():
    offer = listed(**translated(translations=None))
    page = page_of("/my/apply", "es")
    assert f'<bdi><span lang="en">{OFFER["name"]}</span></bdi>' in page
    page = page_of(f"/my/apply/{offer.pk}", "es", UserFactory())
    assert '<span lang="en">Kind of work</span>' in page
    assert '<span lang="en">One sentence is enough.</span>' in page
    assert '<span lang="en">Plan of the work</span> (opcional)' in page


def test_texts_of_a_spanish_offer_are_marked_as_spanish_on_english_pages():
    listed(name="Préstamo", description="Para todo.", language="es")
    assert '<bdi><span lang="es">Préstamo</span></bdi>' in page_of("/my/apply", "en")
    assert "<bdi>Préstamo</bdi>" in page_of("/my/apply", "es")


def test_application_page_shows_the_offer_translations_stored_at_submission():
    offer = listed(**translated())
    application = applied(offer, data={"amount_cents": 500_000, "purpose": "new_roof", "floors": 2})
    Offer.objects.update(translations=None, name="Another name")
    page = page_of(f"/my/applications/{application.pk}", "es", application.consumer)
    for text in (SPANISH["name"], "Tipo de obra", "Un techo nuevo", "Dos"):
        assert text in page
    assert OFFER["name"] not in page


def test_draft_page_lists_missing_fields_in_the_readers_language():
    offer = listed(**translated())
    draft = applied(offer, data={"amount_cents": 500_000}, status="draft", submitted_at=None, offer_snapshot=None)
    path = f"/my/applications/{draft.pk}"
    page = page_of(path, "es", draft.consumer)
    assert "Falta «Tipo de obra»." in page
    assert "Presupuesto de la obra" in page
    assert SPANISH["name"] in page_of("/my", "es", draft.consumer)
    Offer.objects.update(translations=None)
    assert 'Falta «<span lang="en">Kind of work</span>».' in page_of(path, "es", draft.consumer)


def test_texts_of_the_lender_in_an_agreement_are_marked_with_the_offers_language():
    with override("es"):
        text = f"Importe: $5\n{OFFER['terms_text']}"
        lines = marked_lines(text, OFFER).split("\n")
        assert lines[0] == "Importe: $5"
        assert lines[2] == '<span lang="en">The law of Iowa governs the agreement.</span>'
        assert "span" not in marked_lines(SPANISH["terms_text"], translated())


def test_translations_of_removed_offer_texts_are_deleted():
    terms = {**translated(), "required_documents": None, "application_schema": None, "description": ""}
    assert pruned(terms["translations"], terms) == {
        "es": {name: SPANISH[name] for name in ("name", "terms_text")},
    }
    assert pruned(None, terms) is None


def test_offer_terms_without_translations_are_returned_unchanged():
    terms = deepcopy(OFFER)
    read = in_language(terms, "es")
    assert read["name"] == OFFER["name"]
    assert read["application_schema"]["properties"]["floors"]["enum"] == [1, 2]
    assert terms == OFFER
