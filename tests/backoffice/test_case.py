"""Test the case page of an application: figures, applicant, notes, and saved views."""

import re
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from config.core.casework import Note, SavedView
from credit.core.figures import Figures, money
from credit.models import Application, ApplicationRevision
from identity.bank.figures import BankFigures
from identity.bank.models import BankAccount, BankItem, BankTransaction
from tests.backoffice.conftest import backoffice_client, staff_of
from tests.backoffice.lenders import console_client, lender_of
from tests.backoffice.pages import messages_of, text_of
from tests.backoffice.test_applications import LIST, make, page_of
from tests.factories import OfferFactory

DATA = {"amount_cents": 500_000, "term_months": 36, "income_cents": 4_800_000, "monthly_debt_cents": 100_000}


def case(**options):
    """Return a case with figures, whose offer lends at most 4,000 dollars over 12 or 24 months."""
    offer = OfferFactory(loan_amount_max_cents=400_000, term_options_months=[12, 24], apr_min_percent=6.0)
    options = {"application_data": DATA, **options}
    return make(offer_id=offer.pk, offer_snapshot=offer.terms(), **options)


def account(person, **columns):
    """Create a bank account of the person, reported by a bank, with 123.45 dollars."""
    now = timezone.now()
    fields = {
        "account_id": "a", "item_id": "item", "name": "Checking", "type": "depository", "current_cents": 12_345,
        "currency": "USD",
    }  # fmt: skip
    fields = {"from_provider": True, **fields, **columns}
    BankAccount.objects.create(user=person, created_at=now, updated_at=now, **fields)


def bank(person, *, days_ago=0, item="item", **columns):
    """Create a bank linked so many days ago, whose transactions were staged on that day."""
    now = timezone.now()
    since = now.date() - timedelta(days=90 + days_ago)
    staged = {"transactions_since": since, "transactions_staged": 0, **columns}
    BankItem.objects.create(
        user=person, provider="sandbox", item_id=item, access_token="x", token_fingerprint=item, linked_at=now,
        updated_at=now, **staged,
    )  # fmt: skip


def booking(person, cents, *, days_ago, **columns):
    """Create a transaction that a bank reported and the person approved."""
    now = timezone.now()
    fields = {"account_id": "a", "item_id": "item", "currency": "USD", "from_provider": True, **columns}
    BankTransaction.objects.create(
        user=person, transaction_id=f"{cents}/{days_ago}", amount_cents=cents, name="x", created_at=now,
        date=now.date() - timedelta(days=days_ago), updated_at=now, **fields,
    )  # fmt: skip


class TestFigures:
    def test_case_figures_are_read_from_application_data_by_field_name(self):
        read = Figures(DATA)
        assert (read.amount_cents, read.term_months, read.monthly_income_cents) == (500_000, 36, 400_000)
        assert read.percent_of_income(read.monthly_debt_cents) == 25
        assert Figures({"monthly_income_cents": 7, "income_cents": 1_200}).monthly_income_cents == 7

    def test_case_figures_of_invalid_application_data_are_empty(self):
        for value in [None, "5", 5.5, True, -1, [5], {}, 2**63]:
            assert Figures({"amount_cents": value}).amount_cents is None, value
        for data in [None, [], "x", 7]:
            read = Figures(data)
            assert (read.amount_cents, read.term_months, read.monthly_income_cents, read.monthly_debt_cents) == (
                None,
            ) * 4
        assert Figures({"income_cents": 0}).percent_of_income(5) is None

    @pytest.mark.parametrize(
        ("cents", "shown"), [(0, "$0.00"), (5, "$0.05"), (123_456_789, "$1,234,567.89"), (-250, "-$2.50")]
    )
    def test_case_page_formats_amounts_in_dollars(self, cents, shown):
        assert money(cents) == shown


