"""Test the case page of an application: figures, applicant, next case, notes, and saved views."""

import re
from datetime import timedelta

import pytest
from django.contrib.admin.models import LogEntry
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from config.core.casework import Assignment, Note, ReplyTemplate, SavedView
from credit.core.figures import Figures, money, reference_of
from credit.models import Application, ApplicationRevision, ProviderMember, RequestedDocument
from identity.bank.figures import BankFigures
from identity.bank.models import BankAccount, BankItem, BankTransaction
from tests.backoffice.conftest import backoffice_client, staff_of
from tests.backoffice.lenders import console_client, lender_of
from tests.backoffice.pages import confirm, seen_value, text_of
from tests.backoffice.test_applications import LIST, make, move_of, page_of
from tests.factories import OfferFactory

OLDEST = f"{LIST}oldest/"
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

    @pytest.mark.parametrize("value", [None, "5", 5.5, True, -1, [5], {}, 2**63])
    def test_case_figure_with_an_invalid_amount_is_none(self, value):
        assert Figures({"amount_cents": value}).amount_cents is None

    @pytest.mark.parametrize("data", [None, [], "x", 7])
    def test_case_figures_are_empty_if_application_data_is_not_an_object(self, data):
        read = Figures(data)
        assert (read.amount_cents, read.term_months, read.monthly_income_cents, read.monthly_debt_cents) == (None,) * 4

    def test_case_percentage_of_zero_income_is_none(self):
        assert Figures({"income_cents": 0}).percent_of_income(5) is None

    @pytest.mark.parametrize(
        ("cents", "shown"), [(0, "$0.00"), (5, "$0.05"), (123_456_789, "$1,234,567.89"), (-250, "-$2.50")]
    )
    def test_case_page_formats_amounts_in_dollars(self, cents, shown):
        assert money(cents) == shown


class TestPage:
    def test_case_page_shows_the_amount_first_and_exceeded_offer_limits(self, reviewers_client):
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

    def test_case_page_excludes_claimed_bank_data_from_sums(self, api, user, reviewers_client):
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

    def test_case_page_shows_debts_separately_from_balances(self, reviewers_client):
        application = case()
        account(application.consumer)
        account(application.consumer, account_id="b", type="credit", current_cents=24_715)
        text = text_of(reviewers_client.get(page_of(application)))
        assert "Bank accounts 1, together $123.45" in text
        assert "Owed on cards and loans 1, together $247.15" in text

    @pytest.mark.parametrize("other", [{"currency": "EUR"}, {"currency": None}, {"current_cents": None}])
    def test_case_page_shows_the_sum_of_incompatible_balances_as_unknown(self, reviewers_client, other):
        application = case()
        account(application.consumer)
        account(application.consumer, account_id="b", **other)
        assert "Bank accounts 2, together not known" in text_of(reviewers_client.get(page_of(application)))

    def test_case_page_shows_the_currency_of_a_foreign_balance(self, reviewers_client):
        application = case()
        account(application.consumer, currency="EUR")
        assert "Bank accounts 1, together 123.45 EUR" in text_of(reviewers_client.get(page_of(application)))

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

    @pytest.mark.parametrize(("banks", "why"), [
        ([], "the bank has not reported its bookings"),
        ([{"transactions_since": None}], "the bank has not reported its bookings"),
        ([{}, {"item": "b", "transactions_since": None}], "the bank has not reported its bookings"),
        ([{"transactions_staged": 2}], "the person has not approved all bookings"),
        ([{}, {"item": "b", "days_ago": 91}], "the banks reported different days"),
        ([{}, {"item": "b", "days_ago": 70}], "the banks reported less than one complete month"),
    ])  # fmt: skip
    def test_case_page_shows_cash_flow_of_incomplete_bank_data_as_unknown(self, reviewers_client, banks, why):
        application = case()
        account(application.consumer)
        account(application.consumer, account_id="b", item_id=banks[-1].get("item", "item") if banks else "item")
        booking(application.consumer, -300_000, days_ago=5)
        for columns in banks:
            bank(application.consumer, **columns)
        text = text_of(reviewers_client.get(page_of(application)))
        assert f"Money in and out per month not known: {why}" in text

    def test_case_page_shows_cash_flow_in_several_currencies_as_unknown(self, reviewers_client):
        application = case()
        account(application.consumer)
        bank(application.consumer)
        for cents, currency in ((-5, "EUR"), (5, "USD")):
            booking(application.consumer, cents, days_ago=5, currency=currency)
        assert "not known: in another currency" in text_of(reviewers_client.get(page_of(application)))

    def test_case_page_counts_other_applications_by_status(self, reviewers_client):
        application = case()
        for status in ("rejected", "draft", "rejected"):
            make(status, consumer=application.consumer)
        make("rejected")
        text = text_of(reviewers_client.get(page_of(application)))
        assert "Other applications 3: 1 draft, 2 rejected" in text

    def test_case_page_counts_only_applications_to_the_members_lender(self, db):
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

    def test_case_page_executes_at_most_16_statements_after_the_log_in(self, reviewers_client, reviewer):
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


