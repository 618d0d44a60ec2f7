"""Test the items of an EU agreement (Directive (EU) 2023/2225, Art. 21), and the two times stored at its acceptance."""

import json
import re
import time
from datetime import timedelta

import pytest
from django.core import signing

from config.core.errors import NotFound
from config.mail.delivery import message_of
from config.mail.models import OutgoingMail
from credit.core.applicants import Applicants
from credit.models import Acceptance, Provider
from credit.terms.agreement import agreement_of_link
from credit.terms.members import TITLES, TITLES_OF_OTHER_LAW, is_complete
from tests.api import client_of
from tests.credit.eu.offers import EU_TERMS, TEXTS, eu_offer
from tests.credit.eu.test_contract_withdrawal import OTHER, PERSON
from tests.credit.notices.test_pages import read
from tests.credit.terms.lending import accept_terms, applied, approve, lender_of

pytestmark = pytest.mark.django_db
LOAN = {"amount_cents": 1_000_000, "rate_percent": 14.2, "term_months": 24, "fee_cents": 30_000}


def accepted(application, terms=LOAN):
    """Approve an application with terms, accept the terms, and return the agreement's items by name."""
    client = client_of(application.consumer)
    assert approve(client, application, terms).status_code == 200
    answer = accept_terms(client, application)
    assert answer.status_code == 200, answer.content
    shown = client.read(f"/applications/{application.pk}/agreement").json()
    return {member["name"]: member["text"] for member in shown["members"]}


def agreed(person=PERSON, **terms):
    application = applied(eu_offer(**{"apr_max_percent": 40, **terms}), applicants=Applicants.of([person]))
    members = accepted(application)
    application.refresh_from_db()
    path = f"/applications/{application.pk}/agreement"
    return application, members, client_of(application.consumer).read(path, accept="text/html").content.decode()


def test_eu_agreement_contains_a_text_for_each_of_the_24_items_of_article_21():
    application, members, page = agreed()
    assert list(members) == list(TITLES)
    assert len(members) == 24
    assert all(members.values())
    assert "<h1>Credit agreement</h1>" in page
    assert (application.complete_since, application.told_of_right_at) == (application.accepted_at,) * 2
    assert members["sureties"] == members["goods"] == "Does not apply."
    assert members["total_credit"] == "9,700.00\u00a0EUR"
    assert members["apr"].startswith("18.8 %")
    assert "11,545.80\u00a0EUR" in members["apr"]
    assert "3.89\u00a0EUR a day" in members["withdrawal"]
    assert "A compensation is at most" in members["early_repayment"]
    assert members["parties"].startswith("Harbor Crédit\n1 Quai du Port")
    Provider.objects.update(phone="+33 1 00 00 00 00")
    kept = Acceptance.objects.get(application=application).members
    assert {member["name"]: member["text"] for member in kept} == members
    assert is_complete(kept)


def test_eu_agreement_with_missing_article_21_fields_is_marked_incomplete():
    texts = {name: text for name, text in TEXTS.items() if name not in {"late_payment", "ombudsman"}}
    application, members, page = agreed(texts=texts)
    assert members["late_payment"] is members["redress"] is None
    assert "<h1>Credit agreement</h1>" not in page
    assert "Terms of the credit (incomplete)" in page
    assert (application.complete_since, application.told_of_right_at) == (None, application.accepted_at)


def test_agreement_page_and_article_21_items_have_the_same_language():
    """The request, for example the lender's, has no language."""
    _application, members, page = agreed(person={**PERSON, "language": "de"})
    assert members["total_credit"] == "9.700,00\u00a0EUR"
    assert members["goods"] != "Does not apply."
    text, language = read(page)
    assert language == "de"
    assert "Kreditvertrag" in text
    assert "Gesetzliche Angaben" in text
    assert "11.545,80 EUR" in text
    assert [words for words in ("Credit agreement", "What it costs", "Borrower", "December") if words in text] == []


def test_fee_that_is_paid_separately_adds_to_the_total_payable():
    _application, members, _page = agreed(fee_financed=False)
    assert members["total_credit"] == "10,000.00\u00a0EUR"
    assert "11,845.80\u00a0EUR" in members["apr"]


def test_us_agreement_has_no_article_21_items_and_is_not_mailed():
    offer = eu_offer(**dict.fromkeys(EU_TERMS), apr_max_percent=40)
    application = applied(offer, applicants=Applicants.of([PERSON, OTHER]))
    client = client_of(application.consumer)
    assert approve(lender_of(offer), application, LOAN).status_code == 200
    assert accept_terms(client, application).status_code == 200
    shown = client.read(f"/applications/{application.pk}/agreement").json()
    assert [member["name"] for member in shown["members"]] == [*TITLES_OF_OTHER_LAW]
    assert not OutgoingMail.objects.filter(template="agreement").exists()


def test_overdraft_agreement_has_the_apr_of_the_precontract_form():
    offer = eu_offer(term_options_months=None, product_type="overdraft", texts={**TEXTS, "termination": "A month."})
    application = applied(offer, applicants=Applicants.of([PERSON]), data={"amount_cents": 1_000_000})
    agreed_rate = accepted(application, {"rate_percent": 14.2, "fee_cents": 10_000})["apr"]
    rows = client_of(application.consumer).read(f"/applications/{application.pk}/precontract").json()["rows"]
    (form_rate,) = [row["value"] for row in rows if row["title"].startswith("Annual percentage rate")]
    assert agreed_rate.split(" %")[0] == form_rate.split(" %")[0]
    assert "three months" in agreed_rate


def test_agreement_of_a_line_of_credit_has_the_assumed_apr():
    offer = eu_offer(term_options_months=None, texts={**TEXTS, "termination": "A month's notice."})
    application = applied(offer, applicants=Applicants.of([PERSON]), data={"amount_cents": 3_000_000})
    members = accepted(application, {"rate_percent": 6.9, "fee_cents": 60_000})
    assert (
        "The APR is calculated for a credit of one year, with twelve equal monthly repayments of capital"
        in members["apr"]
    )
    assert re.match(r"11\.\d %; in all you pay 31,121\.28", members["apr"].replace("\u00a0", " ")), members["apr"]
    assert (members["duration"], members["termination"]) == ("Open-end", "A month's notice.")


def test_second_borrower_can_read_the_agreement_through_a_mailed_link_without_an_account(client, monkeypatch):
    offer = eu_offer()
    accepted(applied(offer, applicants=Applicants.of([PERSON, OTHER])))
    mail = OutgoingMail.objects.get(template="agreement")
    assert (mail.recipient, mail.language) == ("ben@example.test", "es")
    message = message_of(
        to=mail.recipient, template=mail.template, context=json.loads(mail.context), language=mail.language
    )
    assert message.subject.startswith("Su contrato de crédito")
    link = json.loads(mail.context)["link"]
    path = link[link.index("/my/agreement/") :]
    text = read(client.get(path).content.decode())[0]
    assert "Credit agreement" in text
    assert "Ben Beispiel" in text
    assert "You can withdraw from the agreement within 14 calendar days" in text
    assert client.get(f"{path}x").status_code == 404
    days_later = time.time() + timedelta(days=91).total_seconds()
    monkeypatch.setattr(signing.time, "time", lambda: days_later)
    with pytest.raises(NotFound):
        agreement_of_link(path.rpartition("/")[2])
