"""Test the notice deadlines in the console, and the notice page with its source data."""

from datetime import UTC, datetime, timedelta
from itertools import product

import pytest
from django.urls import reverse

from credit.console.notices import days_left
from credit.models import Clock, ReviewRequest
from credit.notices import services
from tests.backoffice.conftest import backoffice_client, staff_of
from tests.backoffice.pages import messages_of, send_form, text_of
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


def test_notice_deadline_is_yellow_from_day_20_and_red_from_day_28():
    due_at = NOW + timedelta(days=30)
    for day, tone in [(0, "fine"), (19, "fine"), (20, "late"), (27, "late"), (28, "over"), (31, "over")]:
        assert f"clock-{tone}" in days_left(due_at, now=NOW + timedelta(days=day)), (day, tone)


def test_notice_queue_card_and_notice_list_show_the_same_title_and_count(world, reviewers):
    shown = text_of(reviewers.get("/admin/"))
    assert "1 Deadlines for notices The first deadline is in 8 days." in shown
    listed = page(reviewers, "clock_changelist", query="?state=running&duty=notice")
    assert "<h1>Deadlines for notices</h1>" in listed
    assert "clock-late" in listed
    assert "the delivery of the notice (adverse action)" in listed
    Clock.start(world.application, Clock.REVIEW, now=world.at(6))
    [card] = [card for card in reviewers.get("/admin/").context["cards"] if card.queue.name == "notices"]
    assert card.count == len(reviewers.get(card.address).context["cl"].result_list) == 1


@pytest.mark.parametrize(
    ("days", "note", "is_urgent"),
    [
        (30, "The first deadline is in 8 days.", False),
        (23, "The first deadline is in 1 day.", True),
        (20, "The first deadline passed 1 day ago.", True),
    ],
)
def test_notice_queue_is_urgent_in_the_last_two_days(world, reviewers, days, note, is_urgent):
    Clock.stop(world.pk, Clock.TOLD, now=world.at(1))
    Clock.start(world.application, Clock.APPLICATION, now=world.start, days=days)
    [card] = [card for card in reviewers.get("/admin/").context["cards"] if card.queue.name == "notices"]
    assert (card.note, card.is_urgent) == (note, is_urgent)


def test_notice_deadline_pages_show_words_instead_of_codes(world, reviewers):
    reasons = (Clock.TOLD, Clock.TOLD_WHAT_IS_MISSING, Clock.TAKEN_UP, Clock.NOT_COMPLETED)
    pages = []
    for kind, why in product(Clock.KINDS, reasons):
        Clock.stop(world.pk, why, now=world.at(20))
        clock = Clock.start(world.application, kind, now=world.at(5))
        Clock.stop(world.pk, why, now=world.at(20), kinds=Clock.KINDS)
        pages.append(page(reviewers, "clock_change", clock.pk))
    for shown in (*pages, page(reviewers, "clock_changelist")):
        assert [code for code in (*Clock.KINDS, *reasons) if f">{code}<" in shown] == []
        assert "clock of" not in shown


def test_notice_pages_show_words_instead_of_codes(world, reviewers):
    shown = page(reviewers, "notice_changelist", query="?kind__exact=adverse_action")
    assert "<strong>adverse action</strong>" in shown
    assert ">adverse_action<" not in shown
    shown = page(reviewers, "notice_change", world.notice.pk)
    assert "we decided that we cannot grant the credit that you applied for" in shown
    assert "Rosa Quillfeather" in shown
    assert "income_insufficient" not in shown
    assert "Income insufficient" in shown
    assert "<th>Application ID</th>" in shown
    assert world.notice.status == "ready"


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
    assert "The delivery is recorded." in messages_of(send_form(reviewers, button, **fields))
    assert (world.notice.status, world.notice.deliveries.get().evidence) == ("delivered", {"reference": "RR 123"})
    assert "RR 123" in page(reviewers, "notice_change", world.notice.pk)
    assert not world.application.clocks.filter(stopped_at=None).exists()


def test_unissued_notice_shows_the_missing_data_and_cannot_be_delivered(world, reviewers):
    world.reopen(7)
    world.reject(8)
    button = reverse("admin:credit_notice_do", args=[world.notice.pk, "deliver"])
    assert "The notice is not created yet." in messages_of(reviewers.get(button))
    world.offer.provider.address = ""
    world.offer.provider.save()
    world.issue(9)
    assert "the lender has no name or no address" in page(reviewers, "clock_changelist", query="?state=running")
    assert "the lender has no name or no address" in page(reviewers, "notice_change", world.notice.pk)