def test_case_page_shows_changed_data_with_the_offers_schema_titles(reviewers_client, reviewer):
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


def test_case_shows_amounts_outside_the_schema_with_their_currency(reviewers_client):
    page = text_of(reviewers_client.get(page_of(make(application_data={"bonus_cents": 5_200_000, "purpose": "car"}))))
    assert "Bonus $52,000.00 Purpose car" in page


class TestNextCase:
    def take(self, client):
        return client.post(OLDEST)

    def test_take_oldest_button_assigns_the_oldest_unassigned_case(self, reviewers_client, reviewer):
        now = timezone.now()
        make("submitted", submitted_at=now)
        taken = make("submitted", submitted_at=now - timedelta(days=9))
        oldest = make(submitted_at=now - timedelta(days=5))
        own = make(submitted_at=now - timedelta(days=20), consumer=reviewer)
        Assignment.objects.create(
            kind="credit.application", record_id=str(taken.pk), assignee=staff_of("Reviewer"), assigned_by=reviewer,
            assigned_at=now,
        )  # fmt: skip
        answer = self.take(reviewers_client)
        assert answer.status_code == 302
        assert answer.url.startswith(page_of(oldest))
        assert Assignment.objects.get(record_id=str(oldest.pk)).assignee == reviewer
        entries = LogEntry.objects.filter(object_id=str(oldest.pk))
        assert f"Assigned to {reviewer}." in [entry.get_change_message() for entry in entries]
        assert not Assignment.objects.filter(record_id=str(own.pk)).exists()

    def test_take_oldest_button_takes_another_case_and_counts_the_open_cases(self, reviewers_client):
        days = [timezone.now() - timedelta(days=days) for days in (9, 5)]
        first, second = (make("submitted", submitted_at=at) for at in days)
        assert self.take(reviewers_client).url.startswith(page_of(first))
        page = reviewers_client.post(OLDEST, follow=True)
        assert page.redirect_chain[-1][0].startswith(page_of(second))
        assert "You still have 1 open case" in text_of(page)
        last = reviewers_client.post(OLDEST, follow=True)
        assert "No unassigned case is waiting. You still have 2 open cases." in text_of(last)
        assert "work=mine" in last.redirect_chain[-1][0]

    @pytest.mark.parametrize(("policy", "status"), [("four_eyes", "under_review"), ("reviewed", "under_review")])
    def test_take_oldest_button_starts_the_review(self, reviewers_client, reviewer, settings, policy, status):
        settings.REVIEW_POLICY = policy
        case = make("submitted", submitted_at=timezone.now())
        self.take(reviewers_client)
        case.refresh_from_db()
        assert case.status == status
        assert case.history.get().principal == reviewer

    def test_take_oldest_button_leaves_cases_that_wait_for_another_party(self, reviewers_client, settings):
        settings.REVIEW_POLICY = "four_eyes"
        proposed = make(submitted_at=timezone.now())
        colleague = backoffice_client(staff_of("Reviewer", username="ruth"))
        confirm(colleague, move_of(proposed, "rejected"), code_1="no_credit_file")
        assert "No unassigned case is waiting" in text_of(reviewers_client.post(OLDEST, follow=True))
        listed = text_of(reviewers_client.get(LIST))
        assert "under review proposal waits" in listed
        assert reference_of(proposed.pk) not in text_of(reviewers_client.get(LIST, {"queue": "review"}))

    @pytest.mark.parametrize("leave", [{"is_active": False}, None])
    def test_case_assigned_to_a_former_reviewer_becomes_unassigned(self, reviewers_client, reviewer, leave):
        case, colleague = make(submitted_at=timezone.now()), staff_of("Reviewer", username="gone")
        work = {"kind": "credit.application", "record_id": str(case.pk), "assigned_at": timezone.now()}
        Assignment.objects.create(**work, assignee=colleague, assigned_by=reviewer)
        assert "No unassigned case is waiting" in text_of(reviewers_client.post(OLDEST, follow=True))
        if leave:
            type(colleague).objects.filter(pk=colleague.pk).update(**leave)
        else:
            colleague.groups.clear()
        assert "gone, since" not in text_of(reviewers_client.get(page_of(case)))
        for work in ("nobody", ""):
            page = text_of(reviewers_client.get(LIST, {"work": work} if work else {}))
            assert "gone" not in page
            assert reference_of(case.pk) in page
        assert self.take(reviewers_client).url.startswith(page_of(case))
        assert Assignment.objects.get().assignee == reviewer

    def test_case_assigned_to_a_lenders_former_reviewer_becomes_unassigned(self, db):
        lender = lender_of("acme", 4_711)
        case, people = lender.application, lender.people
        Application.objects.filter(pk=case.pk).update(status="under_review")
        work = {"kind": "credit.application", "record_id": str(case.pk), "provider": "4711"}
        Assignment.objects.filter(**work).delete()
        now = timezone.now()
        Assignment.objects.create(**work, assignee=people["reviewer"], assigned_by=people["owner"], assigned_at=now)
        owner = console_client(people["owner"])
        assert "No unassigned case is waiting" in text_of(owner.post(OLDEST, follow=True))
        ProviderMember.objects.filter(user=people["reviewer"]).update(role="reader")
        assert owner.post(OLDEST).url.startswith(page_of(case))
        assert Assignment.objects.get(**work).assignee == people["owner"]

    def test_take_oldest_button_shows_a_message_if_no_case_waits(self, reviewers_client):
        assert "No unassigned case is waiting" in text_of(reviewers_client.post(OLDEST, follow=True))

    def test_take_oldest_action_requires_a_reviewer_and_post(self, reviewers_client, supports_client):
        make()
        assert supports_client.post(OLDEST).status_code == 403
        assert reviewers_client.get(OLDEST).status_code == 302
        assert not Assignment.objects.exists()

    def test_document_request_can_redirect_to_the_next_case(self, reviewers_client):
        now = timezone.now()
        first, second = make(submitted_at=now - timedelta(days=2)), make(submitted_at=now - timedelta(days=1))
        reviewers_client.post(OLDEST, follow=True)
        assert "Take the oldest" in reviewers_client.get("/admin/").content.decode()
        page = reviewers_client.get(move_of(first, "pending_documents"))
        answer = reviewers_client.post(
            move_of(first, "pending_documents"),
            {"seen": seen_value(page), "documents": "Payslip\nPassport", "reason": "Please", "next": "yes"},
        )
        assert answer.url.startswith(page_of(second))
        first.refresh_from_db()
        assert first.status == "pending_documents"
        assert set(RequestedDocument.objects.values_list("name", flat=True)) == {"Payslip", "Passport"}

    def test_rejected_document_request_returns_to_the_case(self, reviewers_client):
        first = make(submitted_at=timezone.now() - timedelta(days=2))
        make()
        body = {"seen": "stale", "documents": "Payslip", "reason": "Please", "next": "yes"}
        assert reviewers_client.post(move_of(first, "pending_documents"), body).url.startswith(page_of(first))
        refused = reviewers_client.post(move_of(first, "pending_documents"), {**body, "documents": ""})
        assert "errorlist" in refused.content.decode()

    @pytest.fixture
    def templates(self, db):
        """Return a list of documents and a reason, as values of a form."""
        texts = (("documents", "Payslip of May\nPayslip of June"), ("reason", "Please send them."))
        rows = [ReplyTemplate.objects.create(use=use, name=use, text=text) for use, text in texts]
        return dict(zip(("documents_template", "reason_template"), (str(row.pk) for row in rows), strict=True))

    def test_chosen_reply_templates_are_shown_before_the_request(self, reviewers_client, templates):
        application = make()
        address = move_of(application, "pending_documents")
        page = reviewers_client.get(address)
        fields = list(page.context["form"].fields)
        assert fields[:4] == ["documents", "documents_template", "reason", "reason_template"]
        body = {"seen": seen_value(page), "documents": "Passport", "reason": "", **templates}
        shown = reviewers_client.post(address, body)
        assert "Check the inserted text, then send the form again." in text_of(shown)
        assert not RequestedDocument.objects.exists()
        sent = {name: shown.context["form"][name].value() for name in body}
        assert sent["documents"] == "Passport\nPayslip of May\nPayslip of June"
        reviewers_client.post(address, {**sent, "documents": "Passport\nPayslip of June"})
        application.refresh_from_db()
        assert (application.status, application.status_reason) == ("pending_documents", "Please send them.")
        assert set(RequestedDocument.objects.values_list("name", flat=True)) == {"Passport", "Payslip of June"}

    def test_inserting_a_reply_template_twice_adds_its_text_once(self, reviewers_client, templates):
        address = move_of(make(), "pending_documents")
        body = {"documents": "", "reason": "", "preview": "Insert", **templates}
        first = reviewers_client.post(address, body).context["form"]
        again = {name: first[name].value().replace("\n", "\r\n") for name in body if name != "preview"}
        second = reviewers_client.post(address, {**again, **templates}).context["form"]
        assert second["documents"].value() == "Payslip of May\nPayslip of June"

    def test_chosen_reply_template_of_a_bulk_decision_is_shown_first(self, reviewers_client, templates):
        application = make("submitted")
        body = {"row": f"{application.pk}|{application.reviewed_state}", "seen": "bulk", "reason": ""}
        address = reverse("admin:credit_application_bulk", args=["under_review"])
        for more in ({"reason_template": templates["reason_template"]}, {"preview": "Insert"}):
            shown = reviewers_client.post(address, {**body, **more})
            assert shown.context["form"] is not None
            assert Application.objects.get().status == "submitted"

    def test_unknown_reply_template_is_an_error_of_its_field(self, reviewers_client, templates):
        address = move_of(make(), "pending_documents")
        shown = reviewers_client.post(address, {"documents": "Passport", "reason": "x", "reason_template": "0"})
        assert "reason_template" in shown.context["form"].errors

    @pytest.mark.parametrize(("to", "offered"), [
        ("approved", ["Approved", "Any"]), ("rejected", ["Rejected", "Any"]), ("pending_documents", ["Asked", "Any"]),
        ("withdrawn", ["Any"]),
    ])  # fmt: skip
    def test_form_offers_only_the_reasons_for_its_decision(self, reviewers_client, to, offered):
        uses = {"approval": "Approved", "rejection": "Rejected", "request": "Asked", "review": "Back", "reason": "Any"}
        for use, name in uses.items():
            ReplyTemplate.objects.create(use=use, name=name, text=name)
        form = reviewers_client.get(move_of(make(), to)).context["form"]
        assert sorted(name for _, name in form.fields["reason_template"].choices[1:]) == sorted(offered)

    def test_reopening_offers_the_reasons_for_a_review(self, reviewers_client):
        for use in ("approval", "review"):
            ReplyTemplate.objects.create(use=use, name=use, text=use)
        form = reviewers_client.get(move_of(make("rejected"), "under_review")).context["form"]
        assert [name for _, name in form.fields["reason_template"].choices[1:]] == ["review"]

    def test_reviewers_can_edit_reply_templates_and_support_cannot(self, reviewers_client, supports_client):
        add = reverse("admin:backoffice_replytemplate_add")
        assert reviewers_client.post(add, {"use": "reason", "name": "n", "text": "t"}).status_code == 302
        assert ReplyTemplate.objects.get().text == "t"
        assert supports_client.get(add).status_code == 403


