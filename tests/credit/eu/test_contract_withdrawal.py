"""Test `GET` and `POST /applications/{id}/withdrawal`, the withdrawal page, and the effects of a withdrawal."""

import json
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from django.conf import settings
from django.contrib.admin.models import LogEntry
from django.db import transaction
from django.utils import timezone
from django.utils.formats import date_format

from config.core.lifecycle import Actor, ReviewerRequired
from config.mail.delivery import message_of
from config.mail.models import OutgoingMail
from config.webhooks.models import Event
from credit.core.applicants import Applicants
from credit.core.figures import reference_of
from credit.models import Acceptance, Application, ContractWithdrawal, LoanTerms
from credit.terms import loans, withdrawals
from tests.api import assert_error, client_of
from tests.backoffice.conftest import backoffice_client, staff_of
from tests.credit.eu.offers import eu_offer
from tests.credit.notices.test_pages import read as read_page
from tests.credit.support import key_of, move
from tests.credit.terms.lending import applied
from tests.factories import UserFactory

pytestmark = pytest.mark.django_db
ADDRESS = {"line1": "Hauptstr. 1", "line2": None, "city": "Berlin", "region": None, "postal_code": "10115"}
PERSON = {"legal_name": "Ada Beispiel", "email": "ada@example.test", "address": {**ADDRESS, "country": "DE"}}
OTHER = {**PERSON, "legal_name": "Ben Beispiel", "email": "ben@example.test", "language": "es"}
BERLIN = ZoneInfo("Europe/Berlin")
CONCLUDED = datetime(2026, 12, 1, 10, tzinfo=UTC)  # the withdrawal period ends on December 15


def concluded(*, at=CONCLUDED, persons=(PERSON,), terms=None, **columns):
    """Return an application with an accepted agreement: 10,000.00 at 14.2 % for 24 months, with a fee of 300.00."""
    offer = eu_offer(**(terms or {}))
    application = applied(offer, status="approved", applicants=Applicants.of(list(persons)))
    loan = loans.Loan(1_000_000, loans._rate(14.2, ""), 24, 30_000)
    named = loans.compute(application, loan, kind=LoanTerms.APPROVAL, now=at)
    named.save(force_insert=True)
    moments = {"accepted_at": at, "told_of_right_at": at, "complete_since": at, **columns}
    Application.objects.filter(pk=application.pk).update(loan_terms=named, **moments)
    Acceptance.objects.create(
        application=application, terms_sha256=named.terms_sha256, loan_terms=named, accepted_at=at,
        principal=application.consumer, credential="jwt",
    )  # fmt: skip
    application.refresh_from_db()
    return application


def read(client, application):
    return client.read(f"/applications/{application.pk}/withdrawal")


def declare(client, application, **body):
    return client.send(f"/applications/{application.pk}/withdrawal", body)


@pytest.fixture
def recent():
    return concluded(at=timezone.now() - timedelta(days=2))


def test_withdrawal_right_response_contains_the_period_and_the_amounts():
    application = concluded()
    body = read(client_of(application.consumer), application).json()
    assert body == {
        "told_of_right_at": "2026-12-01T10:00:00.000000Z", "complete_since": "2026-12-01T10:00:00.000000Z",
        "period_ends_at": "2026-12-15T23:00:00.000000Z", "declared_at": None, "repay_by": None,
        "interest_a_day_cents": 389, "capital_cents": 1_000_000, "fee_back_cents": 30_000, "proof": None,
    }  # fmt: skip


def test_withdrawal_period_does_not_end_if_the_borrower_was_not_informed_of_the_right():
    """Test the rule in Directive (EU) 2023/2225, Art. 26(2), last sentence."""
    application = concluded(at=timezone.now() - timedelta(days=2000), told_of_right_at=None)
    client = client_of(application.consumer)
    assert read(client, application).json()["period_ends_at"] is None
    assert declare(client, application).status_code == 200


