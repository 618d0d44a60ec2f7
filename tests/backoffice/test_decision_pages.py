"""Test the decision page: the case next to the form, confirmed terms, suggested reasons, and the oldest case."""

from datetime import timedelta

import pytest
from django.contrib.admin.models import LogEntry
from django.urls import reverse
from django.utils import timezone

from config.core.casework import Assignment, ReplyTemplate
from credit.console.forms import REASON_CHOICES, chosen_reasons
from credit.core.figures import reference_of
from credit.core.reasons import OTHER, REASONS
from credit.models import (
    Application,
    ApplicationHistory,
    Counteroffer,
    LoanTerms,
    Proposal,
    ProviderMember,
    RequestedDocument,
)
from identity.models import User
from tests.backoffice.conftest import backoffice_client, staff_of
from tests.backoffice.lenders import console_client, lender_of
from tests.backoffice.pages import confirm, messages_of, seen_value, send_form, text_of
from tests.backoffice.test_applications import LIST, make, move_of, page_of
from tests.backoffice.test_case_score import case as scored_case
from tests.backoffice.test_teamwork import end_of
from tests.credit.eu.offers import eu_offer
from tests.credit.scoring.past import model_of, version_of
from tests.credit.terms.lending import applied, listed

pytestmark = [pytest.mark.django_db]
OLDEST = f"{LIST}oldest/"
OFFERED = {"amount": "6000", "rate_percent": "8", "term_months": "12"}


@pytest.fixture
def scored(db):
    return scored_case(version_of(model_of()))


def rows_of(page):
    return {row["name"]: row["value"] for row in page.context["case"]}


def status_of(application):
    return Application.objects.get(pk=application.pk).status


class TestCase:
    def test_decision_page_shows_the_form_before_the_figures_the_score_and_the_hash(self, reviewers_client, scored):
        digest = scored.data_sha256
        page = text_of(reviewers_client.get(move_of(scored, "rejected")))
        assert f"(SHA-256 {digest[:8]}…{digest[-8:]})" in page
        assert digest not in page
        body = reviewers_client.get(move_of(scored, "approved")).content.decode()
        parts = ['name="amount"', 'id="case-heading"', 'id="what-heading"']
        assert sorted(parts, key=body.index) == parts
        Application.objects.update(application_data={"amount_cents": 500_000, "income_cents": 4_800_000})
        rows = rows_of(reviewers_client.get(move_of(scored, "rejected")))
        assert rows["Account"] == scored.consumer.username
        assert (rows["Amount"], rows["Monthly income"]) == ("$5,000.00", "$4,000.00")
        assert (rows["Score"], rows["Score's proposal"]) == ("550 of 0 to 900", "reject")
        assert "Income insufficient for amount of credit requested" in rows["Reasons of the score"]

    def test_proposal_confirmation_page_shows_the_figures(self, reviewers_client, settings):
        settings.REVIEW_POLICY = "four_eyes"
        send_form(
            reviewers_client, move_of(make(application_data={"amount_cents": 5_000}), "rejected"), code_1="bankruptcy"
        )
        colleague = backoffice_client(staff_of("Reviewer", username="ruth"))
        assert rows_of(colleague.get(end_of(Proposal.objects.get(), "confirm")))["Amount"] == "$50.00"


