"""Test that a case page offers each action once, in a bar or a menu, with a consistent label."""

import re

import pytest
from django.utils import timezone

from config.core.casework import Assignment, DataAccess
from credit.models import Application, Proposal, RequestedDocument
from tests.backoffice.conftest import backoffice_client, staff_of
from tests.backoffice.pages import confirm, links_of, messages_of, seen_value, send_form, text_of
from tests.backoffice.test_applications import make, move_of, page_of
from tests.backoffice.test_teamwork import end_of
from tests.credit.terms.lending import applied, listed

pytestmark = pytest.mark.django_db
ACTIONS = re.compile(r'<a class="button[^"]*" href="([^"]*/(?:move|do|proposal)/[^"]*)"')


def actions_of(response):
    """Return the URLs of a page's actions: the actions of the bar, and the actions of the menu."""
    before, _, menu = response.content.decode().partition(">More<")
    return ACTIONS.findall(before), ACTIONS.findall(menu.partition("</details>")[0])


def bar_links(response):
    """Return the links of a case bar, without its menu, as (URL, label)."""
    bar = response.content.decode().partition('<ul class="case-actions">')[2].partition(">More<")[0]
    return re.findall(r'<a class="button small [^"]*" href="([^"]*)">([^<]*)</a>', bar)


def test_case_page_shows_each_action_once_and_rare_actions_in_a_menu(reviewers_client):
    application = make()
    page = reviewers_client.get(page_of(application))
    bar, menu = actions_of(page)
    assert [address.rstrip("/").rpartition("/")[2] for address in bar] == [
        "approved", "rejected", "counteroffer", "pending_documents",
    ]  # fmt: skip
    assert menu == [move_of(application, "withdrawn")]
    assert len(ACTIONS.findall(page.content.decode())) == 5
    assert "Transitions" not in text_of(page)


def test_opening_the_page_of_any_case_action_is_logged(reviewers_client, reviewer, supports_client):
    application = make()
    bar, menu = actions_of(reviewers_client.get(page_of(application)))
    for address in (*bar, *menu):
        before = DataAccess.objects.count()
        assert reviewers_client.get(address).status_code == 200, address
        row = DataAccess.objects.latest("id")
        assert DataAccess.objects.count() == before + 1, address
        assert (row.action, row.viewer, row.record_id) == ("page", reviewer, str(application.pk))
        assert (row.subject_id, row.was_masked) == (application.consumer_id, False)
    (unmask,) = actions_of(supports_client.get(page_of(application)))[0]
    supports_client.get(unmask)
    assert DataAccess.objects.latest("id").was_masked


def test_case_menu_shows_a_blocked_action_with_the_reason(reviewers_client, reviewer, settings):
    settings.REVIEW_POLICY = "four_eyes"
    page = reviewers_client.get(page_of(make(consumer=reviewer)))
    assert actions_of(page)[0] == []
    menu = page.content.decode().partition(">More<")[2].partition("</details>")[0]
    assert "disabled" in menu
    assert "review your own application." in menu
    assert "/move/withdrawn/" in menu


def test_support_can_unmask_a_case_but_not_decide_the_application(supports_client):
    page = supports_client.get(page_of(make()))
    bar, menu = actions_of(page)
    assert [address.rstrip("/").rpartition("/")[2] for address in bar] == ["unmask"]
    assert menu == []
    assert "Only reviewers can decide this record." in text_of(page)


def document_of(application, name, *, status="requested"):
    now = timezone.now()
    received = None if status == "requested" else now
    about = {
        "name": name,
        "status": status,
        "requested_at": now,
        "received_at": received,
        "changed_by": application.consumer,
    }
    return RequestedDocument.objects.create(application=application, **about)


@pytest.mark.parametrize(("status", "look"), [("requested", "small plain to-"), ("received", "small to-")])
def test_return_to_review_is_a_plain_button_while_a_document_is_missing(reviewers_client, status, look):
    application = make("pending_documents")
    document_of(application, "Payslip", status=status)
    address = move_of(application, "under_review")
    body = reviewers_client.get(page_of(application)).content.decode()
    assert f'<a class="button {look}under_review" href="{address}">Return to review</a>' in body
    line = "The applicant has not uploaded “Payslip” yet."
    assert (line in text_of(reviewers_client.get(address))) == (status == "requested")


class TestReopening:
    def test_case_assigned_to_another_reviewer_remains_assigned_when_its_review_starts(self, reviewers_client):
        application, other = make("submitted"), staff_of("Reviewer", username="ruth")
        backoffice_client(other).post(f"{page_of(application).removesuffix('change/')}assign/", {"assignee": "me"})
        address = move_of(application, "under_review")
        assert "The case stays assigned to ruth." in text_of(reviewers_client.get(address))
        assert "It stays assigned to ruth." in messages_of(send_form(reviewers_client, address))
        assert Assignment.objects.get().assignee == other

    def test_case_assigned_to_a_former_reviewer_is_reassigned_when_its_review_starts(self, reviewers_client, reviewer):
        application, other = make("submitted"), staff_of("Reviewer", username="ruth")
        name = {"kind": "credit.application", "record_id": str(application.pk)}
        Assignment.objects.create(**name, assignee=other, assigned_by=other, assigned_at=timezone.now())
        other.groups.clear()
        confirm(reviewers_client, move_of(application, "under_review"))
        assert Assignment.objects.get().assignee == reviewer

    def test_reopened_case_is_assigned_to_the_reviewer_who_reopened_the_case(self, reviewers_client, reviewer):
        application = make("pending_documents")
        confirm(reviewers_client, move_of(application, "under_review"))
        assert not Assignment.objects.exists()
        for status in ["approved", "rejected", "submitted"]:
            application = make(status)
            address = move_of(application, "under_review")
            assert "The case is assigned to you." in text_of(reviewers_client.get(address)), status
            assert "It is assigned to you." in messages_of(send_form(reviewers_client, address)), status
            assert Assignment.objects.get(record_id=str(application.pk)).assignee == reviewer, status


