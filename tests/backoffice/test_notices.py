"""Test the notice deadlines in the console, and the notice page with its source data."""

from datetime import UTC, datetime, timedelta

import pytest
from django.urls import reverse

from credit.console.notices import days_left
from credit.models import ReviewRequest
from credit.notices import services
from tests.backoffice.conftest import backoffice_client, staff_of
from tests.backoffice.pages import confirm, send_form, text_of
from tests.credit.notices.world import World

pytestmark = pytest.mark.django_db
NOW = datetime(2028, 3, 1, tzinfo=UTC)


@pytest.fixture
def world(settings):
    settings.REVIEW_POLICY = "reviewed"
    created = World(start=datetime.now(UTC) - timedelta(days=21))
    created.offer.provider.created_at = created.start - timedelta(days=1)
    created.offer.provider.save()
    created.submit(0)
    created.reject(5)
    created.issue(6)
    return created


@pytest.fixture
def reviewers(db):
    return backoffice_client(staff_of("Reviewer"))


def page(client, name, *arguments, query=""):
    answer = client.get(reverse(f"admin:credit_{name}", args=arguments) + query)
    assert answer.status_code == 200
    return answer.content.decode()


@pytest.mark.parametrize(
    ("day", "tone"), [(0, "fine"), (19, "fine"), (20, "late"), (27, "late"), (28, "over"), (31, "over")]
)
def test_notice_deadline_is_yellow_from_day_20_and_red_from_day_28(day, tone):
    due_at = NOW + timedelta(days=30)
    assert f"clock-{tone}" in days_left(due_at, now=NOW + timedelta(days=day))


def test_notice_queue_lists_running_clocks(world, reviewers):
    shown = page(reviewers, "clock_changelist", query="?state=running")
    assert "clock-late" in shown
    assert "adverse action: ready" in shown
    assert "Applicants to notify" in reviewers.get("/admin/").content.decode()


def test_notice_page_shows_the_notice_next_to_its_source_data(world, reviewers):
    shown = page(reviewers, "notice_change", world.notice.pk)
    assert "we decided that we cannot grant the credit that you applied for" in shown
    assert "Rosa Quillfeather" in shown
    assert "income_insufficient" not in shown
    assert "Income insufficient" in shown
    assert "<th>Application ID</th>" in shown
    assert world.notice.status == "ready"


def test_due_notice_page_shows_the_missing_data(world, reviewers):
    world.reopen(7)
    world.reject(8)
    world.offer.provider.address = ""
    world.offer.provider.save()
    world.issue(9)
    assert "the lender has no name or no address" in page(reviewers, "clock_changelist", query="?state=running")
    assert "the lender has no name or no address" in page(reviewers, "notice_change", world.notice.pk)


def test_review_requests_have_a_separate_queue(world, reviewers):
    services.request_review(str(world.pk), statement="My rent was read wrong.", actor=world.consumer, now=world.at(7))
    review_request = ReviewRequest.objects.get()
    assert "left" in page(reviewers, "reviewrequest_changelist", query="?state=open")
    assert "My rent was read wrong." in page(reviewers, "reviewrequest_change", review_request.pk)
    support = backoffice_client(staff_of("Support"))
    assert "My rent was read wrong." not in page(support, "reviewrequest_change", review_request.pk)


def test_reviewer_can_record_a_notice_delivery_by_post(world, reviewers):
    button = reverse("admin:credit_notice_do", args=[world.notice.pk, "deliver"])
    sent = datetime.now(UTC) - timedelta(hours=1)
    fields = {"channel": "post", "at": f"{sent:%Y-%m-%d %H:%M:%S}", "reference": "RR 123"}
    assert backoffice_client(staff_of("Support")).get(button).status_code == 403
    for wrong in ({"channel": "email"}, {"at": "2020-01-01 10:00:00"}, {"reference": ""}):
        send_form(reviewers, button, **fields | wrong)
        assert world.notice.status == "ready"
    assert "The delivery is recorded." in text_of(confirm(reviewers, button, **fields))
    assert (world.notice.status, world.notice.deliveries.get().evidence) == ("delivered", {"reference": "RR 123"})
    assert "RR 123" in page(reviewers, "notice_change", world.notice.pk)
    assert not world.application.clocks.filter(stopped_at=None).exists()


def test_back_office_rejects_a_delivery_of_an_unissued_notice(world, reviewers):
    world.reopen(7)
    world.reject(8)
    button = reverse("admin:credit_notice_do", args=[world.notice.pk, "deliver"])
    assert "The notice is not created yet." in text_of(reviewers.get(button, follow=True))
