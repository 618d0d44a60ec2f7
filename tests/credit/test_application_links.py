"""Test a partner's signed links to the application form, which prefill answers without side effects."""

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from credit.models import Application, ProviderMember
from credit.offers.links import LinkEnded, read_link
from tests.api import assert_error, client_of
from tests.credit.scoring.making import join
from tests.credit.scoring.submitting import scored_offer
from tests.credit.terms.lending import listed
from tests.credit.test_my_apply import SCHEMA
from tests.credit.test_my_language import spanish
from tests.credit.test_my_pages import browser_of
from tests.factories import UserFactory

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("reviewed")]
PREFILL = {
    "application_data": {"amount_cents": 800_000, "purpose": "car", "income_cents": 5_400_000},
    "applicants": [{"legal_name": "Ada <Example>", "email": "ADA@example.test", "address": {"city": "Portland"}}],
}


@pytest.fixture
def offer():
    return listed(application_schema=SCHEMA)


def create(offer, user=None, **body):
    api = client_of(user or offer.provider.owner)
    return api.send(f"/providers/{offer.provider_id}/application-links", {"offer_id": offer.pk, **body})


def link_to(offer, **body):
    response = create(offer, **{"prefill": PREFILL, **body})
    assert response.status_code == 201, response.content
    return "/my/apply/link/" + response.json()["url"].partition("/my/apply/link/")[2]


def test_application_link_opens_the_form_with_the_prefilled_answers(offer, user):
    path = link_to(offer)
    assert "Portland" not in path
    assert "QWRh" not in path  # Base64 of "Ada"
    page = browser_of(user).get(path).content.decode()
    for value in ("8000.00", "54000.00", "Ada &lt;Example&gt;", "ada@example.test", "Portland"):
        assert f'value="{value}"' in page, value
    assert re.search(r'<option value="car" selected', page)
    assert f'action="/my/apply/{offer.pk}"' in page
    assert "Some answers were filled in for you." in page


@pytest.mark.parametrize(
    ("applicant", "kind", "name"),
    [
        ({"email": "ada@example.test"}, "email", "email"),
        ({"legal_name": "Ada"}, "text", "legal_name"),
        ({}, "text", "legal_name"),
    ],
)
def test_application_link_with_an_applicant_without_an_address_opens_the_form(offer, user, applicant, kind, name):
    path = link_to(offer, prefill={"applicants": [applicant, applicant]})
    response = browser_of(user).get(path)
    page = response.content.decode()
    assert response.status_code == 200
    for prefix in ("first", "second"):
        field = re.search(f'<input type="{kind}" name="{prefix}-{name}"[^>]*>', page)[0]
        assert (f'value="{applicant.get(name)}"' in field) == bool(applicant)
    assert page.count('<option value="US" selected>') == 2


@pytest.mark.parametrize("text", ["x", "ü"])
def test_application_link_accepts_1500_bytes_of_prefill_and_rejects_more(user, text):
    offer = listed(application_schema={"type": "object", "properties": {"story": {"type": "string"}}})
    letters, padding = divmod(1_500 - len('{"application_data":{"story":""}}'), len(text.encode()))
    story = "x" * padding + text * letters
    page = browser_of(user).get(link_to(offer, prefill={"application_data": {"story": story}})).content.decode()
    assert story in page
    response = create(offer, prefill={"application_data": {"story": f"{story}x"}})
    assert "at most 1,500 bytes" in assert_error(response, 400, "E1001")["message"]


def test_application_link_shows_visitors_the_offer_without_the_prefilled_answers(offer, user):
    path = link_to(offer)
    for browser in (Client(), browser_of(user), Client(), browser_of(UserFactory())):
        assert browser.get(path).status_code == 200
        assert browser.head(path).status_code == 200
    assert not Application.objects.exists()
    response = Client().get(path)
    page = response.content.decode()
    assert response.status_code == 200
    assert offer.name in page
    assert not any(value in page for value in ("Ada &lt;", "ada@example.test", "54000.00"))
    assert f"/account/login?next={path.replace('=', '%3D').replace(':', '%3A')}" in page.replace("/login/?", "/login?")


