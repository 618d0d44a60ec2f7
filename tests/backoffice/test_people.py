"""Test that a lender's console lists the lender's applicants by legal name, and no other people."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from credit.core.applicant_search import index_of
from credit.core.applicants import Applicants
from credit.models import Application
from tests.backoffice.lenders import ROLES, console_client, lender_of
from tests.backoffice.pages import text_of
from tests.credit.applicants import PERSON
from tests.credit.erasing import erase_applicants
from tests.factories import ApplicationFactory, UserFactory

pytestmark = pytest.mark.django_db
PEOPLE = "/admin/credit/applicant/"


@pytest.fixture
def lender():
    return lender_of("quartz", 701)


@pytest.fixture
def other_lender():
    return lender_of("zircon", 702)


def apply_to(lender, name, **columns):
    person = columns.pop("consumer", None) or UserFactory()
    now = timezone.now()
    applicants = Applicants.of([{**PERSON, "legal_name": name, **columns}])
    return ApplicationFactory(
        consumer=person, provider_id=lender.number, offer_id=lender.records["credit.offer"].pk, status="submitted",
        applicants=applicants, applicants_sha256=applicants.sha256, submitted_at=now, amount_cents=123_400,
        applicant_index=index_of(applicants, applicants.sha256),
    )  # fmt: skip


def page_of(person):
    return reverse("admin:credit_applicant_change", args=[person.pk])


def people_of(client, **query):
    response = client.get(PEOPLE, query)
    assert response.status_code == 200
    return [row.pk for row in response.context["cl"].result_list]


@pytest.mark.parametrize("role", ROLES)
def test_lender_members_have_a_link_to_the_lenders_applicants(lender, other_lender, role):
    client = console_client(lender.people[role])
    rosa = apply_to(lender, "Rosa Quillfeather")
    apply_to(other_lender, "Jorge Zircon")
    links = {link["title"]: link["address"] for link in client.get("/admin/").context["main_links"]}
    assert list(links) == ["Applications", "People", "Offers", "Team", "Scorecards", "Audit"]
    assert links["People"] == PEOPLE
    assert people_of(client) == [rosa.consumer_id, lender.application.consumer_id]
    text = text_of(client.get(PEOPLE))
    assert f"Rosa Quillfeather {rosa.consumer.username}" in text
    assert "1 submitted" in text
    assert "Jorge" not in text


def test_applicant_page_lists_only_applications_to_the_lender(lender, other_lender):
    client = console_client(lender.people["reader"])
    first = apply_to(lender, "Rosa Quillfeather")
    second = apply_to(lender, "Rosa Quillfeather-Smith", consumer=first.consumer)
    foreign = apply_to(other_lender, "Rosa Elsewhere", consumer=first.consumer)
    page = client.get(page_of(first.consumer))
    text = text_of(page)
    assert "Rosa Quillfeather-Smith" in text
    assert "$1,234.00" in text
    body = page.content.decode()
    for shown in (first, second):
        assert f"/admin/credit/application/{shown.pk}/change/" in body
    assert str(foreign.pk) not in body
    assert "Elsewhere" not in body
    for private in ("API keys", first.consumer.email or "no address", "last login", "superuser"):
        assert private.lower() not in text.lower()


def test_applicant_page_returns_not_found_if_the_person_has_not_applied_to_the_viewers_lender(lender, other_lender):
    client = console_client(lender.people["owner"])
    stranger = apply_to(other_lender, "Jorge Zircon").consumer
    draft = ApplicationFactory(provider_id=lender.number, status="draft", submitted_at=None).consumer
    missing = client.get("/admin/credit/applicant/999999/change/", follow=True)
    for person in (stranger, draft, lender.people["owner"], UserFactory(is_staff=True)):
        answer = client.get(page_of(person), follow=True)
        assert (answer.status_code, answer.redirect_chain) == (missing.status_code, missing.redirect_chain)
        assert person.username not in answer.content.decode() or person == lender.people["owner"]


def test_applicant_list_search_accepts_the_application_search_terms(lender, other_lender):
    client = console_client(lender.people["reviewer"])
    said = {"email": "rosa@example.test", "phone": "+15035550100"}
    rosa = apply_to(lender, "Rosa Quillfeather", **said)
    apply_to(other_lender, "Rosa Quillfeather", **said)
    reference = f"A-{str(rosa.pk).replace('-', '')[-8:].upper()}"
    for typed in [
        "quillfeather", "ROSA", "rosa@example.test", "(503) 555-0100", "user:{}", "$1,234", "{reference}", "{username}",
    ]:  # fmt: skip
        query = typed.format(rosa.consumer_id, reference=reference, username=rosa.consumer.username)
        assert people_of(client, q=query) == [rosa.consumer_id], typed
        assert people_of(client, q="nobody at all") == [], typed


def test_applicant_list_omits_an_erased_applicant(lender):
    client = console_client(lender.people["owner"])
    rosa = apply_to(lender, "Rosa Quillfeather")
    erase_applicants(rosa.consumer_id)
    assert "Quillfeather" not in text_of(client.get(PEOPLE))
    rosa.consumer.erased_at = rosa.created_at
    rosa.consumer.save()
    assert people_of(client) == [lender.application.consumer_id]


def test_applicant_list_of_any_length_executes_a_fixed_number_of_sql_statements(lender):
    client, counts = console_client(lender.people["owner"]), []
    client.get(PEOPLE)
    for number in (1, 9):
        for _ in range(number):
            apply_to(lender, "Rosa Quillfeather")
        for query in ({}, {"q": "rosa"}):
            with CaptureQueriesContext(connection) as captured:
                client.get(PEOPLE, query)
            counts.append(len(captured))
    assert counts[:2] == counts[2:]
    assert max(counts) <= 20


def test_staff_without_the_permission_cannot_open_the_list_of_applicants(reviewers_client):
    apply_to(lender_of("quartz", 701), "Rosa Quillfeather")
    assert reviewers_client.get(PEOPLE).status_code == 403
    assert Application.objects.count() == 2