class TestTerms:
    @pytest.fixture
    def application(self, settings):
        settings.REVIEW_POLICY = "reviewed"
        return applied(listed())

    def test_changed_approval_terms_require_a_second_submission(self, reviewers_client, application):
        address = move_of(application, "approved")
        page = reviewers_client.get(address)
        sent = {"seen": seen_value(page), "terms_seen": page.context["terms_seen"], **OFFERED}
        first = reviewers_client.post(address, sent)
        assert "Check these terms, then send the form again." in text_of(first)
        assert "Monthly payment" in text_of(first)
        assert status_of(application) == "under_review"
        reviewers_client.post(address, {**sent, "terms_seen": first.context["terms_seen"]})
        assert LoanTerms.objects.get().amount_cents == 600_000

    def test_unchanged_default_terms_are_approved_with_one_submission(self, reviewers_client, application):
        address = move_of(application, "approved")
        page = reviewers_client.get(address)
        reviewers_client.post(address, {"seen": seen_value(page), "terms_seen": page.context["terms_seen"]})
        assert status_of(application) == "approved"

    def test_counteroffer_form_previews_terms_and_proposes_an_expiry_after_14_days(self, reviewers_client, application):
        address = move_of(application, "counteroffer")
        sent = {"seen": seen_value(reviewers_client.get(address)), **OFFERED, "preview": "1"}
        page = reviewers_client.post(address, sent)
        assert "code_1" in page.context["form"].errors
        assert dict(page.context["figures"])["Monthly payment"] == "$521.93"
        assert not Counteroffer.objects.exists()
        send_form(
            reviewers_client, move_of(application, "counteroffer"), **OFFERED, code_1="bankruptcy",
            expires_on=reviewers_client.get(move_of(application, "counteroffer")).context["form"].initial["expires_on"],
        )  # fmt: skip
        assert Counteroffer.objects.get().expires_at.date() == timezone.now().date() + timedelta(days=14)


class TestReasons:
    def test_only_the_rejection_form_is_prefilled_with_the_score_reasons(self, reviewers_client, scored):
        initial = reviewers_client.get(move_of(scored, "rejected")).context["form"].initial
        reasons = scored.decision_score.reasons
        assert reasons
        assert [initial[f"code_{at}"] for at in range(1, len(reasons) + 1)] == reasons
        assert "code_1" not in reviewers_client.get(move_of(scored, "approved")).context["form"].initial

    def test_rejection_form_is_not_prefilled_with_score_reasons_caused_by_missing_values(self, reviewers_client):
        missing = scored_case(version_of(model_of()), facts={})
        for to in ("rejected", "counteroffer"):
            page = reviewers_client.get(move_of(missing, to))
            assert missing.decision_score.reasons
            assert "code_1" not in page.context["form"].initial
            assert "These reasons of the score come only from missing values" in text_of(page)

    def test_rejection_form_prefills_the_custom_reason_of_a_score(self):
        own = {"code": OTHER, "text": "No account here"}
        assert chosen_reasons(["bankruptcy", own]) == {
            "code_1": "bankruptcy", "code_2": OTHER, "other": "No account here",
        }  # fmt: skip
        assert chosen_reasons([]) == {}