def test_withdrawal_by_a_borrower_ends_the_agreement_for_all_borrowers(recent):
    application = recent
    application.applicants = Applicants.of([PERSON, OTHER])
    application.save()
    client = client_of(application.consumer)
    body = declare(client, application).json()
    application.refresh_from_db()
    row = ContractWithdrawal.objects.get()
    assert (application.status, application.withdrawn_from_at) == ("approved", row.declared_at)
    assert (row.channel, row.repay_by) == ("api", row.received_at.astimezone(BERLIN).date() + timedelta(days=30))
    assert declare(client, application).json() == body == read(client, application).json()
    assert ContractWithdrawal.objects.count() == 1
    mails = OutgoingMail.objects.filter(template="contract_withdrawn").order_by("pk")
    recipients = [(mail.recipient, mail.language) for mail in mails]
    assert recipients == [("ada@example.test", "en"), ("ben@example.test", "es")]
    events = Event.objects.filter(type="application.contract_withdrawn")
    assert {event.account_id for event in events} == {application.consumer_id, lender_of_row(application).pk}
    answer = move(client_of(lender_of_row(application)), application, "under_review", reason="A mistake.")
    assert assert_error(answer, 400, "E3001")["details"]["allowed"] == []


def test_after_the_withdrawal_period_only_the_lender_can_record_a_timely_withdrawal():
    application = concluded(at=timezone.now() - timedelta(days=40))
    error = assert_error(declare(client_of(application.consumer), application), 400, "E3019")
    assert error["details"]["last_day"] in error["message"]
    assert not ContractWithdrawal.objects.exists()
    lender = lender_of_row(application)
    sent_at = (timezone.now() - timedelta(days=35)).replace(microsecond=0)
    body = declare(client_of(lender), application, declared_at=sent_at.isoformat(), channel="post").json()
    assert datetime.fromisoformat(body["declared_at"]) == sent_at
    row = ContractWithdrawal.objects.get()
    assert (row.channel, row.principal) == ("post", lender)


def lender_of_row(application):
    return application.provider_owner(str(application.provider_id), application.created_at).get().owner


def test_invalid_withdrawal_record_returns_400(recent):
    lender = client_of(lender_of_row(recent))
    for body, field in (
        ({}, "declared_at"), ({"declared_at": "2026-12-02T10:00:00Z"}, "channel"),
        ({"declared_at": "1999-12-02T10:00:00Z", "channel": "post"}, "declared_at"),
        ({"declared_at": "2999-12-02T10:00:00Z", "channel": "post"}, "declared_at"),
        ({"declared_at": "yesterday", "channel": "post"}, "declared_at"), ({"channel": "pigeon"}, "channel"),
        ({"unknown": 1}, "unknown"),
    ):  # fmt: skip
        answer = declare(lender, recent, **body)
        assert_error(answer, 400, "E1001")
        assert field in answer.content.decode()
    body = {"declared_at": "2026-12-02T10:00:00Z", "channel": "post"}  # Borrowers can't backdate a declaration.
    assert_error(declare(client_of(recent.consumer), recent, **body), 400, "E1001")
    assert not ContractWithdrawal.objects.exists()


def test_only_the_borrower_and_the_lender_can_declare_a_withdrawal(recent):
    assert_error(declare(client_of(UserFactory()), recent), 404, "E4002")
    assert_error(read(client_of(UserFactory()), recent), 404, "E4002")
    assert_error(declare(key_of(recent.consumer, "applications:read"), recent), 403, "E2005")
    body = {"declared_at": timezone.now().isoformat(), "channel": "post"}
    assert_error(declare(key_of(lender_of_row(recent), "applications:write"), recent, **body), 403, "E2005")


def test_agreement_outside_the_directive_has_no_right_of_withdrawal():
    offer = eu_offer(regime="none", regime_reason="Secured by a mortgage.")
    application = applied(offer, status="approved", accepted_at=timezone.now())
    client = client_of(application.consumer)
    assert_error(read(client, application), 404, "E4001")
    assert_error(declare(client, application), 404, "E4001")