class TestPage:
    def test_case_page_shows_the_amount_first_and_shows_which_offer_limits_are_exceeded(self, reviewers_client):
        application = case()
        body = reviewers_client.get(page_of(application)).content.decode()
        text = text_of(reviewers_client.get(page_of(application)))
        assert f"A-{application.pk.hex[-8:].upper()}" in text
        assert '<strong class="case-amount">$5,000.00</strong>' in body
        assert "The offer lends $4,000.00 or less." in text
        assert "The offer's terms are 12, 24 months." in text
        assert "Debt to income 25%" in text
        assert "Installment $152.11 at the offer's lowest interest rate" in text
        assert "Installment to income 4%" in text
        assert body.count('class="outside"') == 2

    def test_case_page_shows_the_applicant_and_their_bank(self, reviewers_client):
        application = case()
        person = application.consumer
        account(person)
        bank(person)
        months = BankFigures(person.pk, currency="USD").months
        today = timezone.now().date()
        for first in months[:-1]:
            for cents in (-100_000, 33_333):
                booking(person, cents, days_ago=(today - first).days)
        for cents, days in ((999_999, 100), (555, 0)):
            booking(person, cents, days_ago=days)
        booking(person, 70_000, days_ago=3, account_id="the card's")
        text = text_of(reviewers_client.get(page_of(application)))
        assert "Identity never checked" in text
        assert "Other applications none" in text
        assert "Bank accounts 1, together $123.45" in text
        assert f"Money in and out per month $1,000.00 in, $333.33 out ({len(months) - 1} complete months to " in text
        assert "Claimed" not in text

    def test_bank_sums_on_the_case_page_exclude_bank_data_entered_by_the_applicant(self, api, user, reviewers_client):
        application = case(consumer=user)
        claims = (
            ("bank_account", {"account_id": "c", "name": "x", "type": "depository", "current_cents": 98_765_432_100}),
            ("bank_transaction", {"transaction_id": "c", "account_id": "c", "amount_cents": -55_544_433, "name": "x",
                                  "date": timezone.now().date().isoformat()}),
        )  # fmt: skip
        for kind, payload in claims:
            assert api.send("/staging/items", {"kind": kind, "payload": payload}).status_code == 201
        assert api.send("/staging/approve-all", {"user_id": str(user.pk)}).json()["approved"] == 2
        text = text_of(reviewers_client.get(page_of(application)))
        assert "987,654,321" not in text
        assert "555,444" not in text
        assert "Bank no account linked and approved" in text
        assert (
            "Stated by the applicant 1 account and 1 transaction: not reported by a bank, and not counted here" in text
        )

    def test_case_page_shows_debts_separately_and_sums_of_mixed_currencies_as_unknown(self, reviewers_client):
        application = case()
        account(application.consumer)
        account(application.consumer, account_id="b", type="credit", current_cents=24_715)
        text = text_of(reviewers_client.get(page_of(application)))
        assert "Bank accounts 1, together $123.45" in text
        assert "Owed on cards and loans 1, together $247.15" in text
        application = case()
        account(application.consumer, currency="EUR")
        assert "Bank accounts 1, together 123.45 EUR" in text_of(reviewers_client.get(page_of(application)))
        for other in [{"currency": "EUR"}, {"currency": None}, {"current_cents": None}]:
            application = case()
            account(application.consumer)
            account(application.consumer, account_id="b", **other)
            assert "Bank accounts 2, together not known" in text_of(reviewers_client.get(page_of(application))), other

    def test_case_page_shows_monthly_cash_flow_of_an_approved_bank(self, api, user, reviewers_client):
        application = case(consumer=user)
        linked = api.send("/bankdata/exchange", {"user_id": str(user.pk), "public_token": "public-sandbox-case"})
        assert linked.status_code == 200
        api.send("/staging/approve-all", {"user_id": str(user.pk)})
        text = text_of(reviewers_client.get(page_of(application)))
        months = [int(item.replace(",", "")) for item in re.findall(r"\$([\d,]+)\.\d\d (?:in,|out )", text)]
        assert len(months) == 2, text
        # A salary of 1,800 to 2,600 dollars arrives every two weeks: four to seven times in two or three months.
        assert 3_600 <= months[0] <= 7_800
        assert abs(months[0] - months[1]) < 2_600

    def test_case_page_shows_cash_flow_of_incomplete_bank_data_as_unknown(self, reviewers_client):
        for banks, why in [
            ([], "the bank has not reported its transactions"),
            ([{"transactions_since": None}], "the bank has not reported its transactions"),
            ([{}, {"item": "b", "transactions_since": None}], "the bank has not reported its transactions"),
            ([{"transactions_staged": 2}], "the person has not approved all transactions"),
            ([{}, {"item": "b", "days_ago": 91}], "the banks reported different days"),
            ([{}, {"item": "b", "days_ago": 70}], "the banks reported less than one complete month"),
        ]:  # fmt: skip
            application = case()
            account(application.consumer)
            account(application.consumer, account_id="b", item_id=banks[-1].get("item", "item") if banks else "item")
            booking(application.consumer, -300_000, days_ago=5)
            BankItem.objects.all().delete()
            for columns in banks:
                bank(application.consumer, **columns)
            text = text_of(reviewers_client.get(page_of(application)))
            assert f"Money in and out per month not known: {why}" in text, (banks, why)

    def test_case_page_shows_cash_flow_in_several_currencies_as_unknown(self, reviewers_client):
        application = case()
        account(application.consumer)
        bank(application.consumer)
        for cents, currency in ((-5, "EUR"), (5, "USD")):
            booking(application.consumer, cents, days_ago=5, currency=currency)
        assert "not known: in another currency" in text_of(reviewers_client.get(page_of(application)))

    def test_case_page_counts_other_applications_to_the_viewers_lender_by_status(self, reviewers_client, db):
        application = case()
        for status in ("rejected", "draft", "rejected"):
            make(status, consumer=application.consumer)
        make("rejected")
        text = text_of(reviewers_client.get(page_of(application)))
        assert "Other applications 3: 1 draft, 2 rejected" in text
        lender = lender_of("acme", 4_711)
        make("rejected", consumer=lender.application.consumer)
        text = text_of(console_client(lender.people["owner"]).get(page_of(lender.application)))
        assert "Other applications to you none" in text

    def test_case_page_masks_figures_for_support(self, supports_client):
        application = case()
        account(application.consumer)
        bank(application.consumer)
        booking(application.consumer, -37_035, days_ago=5)
        text = text_of(supports_client.get(page_of(application)))
        assert "123.45 in" not in text
        assert "5,000.00" not in text
        assert "123.45" not in text
        assert "•••" in text
        listed = text_of(supports_client.get(LIST))
        assert "5,000.00" not in listed
        assert supports_client.get(LIST, {"amount": "large"}).status_code == 400

    def test_case_page_executes_at_most_16_sql_statements_after_the_log_in(self, reviewers_client, reviewer):
        application = case()
        account(application.consumer)
        bank(application.consumer)
        booking(application.consumer, -5, days_ago=5)
        make("rejected", consumer=application.consumer)
        Note.objects.create(
            kind="credit.application", record_id=str(application.pk), author=reviewer, text="x", at=timezone.now()
        )
        reviewers_client.get(page_of(application))
        with CaptureQueriesContext(connection) as captured:
            assert reviewers_client.get(page_of(application)).status_code == 200
        log_in = (
            "SAVEPOINT", "RELEASE", 'UPDATE "django_session"', 'SELECT "django_session"',
            'SELECT "django_content_type"',
        )  # fmt: skip
        queries = [query["sql"] for query in captured if not query["sql"].startswith(log_in)]
        queries = [sql for sql in queries if f'"identity_user"."id" = {reviewer.pk} ' not in sql]
        assert len(queries) <= 16, queries