class TestNextCase:
    def test_only_decision_forms_offer_to_open_the_longest_waiting_case_next(self, reviewers_client):
        later, oldest, first = (make(submitted_at=timezone.now() - timedelta(days=days)) for days in (1, 9, 3))
        address = move_of(first, "rejected")
        assert 'value="Reject, and open the next case"' in reviewers_client.get(address).content.decode()
        shown = confirm(reviewers_client, address, code_1="bankruptcy", next="1")
        assert shown.redirect_chain[-1][0].partition("?")[0] == page_of(oldest)
        assert (status_of(first), status_of(later)) == ("rejected", "under_review")
        assert b'name="next"' not in reviewers_client.get(move_of(make("submitted"), "under_review")).content

    def test_next_case_skips_cases_with_a_proposal(self, reviewers_client, settings):
        settings.REVIEW_POLICY = "four_eyes"
        proposed, other = (make(submitted_at=timezone.now() - timedelta(days=days)) for days in (9, 3))
        shown = confirm(reviewers_client, move_of(proposed, "rejected"), code_1="bankruptcy", next="1")
        assert Proposal.objects.get().application == proposed
        assert shown.redirect_chain[-1][0].partition("?")[0] == page_of(other)

    def test_proposal_confirmation_can_redirect_to_the_next_case(self, reviewers_client, settings):
        settings.REVIEW_POLICY = "four_eyes"
        proposed, other = (make(submitted_at=timezone.now() - timedelta(days=days)) for days in (9, 3))
        send_form(reviewers_client, move_of(proposed, "rejected"), code_1="bankruptcy")
        colleague = backoffice_client(staff_of("Reviewer"))
        page = colleague.get(page_of(proposed))
        address = page.context["proposal"]["address"]["confirm"]
        assert 'value="Confirm the rejection, and open the next case"' in colleague.get(address).content.decode()
        shown = confirm(colleague, address, next="1")
        assert shown.redirect_chain[-1][0].partition("?")[0] == page_of(other)
        assert status_of(proposed) == "rejected"

    def test_decision_form_is_shown_again_if_the_application_data_changed(self, reviewers_client):
        application = make()
        make(submitted_at=timezone.now() - timedelta(days=30))
        address = move_of(application, "rejected")
        sent = {"seen": seen_value(reviewers_client.get(address)), "code_1": "bankruptcy", "next": "1"}
        Application.objects.filter(pk=application.pk).update(application_data={"a": 1})
        shown = reviewers_client.post(address, sent, follow=True)
        assert "changed after you opened the page" in text_of(shown)
        form = shown.context["form"]
        assert (form["code_1"].value(), form["seen"].value()) == ("bankruptcy", form.initial["seen"])
        assert not ApplicationHistory.objects.exists()


class TestOldestCase:
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
        assert "Take the oldest" in reviewers_client.get("/admin/").content.decode()
        answer = self.take(reviewers_client)
        assert answer.status_code == 302
        assert answer.url.startswith(page_of(oldest))
        assert Assignment.objects.get(record_id=str(oldest.pk)).assignee == reviewer
        entries = LogEntry.objects.filter(object_id=str(oldest.pk))
        assert f"Assigned to {reviewer}." in [entry.get_change_message() for entry in entries]
        assert not Assignment.objects.filter(record_id=str(own.pk)).exists()

    def test_second_click_on_take_oldest_assigns_another_case_and_shows_the_number_of_open_cases(
        self, reviewers_client
    ):
        days = [timezone.now() - timedelta(days=days) for days in (9, 5)]
        first, second = (make("submitted", submitted_at=at) for at in days)
        assert self.take(reviewers_client).url.startswith(page_of(first))
        page = reviewers_client.post(OLDEST, follow=True)
        assert page.redirect_chain[-1][0].startswith(page_of(second))
        assert "You still have 1 open case" in text_of(page)
        last = reviewers_client.post(OLDEST, follow=True)
        assert "No unassigned case is waiting. You still have 2 open cases." in text_of(last)
        assert "work=mine" in last.redirect_chain[-1][0]

    def test_take_oldest_button_starts_the_review(self, reviewers_client, reviewer, settings):
        for policy, status in [("four_eyes", "under_review"), ("reviewed", "under_review")]:
            settings.REVIEW_POLICY = policy
            case = make("submitted", submitted_at=timezone.now())
            self.take(reviewers_client)
            case.refresh_from_db()
            assert case.status == status, (policy, status)
            assert case.history.get().principal == reviewer, (policy, status)

    def test_take_oldest_button_skips_cases_that_wait_for_another_party(self, reviewers_client, settings):
        settings.REVIEW_POLICY = "four_eyes"
        proposed = make(submitted_at=timezone.now())
        colleague = backoffice_client(staff_of("Reviewer", username="ruth"))
        confirm(colleague, move_of(proposed, "rejected"), code_1="no_credit_file")
        assert "No unassigned case is waiting" in messages_of(reviewers_client.post(OLDEST))
        listed = text_of(reviewers_client.get(LIST))
        assert "under review proposal waits" in listed
        assert reference_of(proposed.pk) not in text_of(reviewers_client.get(LIST, {"queue": "review"}))

    @pytest.mark.parametrize("leave", [{"is_active": False}, None])
    def test_case_assigned_to_a_former_reviewer_becomes_unassigned(self, reviewers_client, reviewer, leave):
        case, colleague = make(submitted_at=timezone.now()), staff_of("Reviewer", username="gone")
        work = {"kind": "credit.application", "record_id": str(case.pk), "assigned_at": timezone.now()}
        Assignment.objects.create(**work, assignee=colleague, assigned_by=reviewer)
        assert "No unassigned case is waiting" in messages_of(reviewers_client.post(OLDEST))
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
        assert "No unassigned case is waiting" in messages_of(owner.post(OLDEST))
        ProviderMember.objects.filter(user=people["reviewer"]).update(role="reader")
        assert owner.post(OLDEST).url.startswith(page_of(case))
        assert Assignment.objects.get(**work).assignee == people["owner"]

    def test_take_oldest_action_requires_a_reviewer_and_a_post_request(self, reviewers_client, supports_client):
        make()
        assert supports_client.post(OLDEST).status_code == 403
        assert reviewers_client.get(OLDEST).status_code == 302
        assert not Assignment.objects.exists()


