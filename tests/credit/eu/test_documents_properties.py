"""Test that EU documents in every currency and language have no dollar sign.

`EU_DOCUMENTS=10000` generates that many documents.
"""

import json
import os
import random
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import call_command
from django.utils import timezone, translation

from config.mail.delivery import message_of
from config.mail.models import OutgoingMail
from credit.core.applicants import Applicants
from credit.core.loan_words import FIGURES, in_words, rows_of
from credit.models import Notice, Precontract
from tests.api import client_of
from tests.credit.eu.forms import LANGUAGES, TODAY, random_form
from tests.credit.eu.offers import eu_offer
from tests.credit.eu.test_figures import LOAN
from tests.credit.eu.test_precontract import accept, path_of
from tests.credit.notices.world import WHOLE
from tests.credit.terms.lending import applied, approve
from tests.credit.test_my_pages import browser_of

DOCUMENTS = int(os.environ.get("EU_DOCUMENTS", "12"))
SMALL = {"regime": "ccd2_small", "regime_reason": "Small.", "loan_amount_min_cents": 1}


@pytest.mark.timeout(0)
def test_precontract_forms_of_random_eu_loans_contain_no_dollar_sign():
    chance = random.Random(2023_2225)
    for number in range(DOCUMENTS):
        language = LANGUAGES[number % len(LANGUAGES)]
        form = random_form(language, chance)
        with translation.override(language):
            shown = [in_words(form.terms), *(value for _name, value in rows_of(form.terms, FIGURES, start=TODAY))]
        assert "$" not in form.html, (number, language)
        assert "$" not in "".join(shown), (number, language)


def documents_of(application):
    """Yield the name and the text of every document of an agreement: pages, notices and mails."""
    client, path = client_of(application.consumer), f"/applications/{application.pk}"
    for name in ("precontract", "agreement"):
        yield name, client.read(f"{path}/{name}", accept="text/html").content.decode()
    browser = browser_of(application.consumer)
    for name in ("", "/explanation", "/withdrawal"):
        page = browser.get(f"/my/applications/{application.pk}{name}").content.decode()
        yield f"/my{name}", page.partition("<main")[2]
    for notice in Notice.objects.filter(application=application.pk, html__isnull=False):
        yield notice.kind, notice.html
    for mail in OutgoingMail.objects.all():
        about = {"template": mail.template, "context": json.loads(mail.context), "language": mail.language}
        message = message_of(to=mail.recipient, **about)
        yield mail.template, f"{message.subject} {message.body}"


@pytest.mark.django_db
@pytest.mark.parametrize(("currency", "language"), [("EUR", "de"), ("JPY", "en"), ("TND", "es")])
def test_documents_of_an_eu_agreement_use_the_currency_of_the_loan_and_no_dollar_sign(currency, language):
    offer = eu_offer(**{**SMALL, "currency": currency})
    address = {**WHOLE["address"], "country": "DE", "region": None}
    person = {**WHOLE, "address": address, "language": language}
    persons = Applicants.of([person])
    application = applied(offer, applicants=persons, applicants_sha256=persons.sha256)
    client = client_of(application.consumer)
    assert approve(client, application, LOAN).status_code == 200
    form = client.read(f"{path_of(application)}?language={language}").json()
    Precontract.objects.update(provided_at=timezone.now() - timedelta(hours=1))
    assert accept(client, application, precontract_sha256=form["sha256"]).status_code == 200
    Notice.objects.update(look_at=timezone.now() - timedelta(minutes=1))
    call_command("issue_notices", "--once", stdout=StringIO())
    application.refresh_from_db()
    assert client.send(f"/applications/{application.pk}/withdrawal", {}).status_code == 200
    documents = dict(documents_of(application))
    assert {"precontract", "agreement", "/my", "contract_withdrawn"} <= documents.keys()
    for name, text in documents.items():
        assert "$" not in text, name
    assert all(currency in documents[name] for name in ("precontract", "agreement", "contract_withdrawn"))