class TestNotes:
    def write(self, client, application, text):
        return client.post(reverse("admin:credit_application_note", args=[application.pk]), {"text": text}, follow=True)

    def test_case_note_is_shown_to_colleagues_and_notifies_mentioned_reviewers(self, reviewers_client):
        application, ruth = make(), staff_of("Reviewer", username="ruth")
        answer = self.write(reviewers_client, application, "Look at the income, @ruth!")
        assert "ruth gets a notification" in text_of(answer)
        assert "Look at the income" in text_of(reviewers_client.get(page_of(application)))
        theirs = backoffice_client(ruth)
        assert "Notes to you" in text_of(theirs.get("/admin/"))
        assert list(Note.unread_by(ruth)) == [Note.objects.get()]
        assert "Look at the income" in text_of(theirs.get("/admin/backoffice/note/?to=me"))
        theirs.get(page_of(application))
        assert not Note.unread_by(ruth).exists()

    @pytest.mark.parametrize(("text", "warns"), [("Ask @ruht", True), ("Write to jane@ruht.example", False)])
    def test_case_note_to_an_unknown_user_name_shows_a_warning(self, reviewers_client, text, warns):
        answer = text_of(self.write(reviewers_client, make(), text))
        assert ("“ruht” is no colleague for this record, and gets no notification." in answer) is warns
        assert Note.objects.get().text == text

    @pytest.mark.parametrize("text", ["", "  ", "x" * 4_001, "a\x00b"])
    def test_empty_or_too_long_case_note_is_rejected(self, reviewers_client, text):
        assert "A note must have 1 to" in text_of(self.write(reviewers_client, make(), text))
        assert not Note.objects.exists()

    def test_support_and_applicants_cannot_read_or_write_case_notes(self, reviewers_client, supports_client, api, user):
        application = make(consumer=user)
        self.write(reviewers_client, application, "Only for us")
        assert self.write(supports_client, application, "x").status_code == 403
        assert "Only for us" not in text_of(supports_client.get(page_of(application)))
        for path in ("", "/history", "/transitions"):
            assert "Only for us" not in api.read(f"/applications/{application.pk}{path}").content.decode()

    def test_case_note_cannot_be_changed(self, reviewers_client):
        self.write(reviewers_client, make(), "x")
        with pytest.raises(Exception, match="append-only"):
            Note.objects.update(text="y")


class TestList:
    def test_application_list_shows_and_filters_amount_and_assignee(self, reviewers_client, reviewer):
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

    @pytest.mark.parametrize(
        "body", [{}, {"name": "x" * 41}, {"name": "a\x00"}, {"name": "x", "query": "q=" + "y" * 1_001}]
    )
    def test_invalid_saved_list_view_is_rejected(self, reviewers_client, body):
        assert reviewers_client.post(reverse("admin:credit_application_views"), body).status_code == 302
        assert not SavedView.objects.exists()

    def test_saved_list_view_does_not_redirect_to_another_host(self, reviewers_client):
        answer = reviewers_client.post(
            reverse("admin:credit_application_views"), {"name": "x", "query": "//evil.example"}
        )
        assert answer.url.startswith(LIST)

    def test_amount_column_is_updated_with_the_application_data(self, api, user):
        body = {"consumer_id": str(user.pk), "offer_id": 7, "provider_id": 7, "application_data": {"amount_cents": 700}}
        application_id = api.send("/applications", body).json()["id"]
        assert Application.objects.get().amount_cents == 700
        api.replace(
            f"/applications/{application_id}", {"updated_by": "me", "application_data": {"amount_cents": "much"}}
        )
        assert Application.objects.get().amount_cents is None
