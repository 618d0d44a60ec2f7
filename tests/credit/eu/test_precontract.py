"""Test the rows, pages, and readers of the European information form (Directive (EU) 2023/2225, Art. 10)."""

import json
import re
import time
from datetime import timedelta
from hashlib import sha256

import pytest
from django.core import signing
from django.db import DatabaseError, connection, transaction
from django.utils import timezone, translation
from django.utils.formats import date_format

from config.core.errors import NotFound
from config.core.lifecycle import Actor
from config.mail.models import OutgoingMail
from credit.core.annex_i import ROWS
from credit.core.applicants import Applicants
from credit.models import Notice, Offer, Precontract
from credit.terms.acceptance import decline, form_of_link, form_to_read
from tests.api import assert_error, client_of
from tests.backoffice.conftest import backoffice_client, staff_of
from tests.credit.eu.offers import TEXTS, eu_offer
from tests.credit.eu.test_figures import LOAN, approved
from tests.credit.notices.test_pages import read
from tests.credit.terms.lending import acceptance_of, approve
from tests.factories import OfferFactory, UserFactory

pytestmark = pytest.mark.django_db


def path_of(application):
    return f"/applications/{application.pk}/precontract"


def accept(client, application, **members):
    body = {"terms_sha256": acceptance_of(client, application)["terms_sha256"], **members}
    return client.send(f"/applications/{application.pk}/acceptance", body)


def values_of(form):
    return {ROWS[row["number"] - 1].name: row["value"] for row in form["rows"]}


def test_precontract_form_has_60_rows_with_the_figures_of_the_application():
    application, _ = approved()
    form = client_of(application.consumer).read(path_of(application)).json()
    assert [row["number"] for row in form["rows"]] == list(range(1, 61))
    assert all(row["title"] and row["value"] for row in form["rows"])
    values = values_of(form)
    assert values["total_credit"].startswith("9,700.00\u00a0EUR")
    assert values["total_payable"].startswith("11,545.80\u00a0EUR")
    assert values["apr"].startswith("18.8 %")
    assert values["late_payment"] == TEXTS["late_payment"]
    assert values["sureties"] == "Does not apply."
    assert "RCS Paris" in values["register_number"]
    assert len(form["schedule"]) == 24
    page = client_of(application.consumer).read(path_of(application), accept="text/html").content
    assert sha256(page).hexdigest() == form["sha256"]
    assert len(re.findall(rb'data-row="\d+"', page)) == 60
    assert b"$" not in page


def test_precontract_form_in_another_language_has_translated_rows():
    application, _ = approved()
    english, spanish, german = (
        client_of(application.consumer).read(f"{path_of(application)}?language={language}").json()
        for language in ("en", "es", "de")
    )
    for other in (spanish, german):
        assert values_of(other)["total_credit"].startswith("9.700,00\u00a0EUR")
        titles = zip(english["rows"], other["rows"], strict=True)
        assert [row["title"] for row, translated in titles if row["title"] == translated["title"]] == []


def test_acceptance_requires_the_hash_of_a_provided_precontract_form():
    application, _ = approved()
    client = client_of(application.consumer)
    for members in ({}, {"precontract_sha256": None}, {"precontract_sha256": "0" * 64}):
        assert_error(accept(client, application, **members), 400, "E3018")
    form = client.read(path_of(application)).json()
    assert form["medium"] == "api"
    assert accept(client, application, precontract_sha256=form["sha256"]).status_code == 200
    assert client.read(path_of(application)).json()["sha256"] == form["sha256"]


def test_changed_terms_require_a_new_precontract_form():
    application, _ = approved()
    client = client_of(application.consumer)
    form = client.read(path_of(application)).json()
    client.replace(f"/applications/{application.pk}/status", {"status": "under_review", "updated_by": "x"})
    assert approve(client, application, {**LOAN, "rate_percent": 13}).status_code == 200
    assert_error(accept(client, application, precontract_sha256=form["sha256"]), 400, "E3018")
    assert client.read(path_of(application)).json()["sha256"] != form["sha256"]


@pytest.mark.parametrize(("hours", "reminders"), [(1, 1), (25, 0)])
def test_acceptance_within_a_day_of_the_precontract_form_creates_a_withdrawal_reminder(hours, reminders):
    application, _ = approved()
    client = client_of(application.consumer)
    form = client.read(path_of(application)).json()
    Precontract.objects.update(provided_at=timezone.now() - timedelta(hours=hours))
    assert accept(client, application, precontract_sha256=form["sha256"]).status_code == 200
    assert Notice.objects.filter(kind="withdrawal_reminder").count() == reminders


def test_precontract_form_opened_only_by_the_lender_is_not_recorded_as_provided():
    offer = eu_offer()
    application, _ = approved(offer=offer)
    form = client_of(offer.owner).read(path_of(application)).json()
    assert (form["provided_at"], form["medium"]) == (None, None)
    assert_error(accept(client_of(application.consumer), application, precontract_sha256=form["sha256"]), 400, "E3018")
    assert_error(client_of(UserFactory()).read(path_of(application)), 404, "E4002")
    rejected, _ = approved({**LOAN, "rate_percent": 100}, offer=offer)
    assert_error(client_of(rejected.consumer).read(path_of(rejected)), 404, "E4001")