class TestReplyTemplates:
    @pytest.fixture
    def templates(self, db):
        """Return a list of documents and a reason, as values of a form."""
        texts = (("documents", "Payslip of May\nPayslip of June"), ("reason", "Please send them."))
        rows = [ReplyTemplate.objects.create(use=use, name=use, text=text) for use, text in texts]
        return dict(zip(("documents_template", "reason_template"), (str(row.pk) for row in rows), strict=True))

    def test_document_request_form_shows_the_chosen_reply_templates_before_the_request(
        self, reviewers_client, templates
    ):
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

    def test_bulk_decision_form_shows_the_chosen_reply_template_before_the_decision(self, reviewers_client, templates):
        application = make("submitted")
        body = {"row": f"{application.pk}|{application.reviewed_state}", "seen": "bulk", "reason": ""}
        address = reverse("admin:credit_application_bulk", args=["under_review"])
        for more in ({"reason_template": templates["reason_template"]}, {"preview": "Insert"}):
            shown = reviewers_client.post(address, {**body, **more})
            assert shown.context["form"] is not None
            assert Application.objects.get().status == "submitted"

    def test_reply_template_can_be_inserted_once_and_only_if_the_template_exists(self, reviewers_client, templates):
        address = move_of(make(), "pending_documents")
        shown = reviewers_client.post(address, {"documents": "Passport", "reason": "x", "reason_template": "0"})
        assert "reason_template" in shown.context["form"].errors
        address = move_of(make(), "pending_documents")
        body = {"documents": "", "reason": "", "preview": "Insert", **templates}
        first = reviewers_client.post(address, body).context["form"]
        again = {name: first[name].value().replace("\n", "\r\n") for name in body if name != "preview"}
        second = reviewers_client.post(address, {**again, **templates}).context["form"]
        assert second["documents"].value() == "Payslip of May\nPayslip of June"

    def test_decision_form_offers_only_reasons_that_apply_to_its_decision(self, reviewers_client):
        uses = {"approval": "Approved", "rejection": "Rejected", "request": "Asked", "review": "Back", "reason": "Any"}
        for use, name in uses.items():
            ReplyTemplate.objects.create(use=use, name=name, text=name)
        for status, to, offered in (
            ("under_review", "approved", "Approved"), ("under_review", "rejected", "Rejected"),
            ("under_review", "pending_documents", "Asked"), ("rejected", "under_review", "Back"),
            ("under_review", "withdrawn", "Any"),
        ):  # fmt: skip
            form = reviewers_client.get(move_of(make(status), to)).context["form"]
            assert {name for _, name in form.fields["reason_template"].choices[1:]} == {offered, "Any"}, to

    def test_reviewers_can_edit_reply_templates_and_support_cannot(self, reviewers_client, supports_client):
        add = reverse("admin:backoffice_replytemplate_add")
        assert reviewers_client.post(add, {"use": "reason", "name": "n", "text": "t"}).status_code == 302
        assert ReplyTemplate.objects.get().text == "t"
        assert supports_client.get(add).status_code == 403


