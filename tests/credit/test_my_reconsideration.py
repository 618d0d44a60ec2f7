"""Test the section that requests reconsideration: the last day, the time of the answer, and documents."""

import re
from datetime import timedelta

import pytest
from django.db import transaction
from django.utils import timezone

from credit.applications.services import expire_idle
from credit.core import deadlines
from credit.models import ReviewRequest
from tests.credit.notices.world import BECAUSE, TERMS, World
from tests.credit.test_my_language import german, spanish, speaking
from tests.credit.test_my_pages import page_of, press_button

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("reviewed")]
ANSWER = "A reviewer who had no part in the decision answers within 30 days after your request."


def rejected():
    world = World(start=timezone.now())
    world.submit(0)
    world.reject(0)
    return world


def zone_of(world):
    world.application.refresh_from_db()
    return deadlines.zone_of(world.application.applicants)


def test_rejection_page_shows_an_answer_time_and_no_deadline_for_a_reconsideration_request():
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


def test_reconsideration_of_a_counteroffer_can_be_requested_by_its_deadline():
    world = World(start=timezone.now())
    world.submit(0)
    world.counter(0)
    offered = world.application.counteroffers.get()
    page = page_of(world.application)
    assert f"Send the request by {deadlines.in_words(offered.expires_at, zone_of(world))}." in page
    assert ANSWER in page


def test_reconsideration_of_an_approval_on_worse_terms_can_be_requested_by_its_expiry():
    world = World(start=timezone.now())
    world.submit(0)
    world.approve(0, terms={"amount_cents": 500_000})
    application = world.application
    ends_at = application.updated_at + timedelta(days=30)
    page = page_of(application)
    assert f"Send the request by {deadlines.in_words(ends_at, zone_of(world))}." in page
    expire_idle(now=ends_at)
    assert "Send the request by" not in page_of(application)


def test_application_page_shows_reasons_and_result_of_an_answered_reconsideration(monkeypatch):
    world = rejected()
    press_button(world.application, "ask_again", statement="I have a raise.")
    world.reopen(1)
    assert "The answer appears on this page." in page_of(world.application)
    world.reject(2, ["obligations_excessive"], by=world.other)
    assert ReviewRequest.objects.get().answered_at == world.at(2)
    monkeypatch.setattr(timezone, "now", lambda: world.at(2))
    page = page_of(world.application)
    section = re.search('<section id="reconsideration">.*?</section>', page)[0]
    assert "You requested reconsideration on " in section
    assert "The reconsideration ended on " in section
    assert '<h3>Your reasons</h3> <p><bdi class="lines">I have a raise.</bdi></p>' in section
    assert "<strong>Declined</strong><br><bdi>Excessive obligations" in section
    assert "The answer appears on this page." not in page
    assert "<li>You requested reconsideration, " in page
    assert ANSWER in page
    assert "Resultado" in spanish(page_of(speaking(world.application)))
    press_button(world.application, "ask_again", statement="I paid the debt.")
    page = page_of(world.application)
    assert page.index("I paid the debt.") < page.index("I have a raise.")
    assert ANSWER not in page


def test_application_page_shows_a_counteroffer_as_the_result_of_a_reconsideration():
    world = World(start=timezone.now() - timedelta(days=10))
    world.submit(0)
    world.reject(0)
    press_button(world.application, "ask_again", statement="I have a raise.")
    ReviewRequest.objects.update(requested_at=world.at(1))
    world.reopen(2)
    with transaction.atomic():
        body = {"terms": TERMS, "reasons": BECAUSE, "expires_at": world.at(40).isoformat()}
        world.move(3, "counteroffer", metadata=body, by=world.other)
    assert "<strong>The lender offers other terms</strong>" in page_of(world.application)


def test_page_of_a_requested_reconsideration_shows_the_answer_deadline():
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
