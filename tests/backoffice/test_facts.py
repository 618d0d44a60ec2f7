"""Test claimed, sourced, and confirmed figures on an application's page, and the reviewers' actions on them."""

import re

import pytest
from django.contrib.auth.models import Group
from django.utils import timezone

from config.core.encryption import sealed_values
from credit.core.applicants import Applicants
from credit.models import Application, Confirmation, ProviderMember, Report, Score
from tests.api import client_of
from tests.backoffice.lenders import console_client
from tests.backoffice.pages import messages_of, text_of
from tests.backoffice.test_applications import page_of
from tests.credit.applicants import PERSON
from tests.credit.scoring import sourced
from tests.credit.scoring.submitting import draft_for, scored_offer, submit
from tests.credit.scoring.test_confirmations import CLAIMS, card, file_of
from tests.credit.support import make_reviewer
from tests.factories import UserFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def scored_application(user):
    """Return a scored application, with a bank and a file."""
    sourced.bank(user, paid_in=230_000, paid_out=120_000)
    offer, version = scored_offer(definition=card())
    application = draft_for(offer, user, CLAIMS)
    assert submit(client_of(user), application).status_code == 200
    application.refresh_from_db()
    application.file, application.version = file_of(application), version
    return application


def submit_action(client, application, name, **fields):
    """Open the page of an action, and send the form with these fields."""
    address = page_of(application).replace("/change/", f"/do/{name}/")
    seen = re.search(r'name="seen" value="([^"]+)"', client.get(address).content.decode())[1]
    return client.post(address, {"seen": seen, **fields}, follow=True)


def test_case_page_shows_stated_figures_next_to_figures_from_shared_bank_data(reviewers_client, scored_application):
    confirmed = {"pointer": "/monthly_debt_cents", "value": 61_000, "file_id": str(scored_application.file.pk)}
    path = f"/applications/{scored_application.pk}/confirmations"
    assert client_of(make_reviewer()).send(path, confirmed).status_code == 201
    text = text_of(reviewers_client.get(page_of(scored_application)))
    assert "Figure Claimed Sourced Confirmed Corrected" in text
    assert re.search(r"Monthly income \$2,000.00 \$2,300.00 \(\d{4}-\d\d-\d\d\) — — Differs from the claim.", text)
    today = timezone.now().date()
    assert f"Monthly debt $600.00 — $610.00 ({today})" in text
    assert text.count("Differs from the claim.") == 1
    type(scored_application).objects.filter(pk=scored_application.pk).update(share=[])
    text = text_of(reviewers_client.get(page_of(scored_application)))
    assert "Monthly income $2,000.00 — —" in text


def test_reviewer_can_confirm_a_valid_figure_and_then_score_again_on_the_case_page(
    reviewers_client, scored_application
):
    for field in [{"figure": "/other"}, {"file_id": "x"}, {"value": "a lot"}]:
        fields = {"figure": "/monthly_debt_cents", "value": "1", "file_id": str(scored_application.file.pk), **field}
        assert submit_action(reviewers_client, scored_application, "confirm-figure", **fields).status_code == 200, field
        assert not Confirmation.objects.exists(), field
    fields = {"figure": "/monthly_debt_cents", "value": "1,234.50", "file_id": str(scored_application.file.pk)}
    assert "The figure is confirmed." in text_of(
        submit_action(reviewers_client, scored_application, "confirm-figure", **fields)
    )
    row = Confirmation.objects.get()
    assert (row.pointer, row.parsed_value, row.file) == ("/monthly_debt_cents", 123_450, scored_application.file)
    assert "The new score is" in text_of(submit_action(reviewers_client, scored_application, "score-again"))
    assert list(Score.objects.order_by("number").values_list("number", flat=True)) == [1, 2]


