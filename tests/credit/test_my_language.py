"""Test that `/my` and its mails use the applicant's language, or the browser's."""

import json
import re
from datetime import timedelta

import pytest
from django.core import mail
from django.utils import timezone

from config.mail.delivery import deliver_some
from credit.applications.services import expire_idle
from credit.core.applicants import Applicants
from identity.accounts.addresses import confirm
from identity.models import User
from tests.credit.applicants import PERSON
from tests.credit.document_support import with_documents
from tests.credit.notices.test_pages import ROOT, read
from tests.credit.notices.world import World
from tests.credit.terms.lending import approve, lender_of
from tests.credit.test_my_pages import browser_of, page_of, press_button, upload_file
from tests.credit.test_my_terms import decide, terms_page
from tests.factories import UserFactory

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("reviewed")]
CATALOGUE = (ROOT / "locale" / "es" / "LC_MESSAGES" / "django.po").read_text()
ENGLISH = [text for text in re.findall(r'^msgid "([^%]+)"$', CATALOGUE, re.MULTILINE) if " " in text]


def spanish(page):
    """Return the text of a page; check that it is Spanish, without any English text of the catalog."""
    text, language = read(page)
    assert language == "es"
    assert [item for item in ENGLISH if item in text] == []
    return text


def german(page):
    """Return the text of a page; check that it is German, without any English text of the catalog."""
    text, language = read(page)
    assert language == "de"
    assert [phrase for phrase in ENGLISH if phrase in text] == []
    return text


def speaking(application, language="es-MX"):
    application.applicants = Applicants.of([{**PERSON, "language": language}])
    application.save()
    return application


def test_every_page_of_an_application_is_available_in_spanish(committed):
    world = World(person={**PERSON, "language": "es"}, start=timezone.now())
    application = world.application
    assert "Todavía falta algo" not in spanish(page_of(application))
    assert "La solicitud se envió al prestamista." in spanish(press_button(application, "send"))
    world.move(0, "under_review")
    world.counter(0)
    text = spanish(page_of(application))
    assert "El prestamista ofrece otras condiciones · " in text
    assert "$5,000.00 al 9.00 % durante 24 meses" in text
    assert "Revise antes de aceptar" in spanish(terms_page(application))
    browser = browser_of(application.consumer)
    assert "Usted no ha aceptado este contrato." in spanish(agreement(browser, world.pk))
    refused = spanish(decide(application, "accept", agreed=""))
    assert "He leído las condiciones y el contrato, y los acepto." in refused
    assert "Marque la casilla para aceptar." in refused
    assert "Las condiciones cambiaron." in spanish(decide(application, "accept", terms_sha256="0" * 64))
    shown = decide(application, "accept", terms_sha256=application.counteroffers.get().loan_terms.terms_sha256)
    assert "Usted aceptó la oferta." in spanish(shown)
    assert "Se aceptó la contraoferta." in spanish(shown)
    assert "Contrato de crédito" in spanish(agreement(browser, world.pk))
    assert "Aprobada y aceptada" in spanish(browser.get("/my").content.decode())
    assert "Cómo recibo los avisos" in spanish(browser.get("/my/consent").content.decode())


def agreement(browser, application_id):
    return browser.get(f"/my/applications/{application_id}/agreement").content.decode()


def test_declined_and_expired_application_pages_are_available_in_spanish():
    world = World(person={**PERSON, "language": "es"}, start=timezone.now())
    world.submit(0)
    world.approve(0)
    text = spanish(decide(world.application, "decline"))
    assert "Usted rechazó la oferta." in text
    assert "El solicitante rechazó las condiciones aprobadas." in text
    application = speaking(World(world.offer, start=timezone.now()).application)
    expire_idle(now=timezone.now() + timedelta(days=31))
    assert "30 días sin actividad." in spanish(page_of(application))


def test_rejection_and_reconsideration_pages_are_available_in_spanish():
    world = World(person={**PERSON, "language": "es"}, start=timezone.now())
    world.submit(0)
    reasons = {"reasons": ["bankruptcy", "no_credit_file"]}
    world.move(0, "rejected", reason="Your income is too low.", metadata=reasons)
    page = spanish(page_of(world.application))
    why = page.partition("Por qué se rechazó")[2].partition("Qué ocurre ahora")[0].split()
    assert " ".join(why) == "Bancarrota Sin expediente de crédito Mensaje del prestamista Your income is too low."
    assert '<span lang="en">Your income is too low.</span>' in page_of(world.application)
    empty = press_button(world.application, "ask_again", statement="")
    assert "Escriba sus motivos para la reconsideración" in spanish(empty)
    requested = press_button(world.application, "ask_again", statement="Más.")
    assert "Un revisor que no participó en la decisión responderá" in spanish(requested)