def test_withdrawal_page_declares_the_withdrawal_and_shows_the_amounts_due(recent, client):
    client.force_login(recent.consumer)
    address = f"/my/applications/{recent.pk}/withdrawal"
    page = client.get(address).content.decode()
    assert "without giving a reason until the end of" in page
    assert "3.89" in page
    assert address in client.get(f"/my/applications/{recent.pk}").content.decode()
    client.post(address, {})
    assert not ContractWithdrawal.objects.exists()
    client.post(address, {"sure": "yes"})
    assert ContractWithdrawal.objects.get().channel == "portal"
    page = client.get(address).content.decode()
    assert "You withdrew from this contract on" in page
    assert "<form" not in page.partition("<main")[2]


def text_of_mails():
    mails = OutgoingMail.objects.filter(template="contract_withdrawn").order_by("pk")
    return [
        message_of(to=mail.recipient, template=mail.template, context=json.loads(mail.context), language=mail.language)
        for mail in mails
    ]


def test_each_borrower_gets_a_withdrawal_receipt_with_the_declaration_and_the_amounts_due(recent):
    recent.applicants = Applicants.of([PERSON, OTHER])
    recent.save()
    declare(client_of(recent.consumer), recent)
    first, second = (message.body for message in text_of_mails())
    row, lender = ContractWithdrawal.objects.get(), recent.provider_owner(str(recent.provider_id), timezone.now()).get()
    for words in (
        f"Application: {reference_of(recent.pk)}\n", f"Lender: {lender.name}\n", f"Telephone: {lender.phone}\n",
        f"Email address: {lender.email}\n", "Withdrawn on: ", "Interest of each day: 3.89\u00a0EUR\n",
        "Credit to pay back: 10,000.00\u00a0EUR less the fee of 300.00\u00a0EUR: 9,700.00\u00a0EUR\n",
        f"Pay back by: {date_format(row.repay_by, 'F j, Y')}\n",
    ):  # fmt: skip
        assert words in first
    assert f"\n\n{settings.APP_URL}/my/applications/{recent.pk}/withdrawal\n\n" in first
    assert "9.700,00\u00a0EUR" in second
    assert "Prestamista: " in second
    assert "http" not in second
    assert "Inicie" not in second
    for name in ("Ada", "Ben", "Beispiel"):
        assert name not in first + second


@pytest.mark.parametrize(("channel", "words"), [
    ("post", "that a borrower withdrew by letter on"), ("email", "that a borrower withdrew by email on"),
    ("in_person", "that a borrower withdrew in person on"),
])  # fmt: skip
def test_withdrawal_page_shows_a_declaration_that_the_lender_recorded(recent, client, channel, words):
    body = {"declared_at": (timezone.now() - timedelta(days=1)).isoformat(), "channel": channel}
    declare(client_of(lender_of_row(recent)), recent, **body)
    client.force_login(recent.consumer)
    page = client.get(f"/my/applications/{recent.pk}/withdrawal").content.decode()
    assert "The lender recorded on" in page
    assert words in page
    assert "You withdrew" not in page
    assert "A borrower withdrew from the contract" in client.get("/my").content.decode()


@pytest.mark.parametrize("is_kept_back", [True, False])
def test_withdrawal_page_shows_the_paid_out_amount_and_the_amounts_due(client, is_kept_back):
    """Test the amounts that Directive (EU) 2023/2225, Art. 26(5) requires: interest per day, and the fee."""
    application = concluded(at=timezone.now() - timedelta(days=2), terms={"fee_financed": is_kept_back})
    client.force_login(application.consumer)
    page = client.get(f"/my/applications/{application.pk}/withdrawal").content.decode()
    less = "10,000.00\u00a0EUR less the fee of 300.00\u00a0EUR: 9,700.00\u00a0EUR"
    assert (less in page) is is_kept_back
    assert ("The lender returns its fee." in page) is not is_kept_back
    assert "3.89" in page
    body = declare(client_of(application.consumer), application).json()
    assert (body["interest_a_day_cents"], body["fee_back_cents"]) == (389, 30_000)
    text = read_page(client.get(f"/my/applications/{application.pk}/withdrawal").content.decode())[0]
    assert "Interest of each day 3.89" in text
    assert ("Fee that the lender returns 300.00" in text) is not is_kept_back
    assert "compensation" not in text


