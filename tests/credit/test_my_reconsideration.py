"""Test the section that requests reconsideration: the last day, the time of the answer, and documents."""

from datetime import timedelta

import pytest
from django.utils import timezone

from credit.applications.services import expire_idle
from credit.core import deadlines
from credit.models import ReviewRequest
from tests.credit.notices.world import World
from tests.credit.test_my_language import german, spanish, speaking
from tests.credit.test_my_pages import page_of, press_button

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("reviewed")]
ANSWER = "A reviewer who had no part in the decision answers within 30 days after it."


def rejected():
    world = World(start=timezone.now())
    world.submit(0)
    world.reject(0)
    return world


def zone_of(world):
    world.application.refresh_from_db()
    return deadlines.zone_of(world.application.applicants)


def test_rejection_has_no_last_day_for_reconsideration_and_a_time_for_the_answer():
    world = rejected()
    expire_idle(now=timezone.now() + timedelta(days=4_000))
    page = page_of(world.application)
    assert "The request has no deadline." in page
    assert ANSWER in page
    assert "You can&#x27;t attach files here." in page or "You can't attach files here." in page
    assert '<a href="#lender">Your lender</a>' in page
    assert '<section id="lender">' in page
    assert "La petición no tiene plazo." in spanish(page_of(speaking(world.application)))
    assert "Die Anfrage hat keine Frist." in german(page_of(speaking(world.application, "de")))


def test_counteroffer_can_be_reconsidered_by_its_deadline():
    world = World(start=timezone.now())
    world.submit(0)
    world.counter(0)
    offered = world.application.counteroffers.get()
    page = page_of(world.application)
    assert f"Send the request by {deadlines.in_words(offered.expires_at, zone_of(world))}." in page
    assert ANSWER in page


def test_approval_on_worse_terms_can_be_reconsidered_by_its_expiry():
    world = World(start=timezone.now())
    world.submit(0)
    world.approve(0, terms={"amount_cents": 500_000})
    application = world.application
    ends_at = application.updated_at + timedelta(days=30)
    page = page_of(application)
    assert f"Send the request by {deadlines.in_words(ends_at, zone_of(world))}." in page
    expire_idle(now=ends_at)
    assert "Send the request by" not in page_of(application)


def test_requested_reconsideration_shows_the_day_of_the_answer():
    world = rejected()
    text = ("x" * 99 + "\n") * 39 + "x" * 100
    assert len(text) == 4_000
    page = press_button(world.application, "ask_again", statement=text.replace("\n", "\r\n"))
    assert "will reconsider it" in page
    assert ReviewRequest.objects.get().statement == text
    due = deadlines.in_words(ReviewRequest.objects.get().due_at, zone_of(world))
    assert f"A reviewer who had no part in the decision answers by {due}." in page
    assert "The answer appears on this page." in page
    assert "attach files" not in page