def test_lender_readers_can_view_but_not_change_figures_on_the_case_page_and_support_cannot_view_figures(
    supports_client, scored_application
):
    text = text_of(supports_client.get(page_of(scored_application)))
    assert "Sourced" not in text
    assert "2,300.00" not in text
    assert "Score again" not in text
    reader = UserFactory()
    provider = scored_application.version.model.provider
    ProviderMember.objects.create(provider=provider, user=reader, role=ProviderMember.READER)
    provider.owner.groups.add(Group.objects.get(name="Lender"))
    text = text_of(console_client(reader).get(page_of(scored_application)))
    assert "$2,300.00" in text
    assert "Score again" not in text
    address = page_of(scored_application).replace("/change/", "/do/score-again/")
    assert console_client(reader).get(address).status_code == 403


def test_reviewer_can_request_a_credit_report_on_the_case_page(reviewers_client, scored_application):
    Application.objects.filter(pk=scored_application.pk).update(
        **sealed_values(scored_application, applicants=Applicants.of([PERSON]))
    )
    fields = {"kind": "credit", "purpose": "credit_transaction", "applicant": "1"}
    assert "Status of the report: received." in text_of(
        submit_action(reviewers_client, scored_application, "request-report", **fields)
    )
    assert Report.objects.get().requested_by.has_perm("credit.review_application")
    again = page_of(scored_application).replace("/change/", "/do/request-report/")
    assert "Current: Credit report about applicant 1" in text_of(reviewers_client.get(again))
    assert "so the platform reuses it." in text_of(
        submit_action(reviewers_client, scored_application, "request-report", **fields)
    )
    assert (
        submit_action(reviewers_client, scored_application, "request-report", **{**fields, "purpose": "x"}).status_code
        == 200
    )
    assert Report.objects.count() == 1


def reported(client, scored_application):
    """Request a credit report about the applicant at the back office, and start the review."""
    applicants = sealed_values(scored_application, applicants=Applicants.of([PERSON]))
    Application.objects.filter(pk=scored_application.pk).update(**applicants, status="under_review")
    submit_action(
        client, scored_application, "request-report", kind="credit", purpose="credit_transaction", applicant="1"
    )
    return Report.objects.get()


def decide(client, application, to, **fields):
    address = page_of(application).replace("/change/", f"/move/{to}/")
    page = client.get(address).content.decode()
    seen = re.search(r'name="seen" value="([^"]+)"', page)[1]
    return page, client.post(address, {"seen": seen, **fields}, follow=True)


def test_rejection_form_stores_which_reports_the_reviewer_selected(reviewers_client, scored_application, settings):
    settings.REVIEW_POLICY = "reviewed"
    report = reported(reviewers_client, scored_application)
    reasons = {"code_1": "inquiries_recent", "reason": "Too many inquiries."}
    _, refused = decide(reviewers_client, scored_application, "rejected", **reasons)
    assert "refers to a credit report" in text_of(refused)
    wrong = [str(scored_application.pk)]
    _, refused = decide(reviewers_client, scored_application, "rejected", **reasons, report_ids=wrong)
    assert "is not one of the available choices" in text_of(refused)
    page, _ = decide(reviewers_client, scored_application, "rejected", **reasons, report_ids=[str(report.pk)])
    assert f"Credit report about applicant 1, {report.as_of}" in page
    decision = scored_application.history.get(status="rejected").metadata
    assert (decision["report_ids"], decision["consumer_report"][0]["score"]) == ([str(report.pk)], 724)


def test_figure_confirmation_page_links_to_the_files_only_before_the_decision(reviewers_client, scored_application):
    page = reviewers_client.get(page_of(scored_application).replace("/change/", "/do/confirm-figure/")).content.decode()
    address = re.search(r'href="([^"]+)">Open payslip.pdf<', page)[1]
    assert b"".join(reviewers_client.get(address)).startswith(b"%PDF")
    type(scored_application).objects.filter(pk=scored_application.pk).update(status="rejected")
    address = page_of(scored_application).replace("/change/", "/do/score-again/")
    assert "Facts can be added only after submission" in messages_of(reviewers_client.get(address))
