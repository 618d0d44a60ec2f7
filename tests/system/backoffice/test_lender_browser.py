"""The lender console in a real browser, for an underwriter of one of two lenders."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import Group
from django.utils import timezone

from credit.models import Application, Notice, ProviderMember
from tests.backoffice.test_applications import make
from tests.factories import OfferFactory, ProviderFactory, UserFactory
from tests.system.backoffice.test_browser import Visit

CASES = 5  # applications of each lender


@pytest.fixture
def lenders(settings, transactional_db):
    """Two lenders with the same number of applications, and an underwriter of the first lender."""
    settings.REVIEW_POLICY = "reviewed"
    now = timezone.now()
    for number, mark in ((701, "quartz"), (702, "zircon")):
        owner = UserFactory(username=f"owner-{mark}")
        owner.groups.add(Group.objects.get(name="Lender"))
        provider = ProviderFactory(id=str(number), owner=owner, name=f"Bank {mark}")
        offer = OfferFactory(provider=provider, name=f"Loan {mark}", apr_min_percent=9.9, term_options_months=[24])
        applicant = UserFactory(username=f"applicant-{mark}")
        for days in range(1, CASES + 1):
            make(
                consumer=applicant, provider_id=number, offer_id=offer.pk, offer_version=1,
                offer_snapshot=offer.terms(), status="under_review", submitted_at=now - timedelta(days=days),
                application_data={"amount_cents": 700_000, "term_months": 24},
            )  # fmt: skip
    underwriter = UserFactory(username="uma")
    ProviderMember.objects.create(provider_id="701", user=underwriter, role=ProviderMember.REVIEWER)


@pytest.mark.timeout(900)
def test_an_underwriter_sees_and_decides_only_applications_of_their_lender(lenders, live_server, chromium):
    visit = Visit(chromium, live_server, viewport={"width": 1440, "height": 900})
    page = visit.page
    page.goto("/admin/")
    visit.enter("uma")
    page.goto("/admin/")
    visit.check_page("console")
    assert page.inner_text(".card:has-text('Applications to review') .card-count") == str(CASES)
    for number in range(CASES):
        page.goto("/admin/")
        visit.go("text=Take the oldest")
        assert "zircon" not in page.content()
        if number == 0:
            visit.check_page("case")
        visit.go(f".case-actions >> text={'Reject' if number else 'Approve'}")
        if number:
            page.select_option("#id_code_1", "income_insufficient")
        visit.go("input[type=submit].default")
        assert "is now" in page.inner_text(".messagelist")
    page.goto("/admin/credit/notice/")
    visit.check_page("notices")
    decided = Application.objects.filter(provider_id=701)
    assert sorted(decided.values_list("status", flat=True)) == ["approved"] + ["rejected"] * (CASES - 1)
    assert page.locator("#result_list tbody tr").count() == Notice.objects.filter(provider_id=701).count() >= CASES - 1
    assert "zircon" not in page.content()
    assert set(Application.objects.filter(provider_id=702).values_list("status", flat=True)) == {"under_review"}
    other = Application.objects.filter(provider_id=702).first()
    assert page.goto(f"/admin/credit/application/{other.pk}/change/").status == 404
    assert "zircon" not in page.content()
    visit.complaints.clear()
