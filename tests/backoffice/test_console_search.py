"""Test the search box in the header of the console's pages."""

import pytest
from django.utils import timezone

from config.core.casework import DataAccess
from credit.core.applicant_search import index_of
from credit.core.applicants import Applicants
from credit.core.figures import reference_of
from identity.access import keys
from tests.backoffice.lenders import console_client, lender_of
from tests.backoffice.pages import links_of, text_of
from tests.backoffice.test_applications import make, page_of
from tests.credit.applicants import PERSON
from tests.factories import UserFactory

pytestmark = pytest.mark.django_db
SEARCH = "/admin/search/"


def target_of(client, typed):
    return client.get(SEARCH, {"q": typed}).headers["Location"]


def test_every_back_office_page_has_the_search_box(reviewers_client):
    for address in ["/admin/", "/admin/records/", "/admin/credit/application/", "/admin/nowhere/"]:
        assert 'id="console-search"' in reviewers_client.get(address).content.decode(), address


def test_search_for_a_reference_or_an_id_opens_the_application(reviewers_client):
    application = make()
    reference = reference_of(application.pk)
    plain, spaced = reference.replace("-", ""), reference.replace("-", " ")
    for typed in (reference, reference.lower(), plain, spaced, application.pk):
        assert target_of(reviewers_client, f" {typed} ") == page_of(application)


def test_search_for_a_name_opens_the_application_list_and_logs_one_access(reviewers_client):
    persons = Applicants.of([PERSON])
    index = index_of(persons, persons.sha256)
    make(applicants=persons, applicants_sha256=persons.sha256, applicant_index=index)
    for typed in (PERSON["legal_name"], PERSON["email"], PERSON["phone"], "$5,000"):
        page = reviewers_client.get(SEARCH, {"q": typed}, follow=True)
        assert page.redirect_chain[0][0].startswith("/admin/credit/application/?q=")
    assert DataAccess.objects.filter(action="list").count() == 4


def test_search_for_an_email_address_opens_the_list_with_matches_and_logs_access_to_applications_and_people(
    reviewers_client, operations_client
):
    UserFactory(username="quiet", email="quiet@example.test")
    page = reviewers_client.get(SEARCH, {"q": "quiet@example.test"}, follow=True)
    assert page.redirect_chain[0][0] == "/admin/identity/user/?q=quiet%40example.test"
    assert "quiet" in text_of(page)
    logged = DataAccess.objects.filter(action="list").order_by("id")
    rows = [(row.kind, row.details["rows"]) for row in logged]
    assert rows == [("credit.application", 0), ("identity.user", 1)]
    assert not any("quiet" in row.details["query"] for row in logged)
    assert target_of(operations_client, "quiet@example.test") == "/admin/identity/user/?q=quiet%40example.test"


def test_search_for_an_unknown_email_address_opens_the_list_of_people(supports_client, operations_client):
    for client in (supports_client, operations_client):
        assert target_of(client, "nobody@example.test") == "/admin/identity/user/?q=nobody%40example.test"


def test_list_of_people_finds_an_account_by_its_id(operations_client):
    person = UserFactory(username="quiet")
    UserFactory(username="loud")
    found = operations_client.get("/admin/identity/user/", {"q": str(person.pk)})
    assert [row.username for row in found.context["cl"].result_list] == ["quiet"]


def test_member_of_a_lender_can_search_by_email_address_only_for_applicants():
    UserFactory(email="quiet@example.test")
    client = console_client(lender_of("quartz", 701_000_000_001).people["owner"])
    page = client.get(SEARCH, {"q": "quiet@example.test"}, follow=True)
    assert page.redirect_chain[0][0].startswith("/admin/credit/applicant/?q=")
    assert "quiet" not in text_of(page).replace("quiet@example.test", "")


def test_search_by_operations_opens_an_api_key_by_its_public_id_but_opens_no_application(operations_client):
    issued = keys.create_api_key(owner=UserFactory(), name="shop", scopes=None, now=timezone.now())
    key = issued.record
    for typed in (f"ck_test_{key.pk}…", f"ck_test_{key.pk}", key.pk):
        assert target_of(operations_client, typed) == f"/admin/identity/apikey/{key.pk}/change/"
    assert target_of(operations_client, "twelvesigns0").startswith("/admin/identity/user/?q=")
    application = make()
    assert page_of(application) not in target_of(operations_client, reference_of(application.pk))


def test_empty_and_invalid_searches_open_the_landing_page_or_a_list(reviewers_client):
    assert target_of(reviewers_client, " ") == "/admin/"
    assert reviewers_client.get(SEARCH, {"q": "a\x00b"}, follow=True).status_code == 200


def test_list_without_search_results_links_to_the_same_search_in_other_lists(reviewers_client):
    page = reviewers_client.get("/admin/credit/application/", {"q": "nothing like this"})
    assert "/admin/identity/user/?q=nothing+like+this" in links_of(page)
    assert "/admin/credit/application/?q=nothing+like+this" not in links_of(page)
    assert "You can search for: A reference" in text_of(page)
    for path in ("credit/application", "identity/user"):
        page = reviewers_client.get(f"/admin/{path}/", {"q": "wolfeschlegel"})
        assert "whole words of a" in text_of(page).lower(), path


def test_proposal_list_highlights_the_link_of_its_queue_in_the_main_navigation(reviewers_client):
    page = reviewers_client.get("/admin/credit/proposal/").content.decode()
    assert '<a href="/admin/" aria-current="true">Queue</a>' in page
