"""Test the section of notices on the page of an application, and the pages of notices that have no effect any more."""

import re
from datetime import timedelta

import pytest
from django.utils import timezone

from credit.notices import services
from identity.models import User
from tests.credit.notices.world import World
from tests.credit.test_my_pages import browser_of, page_of
from tests.factories import UserFactory

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("reviewed")]
ENDED, OFFER_ENDED = "This notice is no longer in effect.", "The offer in this notice has ended."


@pytest.fixture
def world():
    world = World(start=timezone.now() - timedelta(days=20))
    world.submit(0)
    return world


def notices_on(page):
    """Return (title, sentence about its end) of each notice in the section."""
    section = re.search(r"<h2>Notices</h2>(.*?)</section>", page)
    rows = re.findall(r"<li>(.*?)</li>", section[1]) if section else []
    return [
        (re.search(r">([^<]+?),? \w+ \d+, \d{4}</a>", row)[1], (re.search('"hint">([^<]+)<', row) or [""] * 2)[1])
        for row in rows
    ]


class TestNoticesAfterLaterSteps:
    def test_notice_of_missing_documents_remains_visible_after_the_documents_are_sent(self, world):
        world.request_documents(1)
        world.issue(2)
        assert notices_on(page_of(world.application)) == [("What is missing", "")]
        world.supply(3)
        assert notices_on(page_of(world.application)) == [("What is missing", ENDED)]

    def test_notice_and_terms_of_a_declined_counteroffer_remain_visible(self, world):
        world.counter(1)
        world.issue(2)
        assert notices_on(page_of(world.application)) == [("Counteroffer", "")]
        world.decline(3)
        page = page_of(world.application)
        assert notices_on(page) == [("Counteroffer", OFFER_ENDED)]
        assert "The lender offers other terms" in page
        assert '<bdi class="hint">$5,000.00 at 9.00% for 24 months' in page

    def test_notice_of_an_accepted_counteroffer_remains_in_effect(self, world):
        world.counter(1)
        world.issue(2)
        world.take_up(3)
        assert ("Counteroffer", "") in notices_on(page_of(world.application))

    def test_notice_and_terms_of_a_declined_approval_remain_visible(self, world):
        world.approve(1)
        world.issue(2)
        assert "These terms are no longer in effect." not in page_of(world.application)
        world.withdraw(3)
        page = page_of(world.application)
        assert notices_on(page) == [("Approval", ENDED)]
        assert "<h2>Approved terms</h2> <p><strong>$5,000.00 at 9.00% for 24 months</strong></p>" in page
        assert "These terms are no longer in effect." in page

    def test_notice_page_of_a_reopened_rejection_states_that_the_notice_is_no_longer_in_effect(self, world):
        world.reject(1)
        world.issue(2)
        notice = world.notice
        path = f"/my/applications/{world.pk}/notices/{notice.pk}"
        assert ENDED not in browser_of(world.application.consumer).get(path).content.decode()
        world.reopen(3)
        assert notices_on(page_of(world.application)) == [("Why it was declined", ENDED)]
        page = browser_of(world.application.consumer).get(path).content.decode()
        assert f"<strong>{ENDED}</strong>" in page
        assert notice.html.partition("<body>")[2] in page
        User.objects.filter(pk=world.application.consumer_id).update(language="es")
        page = browser_of(world.application.consumer).get(path).content.decode()
        assert "Este aviso ya no está en vigor." in page


class TestNoticePage:
    def test_notice_page_links_to_the_request_for_reconsideration_and_to_a_download_of_its_exact_text(self, world):
        world.reject(1)
        world.issue(2)
        browser, notice = browser_of(world.application.consumer), world.notice
        path = f"/my/applications/{world.pk}/notices/{notice.pk}"
        page = browser.get(path).content.decode()
        assert f'<a href="/my/applications/{world.pk}#request">Request reconsideration</a>' in page
        assert '<a href="/my">My applications</a>' in page
        assert "use your browser's print function" in page
        answer = browser.get(f"{path}?download")
        assert answer.content.decode() == notice.html
        assert answer.headers["Content-Disposition"].startswith('attachment; filename="adverse_action-A-')
        assert browser_of(UserFactory()).get(f"{path}?download").status_code == 404
        services.request_review(str(world.pk), statement="A raise.", actor=world.consumer, now=timezone.now())
        assert "#request" not in browser.get(path).content.decode()

    def test_notice_page_of_an_open_counteroffer_links_to_the_reasons(self, world):
        world.counter(1)
        world.issue(2)
        page = browser_of(world.application.consumer).get(f"/my/applications/{world.pk}/notices/{world.notice.pk}")
        assert f'<a href="/my/applications/{world.pk}#reasons">' in page.content.decode()
        assert '<h3 id="reasons">' in page_of(world.application)
        world.decline(3)
        page = browser_of(world.application.consumer).get(page.wsgi_request.path)
        assert "#reasons" not in page.content.decode()
