"""Test the tabs, the titles of records, and the words of the lists of the audit."""

import pytest

from config.core.casework import Assignment, DataAccess, named
from credit.core.applicants import Applicants
from credit.core.figures import reference_of
from credit.models import Proposal
from tests.backoffice.pages import links_of, send_form, text_of
from tests.backoffice.test_applications import make, move_of, page_of
from tests.credit.applicants import PERSON

pytestmark = pytest.mark.django_db
TABS = ["/admin/admin/logentry/", "/admin/backoffice/dataaccess/", "/admin/identity/accounthistory/"]


def tabs_of(page):
    return page.content.decode().partition('<nav class="tabs"')[2].partition("</nav>")[0]


def test_each_audit_list_links_to_the_other_audit_lists_that_the_viewer_can_open(operations_client, supports_client):
    for address in TABS:
        tabs = tabs_of(operations_client.get(address))
        assert [other for other in TABS if f'href="{other}"' in tabs] == TABS, address
        assert f'<a href="{address}" aria-current="page">' in tabs, address
    assert tabs_of(supports_client.get(TABS[2])) == ""


def test_access_log_shows_the_reference_of_an_application_and_whether_data_was_masked(
    supports_client, superusers_client
):
    application = make()
    supports_client.get(page_of(application))
    supports_client.get("/admin/credit/application/")
    page = superusers_client.get(TABS[1])
    text = text_of(page)
    assert f"application {reference_of(application.pk)} masked" in text
    assert "list: Applications masked" in text
    assert page_of(application) in links_of(page)
    row = DataAccess.objects.get(action="page")
    assert str(application.pk) in text_of(superusers_client.get(f"{TABS[1]}{row.pk}/change/"))


def test_access_log_identifies_a_proposal_by_the_reference_of_its_application(
    reviewers_client, superusers_client, settings
):
    settings.REVIEW_POLICY = "four_eyes"
    application = make()
    send_form(reviewers_client, move_of(application, "rejected"), code_1="no_credit_file")
    proposal = Proposal.objects.get()
    reviewers_client.get(f"/admin/credit/proposal/{proposal.pk}/change/")
    text = text_of(superusers_client.get(TABS[1]))
    assert f"proposal of {reference_of(application.pk)}" in text
    assert str(proposal.pk) not in text


def test_list_of_assignments_shows_applicant_names_and_logs_the_access(reviewers_client, reviewer):
    persons = Applicants.of([PERSON])
    application = make(applicants=persons, applicants_sha256=persons.sha256)
    facts = {"assignee": reviewer, "assigned_by": reviewer, "assigned_at": application.created_at}
    Assignment.objects.create(**named(application), **facts)
    text = text_of(reviewers_client.get("/admin/backoffice/assignment/"))
    assert f"application {PERSON['legal_name']} · {reference_of(application.pk)}" in text
    assert DataAccess.objects.get(action="list").kind == "credit.application"