def test_reviewer_message_is_marked_with_the_language_in_its_metadata():
    world = World(person={**PERSON, "language": "es"}, start=timezone.now())
    world.submit(0)
    metadata = {"reasons": ["income_insufficient", {"code": "other", "text": "Contrato temporal"}], "language": "es-MX"}
    world.move(0, "rejected", reason="Sus ingresos son bajos.", metadata=metadata)
    page = page_of(world.application)
    assert "<bdi>Sus ingresos son bajos.</bdi>" in page
    assert "<bdi>Contrato temporal</bdi>" in page
    User.objects.update(language="en")
    page = page_of(world.application)
    assert '<span lang="es-MX">Sus ingresos son bajos.</span>' in page
    assert '<span lang="es-MX">Contrato temporal</span>' in page


@pytest.mark.parametrize("language", [None, 5, "", "no language", 'es" onclick="', ["es"], "x" * 99])
def test_reviewer_message_with_an_invalid_language_is_marked_with_the_offers_language(language):
    world = World(person={**PERSON, "language": "es"}, start=timezone.now())
    world.submit(0)
    world.move(0, "rejected", reason="Too low.", metadata={"reasons": ["income_insufficient"], "language": language})
    assert '<span lang="en">Too low.</span>' in page_of(world.application)


def test_applicants_withdrawal_reason_has_no_language_attribute():
    world = World(person={**PERSON, "language": "es"}, start=timezone.now())
    world.submit(0)
    world.move(0, "withdrawn", by=world.consumer, reason="I have another offer.")
    assert '<bdi class="hint">I have another offer.</bdi>' in page_of(world.application)


def test_document_upload_page_is_available_in_spanish():
    application = speaking(with_documents(UserFactory()))
    assert "El archivo debe ser PDF, JPEG o PNG." in spanish(upload_file(application, b"MZ"))
    assert "Se subió el archivo." in spanish(upload_file(application))
    assert "Los documentos se enviaron al prestamista." in spanish(press_button(application, "send"))


def test_page_without_an_applicant_language_uses_the_browser_language(user):
    def shown(wish):
        return read(browser_of(user).get("/my", headers={"Accept-Language": wish}).content.decode())[1]

    wishes = ("es-AR,en;q=0.5", "de-AT,en", "fr", "")
    assert [shown(wish) for wish in wishes] == ["es", "de", "en", "en"]


def test_every_page_of_an_application_is_available_in_german(committed):
    world = World(person={**PERSON, "language": "de"}, start=timezone.now())
    application = world.application
    assert "Der Antrag liegt beim Kreditgeber." in german(press_button(application, "send"))
    world.move(0, "under_review")
    world.approve(0)
    world.issue(1)
    text = german(page_of(application))
    assert "Bewilligt" in text
    assert "Nehmen Sie die Konditionen an, oder lehnen Sie sie ab." in text
    assert "Prüfen Sie vor der Annahme" in german(terms_page(application))
    terms_sha256 = world.application.loan_terms.terms_sha256
    assert "Sie haben das Angebot angenommen." in german(decide(application, "accept", terms_sha256=terms_sha256))
    browser = browser_of(application.consumer)
    assert "Kreditvertrag" in german(agreement(browser, world.pk))
    assert "Wie Schreiben mich erreichen" in german(browser.get("/my/consent").content.decode())
    assert "Ihr Antrag wurde bewilligt" in german(world.notice.html)


def test_mail_about_an_application_uses_the_applicants_language():
    world = World(person={**PERSON, "language": "es"}, start=timezone.now())
    confirm(world.consumer.user, "rosa@example.org")
    world.submit(0)
    assert approve(lender_of(world.offer), world.application).status_code == 200
    deliver_some(now=timezone.now())
    submitted, decided = mail.outbox
    assert submitted.subject.startswith("Su solicitud se envió al prestamista: Cedar Bank, A-")
    assert decided.subject.startswith("El prestamista decidió sobre su solicitud: Cedar Bank, A-")
    assert "Siguiente paso: Acepte o rechace las condiciones." in decided.body
    assert json.dumps(decided.body).count("/my/applications/") == 1


def test_mail_about_an_application_uses_the_chosen_language_of_the_account():
    world = World(person={**PERSON, "language": "de"}, start=timezone.now())
    user = world.consumer.user
    user.language = "es"
    user.save()
    confirm(user, "rosa@example.org")
    world.submit(0)
    deliver_some(now=timezone.now())
    assert mail.outbox[0].subject.startswith("Su solicitud se envió al prestamista: Cedar Bank, A-")