class TestProposal:
    @pytest.fixture
    def proposal(self, reviewers_client, settings):
        """Return the rejection that rita proposes."""
        settings.REVIEW_POLICY = "four_eyes"
        send_form(reviewers_client, move_of(make(), "rejected"), code_1="no_credit_file")
        return Proposal.objects.get()

    @pytest.fixture
    def colleague(self, db):
        return backoffice_client(staff_of("Reviewer", username="ruth"))

    def test_only_the_second_reviewer_can_confirm_a_proposal_or_return_the_case_to_review(
        self, colleague, proposal, reviewers_client
    ):
        for address in (page_of(proposal.application), f"/admin/credit/proposal/{proposal.pk}/change/"):
            text = text_of(colleague.get(address))
            assert "Confirm the rejection" in text, address
            assert "Return to review" in text, address
            assert "Decline" not in text, address
        confirmation = end_of(proposal, "confirm")
        page = colleague.get(page_of(proposal.application))
        ending = end_of(proposal, "close")
        assert bar_links(page) == [(confirmation, "Confirm the rejection"), (ending, "Return to review")]
        assert links_of(page).count(confirmation) == links_of(page).count(ending) == 1
        page = reviewers_client.get(page_of(proposal.application))
        assert bar_links(page) == [(ending, "Withdraw the proposal")]
        assert links_of(page).count(ending) == 1
        for verb, label in [("confirm", "Confirm the rejection"), ("close", "Return to review")]:
            page = colleague.get(end_of(proposal, verb))
            look = "rejected" if verb == "confirm" else "other"
            assert f'<input type="submit" class="default to-{look}" value="{label}">' in page.content.decode()

    def test_case_page_does_not_offer_the_confirmation_of_a_void_proposal(self, colleague, proposal):
        Application.objects.update(application_data={"amount": 2})
        page = colleague.get(page_of(proposal.application))
        assert "Void proposal" in text_of(page)
        assert end_of(proposal, "confirm") not in page.content.decode()

    def test_proposal_page_summarizes_the_case_and_links_to_the_case_page(self, colleague, reviewers_client, settings):
        settings.REVIEW_POLICY = "four_eyes"
        application = applied(listed())
        document_of(application, "Payslip")
        send_form(reviewers_client, move_of(application, "rejected"), code_1="no_credit_file")
        proposal = Proposal.objects.get(application=application)
        for address in (f"/admin/credit/proposal/{proposal.pk}/change/", end_of(proposal, "confirm")):
            text = text_of(colleague.get(address))
            figures = ("Amount $10,000.00", "Number of months 24", "Payslip requested")
            for row in (f"Account {application.consumer}", *figures):
                assert row in text, (address, row)
        assert page_of(application) in links_of(colleague.get(f"/admin/credit/proposal/{proposal.pk}/change/"))

    def test_case_timeline_shows_the_withdrawal_of_a_proposal_by_its_author(self, reviewers_client, proposal):
        send_form(reviewers_client, end_of(proposal, "close"))
        text = text_of(reviewers_client.get(page_of(proposal.application)))
        assert "rita withdrew the proposal of rejection" in text

    def test_declined_proposal_requires_a_reason_and_returns_the_case_to_the_first_reviewer(
        self, colleague, proposal, reviewers_client, reviewer, supports_client
    ):
        page = colleague.post(end_of(proposal, "close"), {"seen": seen_value(colleague.get(end_of(proposal, "close")))})
        assert "This field is required." in text_of(page)
        assert Proposal.objects.get().outcome == ""
        page = text_of(confirm(colleague, end_of(proposal, "close"), reason="The income is not checked."))
        assert "The case is assigned to rita." in page
        assert "rita proposed rejection" in page
        assert "ruth returned the proposal of rejection by rita: The income is not checked." in page
        assert Assignment.objects.get(record_id=str(proposal.application_id)).assignee == reviewer
        assert "1 Assigned to you" in text_of(reviewers_client.get("/admin/"))
        own = text_of(colleague.get(f"/admin/credit/proposal/{proposal.pk}/change/"))
        assert "The income is not checked." in own
        assert "under_review:" not in own
        assert "proposed rejection" not in text_of(supports_client.get(page_of(proposal.application)))
        text = text_of(colleague.get("/admin/credit/proposal/?state=ended"))
        assert "returned to review" in text
        assert "declined" not in text

    def test_case_timeline_shows_both_reviewers_of_a_decision(self, colleague, proposal):
        page = text_of(confirm(colleague, end_of(proposal, "confirm")))
        assert "proposed by rita confirmed by ruth" in page

    def test_case_page_shows_the_terms_and_cost_of_a_proposal(self, colleague, reviewers_client, settings):
        settings.REVIEW_POLICY = "four_eyes"
        application = applied(listed())
        send_form(reviewers_client, move_of(application, "approved"), amount="6000", rate_percent="8", term_months="12")
        proposal = Proposal.objects.get(application=application)
        for address in (
            page_of(application),
            end_of(proposal, "confirm"),
            f"/admin/credit/proposal/{proposal.pk}/change/",
        ):
            text = text_of(colleague.get(address))
            for row in ("Amount $6,000.00", "Interest rate 8.00%", "Monthly payment $521.93", "Proposed by rita"):
                assert row in text, address