def test_rejection_form_offers_each_reason_once():
    groups = [choices for _, choices in REASON_CHOICES if isinstance(choices, list)]
    assert sorted(code for choices in groups for code, _ in choices) == sorted(REASONS)


def test_approval_form_with_an_invalid_amount_shows_the_costs_of_the_unchanged_terms(reviewers_client, settings):
    settings.REVIEW_POLICY = "reviewed"
    address = move_of(applied(listed()), "approved")
    before = reviewers_client.get(address).context["figures"]
    page = confirm(reviewers_client, address, amount="abc")
    assert page.context["figures"] == before != []
    text = text_of(page)
    assert "The form has errors. Amount in dollars: Enter a number." in text
    assert "These are the terms without your changes." in text


class TestLanguage:
    def test_decision_form_shows_the_applicants_language_and_stores_the_language_of_the_text(
        self, reviewers_client, scored
    ):
        User.objects.filter(pk=scored.consumer_id).update(language="es")
        page = text_of(reviewers_client.get(move_of(scored, "rejected")))
        assert "The applicant reads Spanish. Write in this language if you can." in page
        fields = {"code_1": "income_insufficient", "reason": "Sus ingresos son bajos.", "language": "es"}
        confirm(reviewers_client, move_of(scored, "rejected"), **fields, score_reason="x")
        move = ApplicationHistory.objects.filter(application=scored).latest("position")
        assert (move.status, move.reason) == ("rejected", "Sus ingresos son bajos.")
        assert move.metadata == {"reasons": ["income_insufficient"], "language": "es"}

    def test_decision_text_in_the_language_of_the_offer_is_stored_without_a_language(self, reviewers_client, scored):
        User.objects.filter(pk=scored.consumer_id).update(language="es")
        fields = {"code_1": "income_insufficient", "reason": "Low income.", "language": "en", "score_reason": "x"}
        confirm(reviewers_client, move_of(scored, "rejected"), **fields)
        assert ApplicationHistory.objects.latest("position").metadata == {"reasons": ["income_insufficient"]}

    def test_decision_form_has_no_language_field_if_the_applicants_language_is_the_offers_language(
        self, reviewers_client, scored
    ):
        assert 'name="language"' not in reviewers_client.get(move_of(scored, "rejected")).content.decode()


def test_errors_of_a_decision_do_not_contain_names_of_the_api(reviewers_client, settings):
    application = applied(eu_offer(apr_cap=18.7))
    address = move_of(application, "approved")
    text = text_of(
        send_form(reviewers_client, address, amount="5000", rate_percent="14.2", term_months="24", fee="300")
    )
    assert "above the highest legal rate: 18.7%." in text
    assert "apr_cap" not in text
    settings.REVIEW_POLICY = "reviewed"
    application.provider_owner(application.provider_id, application.created_at).update(address="")
    text = text_of(reviewers_client.get(page_of(application)))
    assert "Its owner adds it with the API" in text
    assert "/v1/providers" not in text


def test_opened_approval_form_shows_why_the_initial_terms_are_not_allowed(reviewers_client):
    application = applied(eu_offer(apr_cap=18.7, apr_min_percent=17.0))
    Application.objects.filter(pk=application.pk).update(
        offer_snapshot={**application.offer_snapshot, "apr_cap": 0.1, "apr_max_percent": 99}
    )
    page = reviewers_client.get(move_of(application, "approved"))
    ((label, text),) = page.context["figures"]
    assert label == "Loan"
    assert "above the highest legal rate: 0.1%." in text
    assert not page.context["form"].errors