@pytest.fixture
def console(recent):
    """Return the back office for a reviewer, and the application's page in it."""
    return backoffice_client(staff_of("Reviewer")), f"/admin/credit/application/{recent.pk}/"


def act(client, page, name, **fields):
    form = client.get(f"{page}do/{name}/").context["form"]
    return client.post(f"{page}do/{name}/", {"seen": form.initial["seen"], **fields})


def test_reviewer_can_change_when_the_borrower_received_complete_information(console, recent):
    client, page = console
    assert "by the end of" in client.get(f"{page}change/").content.decode()
    act(client, page, "information-missing", fact="complete_since", reason="A page was missing.")
    recent.refresh_from_db()
    assert (recent.complete_since, recent.told_of_right_at is None) == (None, False)
    assert "A page was missing." in str(LogEntry.objects.latest("pk").get_change_message())
    at = timezone.now().replace(microsecond=0) - timedelta(days=1)
    act(client, page, "information-provided", fact="complete_since", reason="Sent.", at=f"{at:%Y-%m-%d %H:%M:%S}")
    recent.refresh_from_db()
    assert recent.complete_since == at


def test_console_previews_the_withdrawal_period_of_a_borrower_with_missing_information(console, recent):
    client, page = console
    Application.objects.filter(pk=recent.pk).update(accepted_at=CONCLUDED)
    assert "until the end of Dec 15, 2027" in client.get(f"{page}do/information-missing/").content.decode()
    # The earlier Directive 2008/48/EC has no maximum period.
    Application.objects.filter(pk=recent.pk).update(accepted_at=datetime(2026, 11, 10, tzinfo=UTC))
    shown = client.get(f"{page}do/information-missing/").content.decode()
    assert "The withdrawal period then does not end." in shown
    assert "until the end of" not in shown


def test_reviewer_cannot_reopen_the_withdrawal_period_of_their_own_agreement(console, recent, settings):
    staff = staff_of("Reviewer")
    Application.objects.filter(pk=recent.pk).update(consumer=staff)
    client, page = backoffice_client(staff), console[1]
    assert "Information was missing" in console[0].get(f"{page}change/").content.decode()
    actor = Actor(user=staff, credential="admin")
    for settings.REVIEW_POLICY in ("open", "four_eyes"):
        shown = client.get(f"{page}change/").content.decode()
        for name in ("information-missing", "information-provided", "contract-withdrawal"):
            assert f"do/{name}/" not in shown
            assert client.get(f"{page}do/{name}/").status_code == 403
        with pytest.raises(ReviewerRequired), transaction.atomic():
            withdrawals.state_fact(recent.pk, "told_of_right_at", at=None, actor=actor, now=timezone.now())
    recent.refresh_from_db()
    assert recent.told_of_right_at is not None


def test_back_office_records_a_withdrawal_by_letter_and_shows_the_amounts(console, recent):
    client, page = console
    sent = timezone.now() - timedelta(days=1)
    act(client, page, "contract-withdrawal", channel="post", declared_at=f"{sent:%Y-%m-%d %H:%M:%S}")
    row = ContractWithdrawal.objects.get()
    assert row.channel == "post"
    shown = client.get("/admin/credit/contractwithdrawal/").content.decode()
    assert "10,000.00\u00a0EUR less the fee of 300.00\u00a0EUR: 9,700.00\u00a0EUR" in shown
    assert "3.89" in client.get(f"/admin/credit/contractwithdrawal/{row.pk}/change/").content.decode()
    assert "Withdrawn from the contract" in client.get(f"{page}change/").content.decode()
