"""Test the main links of the console, the page of all records, and the formats of figures."""

from datetime import timedelta

import pytest
from django.utils import timezone

from tests.backoffice.conftest import backoffice_client, staff_of
from tests.backoffice.lenders import console_client, lender_of
from tests.backoffice.pages import text_of
from tests.backoffice.test_applications import LIST, make, page_of
from tests.factories import OfferFactory

pytestmark = pytest.mark.django_db
STAFF = ["Applications", "People", "Lenders", "Scorecards", "Audit"]


def titles(client, address="/admin/"):
    return [link["title"] for link in client.get(address).context["main_links"]]


def test_main_navigation_links_of_each_group_open_their_lists(superusers_client):
    links = superusers_client.get("/admin/").context["main_links"]
    assert [link["title"] for link in links] == STAFF
    for link in links:
        page = superusers_client.get(link["address"])
        assert page.status_code == 200
        assert [other["title"] for other in page.context["main_links"] if other["is_current"]] == [link["title"]]
    for group, expected in [
        ("Reviewer", ["Applications", "People", "Lenders", "Scorecards"]),
        ("Support", ["Applications", "People", "Lenders", "Scorecards", "Audit"]),
        ("Operations", ["People", "Lenders", "Scorecards", "Audit"]),
    ]:  # fmt: skip
        assert titles(backoffice_client(staff_of(group))) == expected, (group, expected)


def test_main_navigation_shows_lender_members_the_links_and_name_of_their_lender(db):
    client = console_client(lender_of("quartz", 701).people["reader"])
    assert titles(client) == ["Applications", "People", "Offers", "Team", "Scorecards", "Audit"]
    page = client.get("/admin/records/")
    assert '<span class="backoffice-word">Bank quartz</span>' in page.content.decode()
    named = {model["name"] for app in page.context["available_apps"] for model in app["models"]}
    assert {link["title"] for link in page.context["main_links"]} - named == {"Audit"}
    for link in page.context["main_links"]:
        assert client.get(link["address"], follow=True).status_code == 200


def test_all_records_page_lists_only_models_that_the_viewer_can_open(reviewers_client, superusers_client):
    everything, some = (
        client.get("/admin/records/").content.decode() for client in (superusers_client, reviewers_client)
    )
    assert "/admin/identity/apikey/" in everything
    assert "/admin/credit/application/" in some
    assert "/admin/identity/apikey/" not in some
    assert "/admin/identity/signingkey/" in everything
    assert "/admin/identity/signingkey/" not in superusers_client.get("/admin/").content.decode()
    named = {
        model["admin_url"]: model["name"]
        for app in superusers_client.get("/admin/").context["available_apps"]
        for model in app["models"]
    }
    titles = {
        "/admin/identity/user/": "People",
        "/admin/credit/applicant/": "Applicants",
        "/admin/credit/provider/": "Lenders",
        "/admin/ops/faileditem/": "Dead letters",
        "/admin/credit/scoringmodel/": "Scorecards",
        "/admin/credit/clock/": "Deadlines for notices",
    }
    for address, title in titles.items():
        assert named[address] == title
        assert superusers_client.get(address).context["title"] == title


def test_application_undecided_for_more_than_30_days_shows_the_days_late(reviewers_client):
    application = make(submitted_at=timezone.now() - timedelta(days=38, hours=2))
    for address in (LIST, page_of(application)):
        text = text_of(reviewers_client.get(address))
        assert "8 days late" in text, address
        assert "of 30" not in text, address


def test_offer_page_shows_dollar_amounts_and_rates_with_two_decimals(reviewers_client):
    offer = OfferFactory(apr_min_percent=6.9, loan_amount_min_cents=100_000)
    text = text_of(reviewers_client.get(f"/admin/credit/offer/{offer.pk}/change/"))
    assert "Loan amount minimum $1,000.00" in text
    assert "Lowest interest rate 6.90%" in text
    assert "cents" not in text