def test_case_page_shows_data_changes_with_the_field_titles_of_the_offers_schema(reviewers_client, reviewer):
    schema = {"type": "object", "properties": {"income_cents": {"type": "integer", "title": "Yearly income"}}}
    application = make(offer_snapshot={"application_schema": schema}, application_data={"income_cents": 900_000})
    changes = {
        "income_cents": {"before": 800_000, "after": 900_000}, "employer": {"after": "<b>Acme</b>"},
        "pets": {"before": ["cat"], "after": True}, "…": "more members changed",
    }  # fmt: skip
    ApplicationRevision.objects.create(
        application=application, status="submitted", sha256="1" * 64, changes=changes, updated_by="me",
        changed_at=timezone.now(), principal=application.consumer, credential="jwt:x",
    )  # fmt: skip
    page = text_of(reviewers_client.get(page_of(application)))
    for row in ("Yearly income $8,000.00 $9,000.00", "Employer — <b>Acme</b>", "Pets cat yes", "more members"):
        assert row in page
    assert "income_cents" not in page


def test_case_page_shows_amounts_outside_the_schema_with_their_currency(reviewers_client):
    page = text_of(reviewers_client.get(page_of(make(application_data={"bonus_cents": 5_200_000, "purpose": "car"}))))
    assert "Bonus $52,000.00 Purpose car" in page


