"""Test the decision page: the case next to the form, confirmed terms, suggested reasons, and the next case."""

from datetime import timedelta

import pytest
from django.utils import timezone

from credit.console.forms import REASON_CHOICES, chosen_reasons
from credit.core.reasons import OTHER, REASONS
from credit.models import Application, ApplicationHistory, Counteroffer, LoanTerms, Proposal
from tests.backoffice.conftest import backoffice_client, staff_of
from tests.backoffice.pages import confirm, seen_value, send_form, text_of
from tests.backoffice.test_applications import make, move_of, page_of
from tests.backoffice.test_case_score import case as scored_case
from tests.backoffice.test_teamwork import end_of
from tests.credit.scoring.past import model_of, version_of
from tests.credit.terms.lending import applied, listed

pytestmark = [pytest.mark.django_db]
OFFERED = {"amount": "6000", "rate_percent": "8", "term_months": "12"}


@pytest.fixture
def scored(db):
    return scored_case(version_of(model_of()))


def rows_of(page):
    return {row["name"]: row["value"] for row in page.context["case"]}


def status_of(application):
    return Application.objects.get(pk=application.pk).status


class TestCase:
    def test_decision_page_shows_the_figures_and_the_score(self, reviewers_client, scored):
        Application.objects.update(application_data={"amount_cents": 500_000, "income_cents": 4_800_000})
        rows = rows_of(reviewers_client.get(move_of(scored, "rejected")))
        assert rows["Account"] == scored.consumer.username
        assert (rows["Amount"], rows["Monthly income"]) == ("$5,000.00", "$4,000.00")
        assert (rows["Score"], rows["Score's proposal"]) == ("550 of 0 to 900", "reject")
        assert "Income insufficient for amount of credit requested" in rows["Reasons of the score"]

    def test_decision_page_shows_the_ends_of_the_hash_of_the_data(self, reviewers_client, scored):
        digest = scored.data_sha256
        page = text_of(reviewers_client.get(move_of(scored, "rejected")))
        assert f"(SHA-256 {digest[:8]}…{digest[-8:]})" in page
        assert digest not in page

    def test_decision_form_precedes_the_case_and_the_effects(self, reviewers_client, scored):
        body = reviewers_client.get(move_of(scored, "approved")).content.decode()
        parts = ['name="amount"', 'id="case-heading"', 'id="what-heading"']
        assert sorted(parts, key=body.index) == parts

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

    def test_counteroffer_preview_computes_terms_without_other_fields(self, reviewers_client, application):
        address = move_of(application, "counteroffer")
        sent = {"seen": seen_value(reviewers_client.get(address)), **OFFERED, "preview": "1"}
        page = reviewers_client.post(address, sent)
        assert "code_1" in page.context["form"].errors
        assert dict(page.context["figures"])["Monthly payment"] == "$521.93"
        assert not Counteroffer.objects.exists()

    def test_counteroffer_form_proposes_an_expiry_after_14_days(self, reviewers_client, application):
        send_form(
            reviewers_client, move_of(application, "counteroffer"), **OFFERED, code_1="bankruptcy",
            expires_on=reviewers_client.get(move_of(application, "counteroffer")).context["form"].initial["expires_on"],
        )  # fmt: skip
        assert Counteroffer.objects.get().expires_at.date() == timezone.now().date() + timedelta(days=14)


class TestReasons:
    def test_rejection_form_is_prefilled_with_the_score_reasons(self, reviewers_client, scored):
        initial = reviewers_client.get(move_of(scored, "rejected")).context["form"].initial
        reasons = scored.decision_score.reasons
        assert reasons
        assert [initial[f"code_{at}"] for at in range(1, len(reasons) + 1)] == reasons

    def test_approval_form_has_no_rejection_reasons(self, reviewers_client, scored):
        assert "code_1" not in reviewers_client.get(move_of(scored, "approved")).context["form"].initial

    def test_rejection_form_prefills_the_custom_reason_of_a_score(self):
        own = {"code": OTHER, "text": "No account here"}
        assert chosen_reasons(["bankruptcy", own]) == {
            "code_1": "bankruptcy", "code_2": OTHER, "other": "No account here",
        }  # fmt: skip
        assert chosen_reasons([]) == {}


class TestNextCase:
    def test_decision_can_redirect_to_the_case_that_waited_longest(self, reviewers_client):
        later, oldest, first = (make(submitted_at=timezone.now() - timedelta(days=days)) for days in (1, 9, 3))
        address = move_of(first, "rejected")
        assert 'value="Reject, and open the next case"' in reviewers_client.get(address).content.decode()
        shown = confirm(reviewers_client, address, code_1="bankruptcy", next="1")
        assert shown.redirect_chain[-1][0].partition("?")[0] == page_of(oldest)
        assert (status_of(first), status_of(later)) == ("rejected", "under_review")

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

    def test_invalid_decision_redirects_back_to_the_same_case(self, reviewers_client):
        application = make()
        make(submitted_at=timezone.now() - timedelta(days=30))
        address = move_of(application, "rejected")
        sent = {"seen": seen_value(reviewers_client.get(address)), "code_1": "bankruptcy", "next": "1"}
        Application.objects.filter(pk=application.pk).update(application_data={"a": 1})
        shown = reviewers_client.post(address, sent, follow=True)
        assert shown.redirect_chain[-1][0] == page_of(application)
        assert not ApplicationHistory.objects.exists()

    def test_start_of_a_review_has_no_next_case_option(self, reviewers_client):
        assert b'name="next"' not in reviewers_client.get(move_of(make("submitted"), "under_review")).content


def test_rejection_form_offers_each_reason_once():
    groups = [choices for _, choices in REASON_CHOICES if isinstance(choices, list)]
    assert sorted(code for choices in groups for code, _ in choices) == sorted(REASONS)


def test_invalid_amount_keeps_the_costs_without_the_change(reviewers_client, settings):
    settings.REVIEW_POLICY = "reviewed"
    address = move_of(applied(listed()), "approved")
    before = reviewers_client.get(address).context["figures"]
    page = confirm(reviewers_client, address, amount="abc")
    assert page.context["figures"] == before != []
    text = text_of(page)
    assert "The form has errors. Amount in dollars: Enter a number." in text
    assert "These are the terms without your changes." in text