def test_precontract_form_of_an_offer_describes_the_example_or_requested_loan():
    offer, client = eu_offer(), client_of(UserFactory())
    values = values_of(client.read(f"/provider-offers/{offer.pk}/precontract").json())
    assert values["apr"].startswith("18.8 %")
    query = "?amount_cents=500000&term_months=12&language=es"
    assert "Importe" in client.read(f"/provider-offers/{offer.pk}/precontract{query}").json()["rows"][3]["title"]
    for query in ("amount_cents=1", "term_months=13", "language=xx"):
        assert_error(client.read(f"/provider-offers/{offer.pk}/precontract?{query}"), 400, "E1001")
    Offer.objects.filter(pk=offer.pk).update(regime="none", regime_reason="Secured by a mortgage.")
    for other in (OfferFactory(), offer):
        error = assert_error(client.read(f"/provider-offers/{other.pk}/precontract"), 404, "E4001")
        assert "Directive (EU) 2023/2225 does not apply to it" in error["message"]


def test_acceptance_page_links_to_and_provides_the_precontract_form(client):
    application, _ = approved()
    client.force_login(application.consumer)
    page = client.get(f"/my/applications/{application.pk}/accept").content.decode()
    assert f"/my/applications/{application.pk}/information" in page
    form = Precontract.objects.get()
    assert (form.medium, form.opened_at) == ("portal", None)
    text, _ = read(client.get(f"/my/applications/{application.pk}/information").content.decode())
    assert "Total amount you will have to pay" in text
    form.refresh_from_db()
    assert form.opened_at is not None
    terms = re.search(r'name="terms_sha256" value="(\w+)"', page)[1]
    posted = {"do": "accept", "agreed": "yes", "terms_sha256": terms, "precontract_sha256": form.sha256}
    client.post(f"/my/applications/{application.pk}/accept", posted)
    application.refresh_from_db()
    assert application.accepted_at is not None


def test_database_rejects_changes_and_deletions_of_a_precontract_form():
    application, _ = approved()
    client_of(application.consumer).read(path_of(application))
    for change in ({"sha256": "0" * 64}, {"terms_sha256": "0" * 64}, {"language": "de"}):
        with pytest.raises(DatabaseError, match="never changes"), transaction.atomic():
            Precontract.objects.update(**change)
    with pytest.raises(DatabaseError, match="never changes"), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("DELETE FROM credit_precontract")


def test_back_office_page_shows_whether_the_precontract_form_was_provided():
    application, _ = approved()
    reviewer, page = backoffice_client(staff_of("Reviewer")), f"/admin/credit/application/{application.pk}/change/"
    assert "Not yet provided" in reviewer.get(page).content.decode()
    client_of(application.consumer).read(path_of(application))
    assert "Provided at" in reviewer.get(page).content.decode()


def test_console_lists_approvals_without_a_provided_precontract_form():
    offer = eu_offer()
    waiting, read_already = (approved(offer=offer)[0] for _ in range(2))
    outside, answer = approved(offer=OfferFactory(provider=offer.provider, term_options_months=[24]))
    assert answer.status_code == 200, answer.content
    client_of(read_already.consumer).read(path_of(read_already))
    page = backoffice_client(staff_of("Reviewer")).get("/admin/credit/application/?queue=forms").content.decode()
    shown = [application for application in (waiting, read_already, outside) if str(application.pk) in page]
    assert shown == [waiting]


def with_applicants(*persons):
    """Return an approved application of these persons."""
    application, _ = approved()
    application.refresh_from_db()
    application.applicants = Applicants.of(persons)
    application.save(update_fields=["applicants"])
    return application


def test_second_borrower_can_read_the_precontract_form_through_a_link_without_an_account(client, monkeypatch):
    application = with_applicants({"email": "ada@example.test"}, {"email": "ben@example.test", "language": "de"})
    for _repetition in range(2):
        client_of(application.consumer).read(path_of(application))
    mail = OutgoingMail.objects.get(template="information")
    assert (mail.recipient, mail.language) == ("ben@example.test", "de")
    link = json.loads(mail.context)["link"]
    path = link[link.index("/my/information/") :]
    page = client.get(path).content.decode()
    assert "Gesamtkreditbetrag" in page
    assert "ada@example.test" not in page
    assert client.get(f"{path}x").status_code == 404
    days_later = time.time() + timedelta(days=91).total_seconds()
    monkeypatch.setattr(signing.time, "time", lambda: days_later)
    with pytest.raises(NotFound):
        form_of_link(path.rpartition("/")[2])


def test_precontract_form_of_a_declined_approval_is_not_mailed_to_the_second_borrower():
    application = with_applicants({"email": "ada@example.test"}, {"email": "ben@example.test"})
    decline(str(application.pk), actor=Actor(user=application.consumer, credential="session"), now=timezone.now())
    assert client_of(application.consumer).read(path_of(application)).status_code == 200
    assert not OutgoingMail.objects.filter(template="information").exists()


def test_translated_precontract_form_after_acceptance_has_the_schedule_of_the_agreement():
    application, _ = approved()
    client = client_of(application.consumer)
    form = client.read(f"{path_of(application)}?language=en").json()
    assert accept(client, application, precontract_sha256=form["sha256"]).status_code == 200
    application.refresh_from_db()
    later = timezone.now() + timedelta(days=40)
    spanish = form_to_read(application, language="es", now=later)
    assert spanish.schedule == form["schedule"]
    values = values_of({"rows": spanish.rows})
    assert values["duration"] == "24 meses"
    with translation.override("es"):
        started = date_format(application.loan_terms.as_of, r"j \d\e F \d\e Y")
    assert values["validity"] == f"Desde el {started}."