class TestNotes:
    def write(self, client, application, text):
        return client.post(reverse("admin:credit_application_note", args=[application.pk]), {"text": text})

    def test_case_note_is_immutable_and_visible_to_colleagues_and_mentioned_reviewers(self, reviewers_client):
        application, ruth = make(), staff_of("Reviewer", username="ruth")
        answer = self.write(reviewers_client, application, "Look at the income, @ruth!")
        assert "ruth gets a notification" in messages_of(answer)
        assert "Look at the income" in text_of(reviewers_client.get(page_of(application)))
        theirs = backoffice_client(ruth)
        assert "Notes to you" in text_of(theirs.get("/admin/"))
        assert list(Note.unread_by(ruth)) == [Note.objects.get()]
        assert "Look at the income" in text_of(theirs.get("/admin/backoffice/note/?to=me"))
        theirs.get(page_of(application))
        assert not Note.unread_by(ruth).exists()
        with pytest.raises(Exception, match="append-only"):
            Note.objects.update(text="y")

    @pytest.mark.parametrize(("text", "warns"), [("Ask @ruht", True), ("Write to jane@ruht.example", False)])
    def test_case_note_that_mentions_an_unknown_user_name_shows_a_warning(self, reviewers_client, text, warns):
        answer = messages_of(self.write(reviewers_client, make(), text))
        assert ("“ruht” can't review this record, and gets no notification." in answer) is warns
        assert Note.objects.get().text == text

    def test_empty_or_too_long_case_note_is_rejected(self, reviewers_client):
        for text in ["", "  ", "x" * 4_001, "a\x00b"]:
            assert "A note must have 1 to" in messages_of(self.write(reviewers_client, make(), text)), text
            assert not Note.objects.exists(), text

    def test_support_and_applicants_cannot_read_or_write_case_notes(self, reviewers_client, supports_client, api, user):
        application = make(consumer=user)
        self.write(reviewers_client, application, "Only for us")
        assert self.write(supports_client, application, "x").status_code == 403
        assert "Only for us" not in text_of(supports_client.get(page_of(application)))
        for path in ("", "/history", "/transitions"):
            assert "Only for us" not in api.read(f"/applications/{application.pk}{path}").content.decode()


class TestList:
    def test_application_list_shows_amount_and_assignee_and_can_be_filtered_by_amount_and_assignee(
        self, reviewers_client, reviewer
    ):
        small, large = (
            case(amount_cents=90_000),
            case(amount_cents=2_000_000, submitted_at=timezone.now() - timedelta(days=40)),
        )
        reviewers_client.post(reverse("admin:credit_application_assign", args=[small.pk]), {"assignee": "me"})
        text = text_of(reviewers_client.get(LIST))
        assert "$900.00" in text
        assert "rita" in text
        for query, expected in (
            ({"amount": "small"}, [small]), ({"amount": "large"}, [large]), ({"amount": "middle"}, []),
            ({"work": "mine"}, [small]), ({"work": "nobody"}, [large]), ({"submitted": "7"}, [small]),
            ({"provider": "700"}, [large, small]), ({"provider": "1"}, []), ({"q": "provider:700"}, [large, small]),
        ):  # fmt: skip
            assert reviewers_client.get(LIST, query).context["cl"].result_list == expected, query

    def test_saved_list_view_can_be_created_used_and_deleted(self, reviewers_client, reviewer):
        keep = reverse("admin:credit_application_views")
        answer = reviewers_client.post(keep, {"name": "Big ones", "query": "?amount=large&queue=review"})
        assert answer.url == f"{LIST}?amount=large&queue=review"
        body = reviewers_client.get(LIST).content.decode()
        assert '<a href="?amount=large&amp;queue=review">Big ones</a>' in body
        other = backoffice_client(staff_of("Reviewer"))
        assert "Big ones" not in other.get(LIST).content.decode()
        other.post(keep, {"forget": "Big ones"})
        assert SavedView.objects.get().owner == reviewer
        reviewers_client.post(keep, {"forget": "Big ones"})
        assert not SavedView.objects.exists()

    def test_saved_list_view_rejects_invalid_values_and_urls_of_other_hosts(self, reviewers_client):
        for body in [{}, {"name": "x" * 41}, {"name": "a\x00"}, {"name": "x", "query": "q=" + "y" * 1_001}]:
            assert reviewers_client.post(reverse("admin:credit_application_views"), body).status_code == 302, body
            assert not SavedView.objects.exists(), body
        answer = reviewers_client.post(
            reverse("admin:credit_application_views"), {"name": "x", "query": "//evil.example"}
        )
        assert answer.url.startswith(LIST)

    def test_amount_column_changes_with_the_application_data(self, api, user):
        body = {"consumer_id": str(user.pk), "offer_id": 7, "provider_id": 7, "application_data": {"amount_cents": 700}}
        application_id = api.send("/applications", body).json()["id"]
        assert Application.objects.get().amount_cents == 700
        api.replace(
            f"/applications/{application_id}", {"updated_by": "me", "application_data": {"amount_cents": "much"}}
        )
        assert Application.objects.get().amount_cents is None