def test_altered_application_link_returns_410_and_expired_link_is_rejected(offer, user, monkeypatch):
    path = link_to(offer, expires_in_hours=1)
    token = path.rpartition("/")[2]
    read_link(token, now=timezone.now() + timedelta(minutes=59))
    with pytest.raises(LinkEnded):
        read_link(token, now=timezone.now() + timedelta(hours=1, seconds=1))
    changed = path[:-2] + ("A" if path[-2] != "A" else "B") + path[-1]
    for altered in (changed, path[:-20], "/my/apply/link/x", path.replace(":", "")):
        for browser in (Client(), browser_of(user)):
            response = browser.get(altered)
            assert response.status_code == 410
            assert "This link doesn't work" in response.content.decode()


def test_application_link_pages_are_spanish_in_a_spanish_browser(offer, user):
    path = link_to(offer)
    for browser in (Client(), browser_of(user)):
        for address in (path, path[:-1]):
            text = browser.get(address, headers={"Accept-Language": "es"}).content.decode()
            assert "completad" in spanish(text) or "Este enlace no funciona" in text


def test_invalid_application_link_request_is_rejected_with_the_reason(offer):
    for body, status, words in (
        ({"prefill": {"application_data": {"amont_cents": 1}}}, 400, "no field 'amont_cents'. Its fields: amount"),
        ({"prefill": {"applicants": [{"name": "Ada"}]}}, 400, "Unknown field"),
        ({"prefill": {"amount_cents": 1}}, 400, "prefill.amount_cents: Unknown field"),
        ({"prefill": {"applicants": [{"email": "ada"}]}}, 400, "Must be an email address"),
        ({"prefill": {"applicants": [{}, {}, {}]}}, 400, "applicants"),
        ({"prefill": {"application_data": {"story": "x" * 1_500}}}, 400, "at most 1,500 bytes"),
        ({"prefill": {"application_data": 5}}, 400, "application_data"),
        ({"prefill": {"application_data": {"income_cents": [1]}}}, 400, "`income_cents`: Must be"),
        ({"prefill": {"application_data": {"income_cents": 1e300}}}, 400, "`income_cents`: Must be"),
        ({"prefill": {"application_data": {"amount_cents": 1e300}}}, 400, "`amount_cents`: Must be a number within"),
        ({"prefill": {"application_data": {"term_months": -1}}}, 400, "`term_months`: Must be at least 0"),
        ({"expires_in_hours": 721}, 400, "expires_in_hours"), ({"expires_in_hours": 0}, 400, "expires_in_hours"),
        ({"offer_id": 987_654}, 404, "Offer not found"), ({"prefil": {}}, 400, "prefill"),
    ):  # fmt: skip
        response = create(offer, **body)
        assert response.status_code == status, (body, response.content)
        assert words in response.content.decode()


def test_only_reviewers_of_the_lender_can_create_application_links(offer, user):
    assert create(offer, user).json()["code"] == "E4012"
    reader = join(offer.provider)
    ProviderMember.objects.filter(user=reader).update(role=ProviderMember.READER)
    assert create(offer, reader).json()["code"] == "E2011"


def test_application_link_is_invalid_after_its_author_loses_the_role_or_its_offer_ends(offer, user):
    def shown(path):
        return {browser.get(path).status_code for browser in (browser_of(user), Client())}

    for change in (
        lambda rows: rows.delete(), lambda rows: rows.update(role=ProviderMember.READER),
        lambda rows: UserFactory._meta.model.objects.filter(pk=rows.get().user_id).update(is_active=False),
        lambda _rows: type(offer).objects.update(is_active=False),
    ):  # fmt: skip
        author = join(offer.provider)
        path = "/my/apply/link/" + create(offer, author).json()["url"].rpartition("/")[2]
        assert shown(path) == {200}
        change(ProviderMember.objects.filter(user=author))
        assert shown(path) == {410}


def test_application_link_form_shows_the_notice_of_automated_processing(user):
    scored = scored_offer()[0]
    page = browser_of(user).get(link_to(scored, prefill={})).content.decode()
    assert "How the decision is made" in page
    assert "A person decides. The score is a proposal to that person." in page
