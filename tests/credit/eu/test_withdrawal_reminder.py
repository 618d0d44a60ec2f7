"""Test the reminder of the right of withdrawal, due 1 to 7 days after the conclusion (Art. 10(1))."""

from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from credit.core.applicants import Applicants
from credit.models import Application, Clock, Notice
from credit.models.notices import WITHDRAWAL_REMINDER
from credit.notices.clocks import create_reminders
from credit.notices.services import record_opening
from credit.terms.withdrawals import declare
from tests.credit.eu.test_contract_withdrawal import OTHER, PERSON
from tests.credit.notices.test_pages import read
from tests.credit.notices.world import WHOLE, World, offer_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("reviewed")]


def accepted(*persons, start=None, offer=None):
    """Return a world with an agreement whose information was provided late, so that reminders are required."""
    world = World(offer or offer_of("eu"), person={**WHOLE, "language": "en"}, start=start or timezone.now())
    if persons:
        application = world.application
        application.applicants = Applicants.of([{**WHOLE, **person} for person in persons])
        application.save()
    world.submit(0)
    world.approve(0.1)
    world.issue(0.2)
    moment = world.at(0.5)
    Application.objects.filter(pk=world.pk).update(accepted_at=moment, told_of_right_at=moment, complete_since=moment)
    create_reminders(world.application, now=moment)
    return world


def reminders_of(world):
    return list(Notice.objects.filter(application=world.pk, kind=WITHDRAWAL_REMINDER).order_by("id"))


def test_withdrawal_reminder_is_issued_after_1_day_and_due_after_7_days():
    world = accepted()
    (reminder,) = reminders_of(world)
    assert (world.day_of(reminder.look_at), world.day_of(reminder.due_at)) == (1.5, 7.5)
    world.issue(1.4)
    assert reminders_of(world)[0].status == "due"
    world.issue(1.6)
    (reminder,) = reminders_of(world)
    assert (reminder.status, reminder.made_from["blocks"]) == ("ready", ["withdrawal", "creditor"])
    text, _language = read(reminder.html)
    for words in ("Your right of withdrawal", "without giving a reason until the end of", "The interest is 1.23"):
        assert words in text
    uninformed = accepted(offer=world.offer)
    Application.objects.filter(pk=uninformed.pk).update(told_of_right_at=None)
    uninformed.issue(1.6)
    text, _language = read(reminders_of(uninformed)[0].html)
    assert "The period has no end yet." in text
    assert "until the end of" not in text


def test_delivered_withdrawal_reminder_does_not_stop_the_notice_clock():
    world = accepted()
    assert Clock.running(world.pk).exists()  # The approval was not delivered.
    world.consent(1)
    world.issue(2)
    (reminder,) = reminders_of(world)
    record_opening(reminder, actor=world.consumer, now=world.at(3))
    assert reminders_of(world)[0].status == "delivered"
    assert Clock.running(world.pk).exists()


def test_withdrawal_of_the_agreement_cancels_the_withdrawal_reminder_of_each_borrower():
    world = accepted(PERSON, OTHER, start=timezone.now() - timedelta(days=1))
    assert [reminder.applicant for reminder in reminders_of(world)] == [None, 2]
    declare(str(world.pk), actor=world.consumer, now=timezone.now())
    assert [reminder.status for reminder in reminders_of(world)] == ["cancelled"] * 2


def test_withdrawal_reminder_states_the_agreement_date_in_the_borrowers_time_zone():
    """The period of 14 days starts on 2 December: it is 23:30 UTC on 1 December, so 2 December in Berlin."""
    world = accepted(PERSON, start=datetime(2026, 12, 1, 11, 30, tzinfo=UTC))
    world.issue(1.6)
    text, _language = read(reminders_of(world)[0].html)
    assert "You concluded the credit agreement on December 2, 2026, 12:30 a.m. CET." in text
    assert "until the end of December 16, 2026" in text
    assert "submitted on December 1, 2026" in text


def test_notice_states_the_decision_date_in_the_applicants_time_zone():
    """The decision is at 03:00 UTC, which is the previous day in Oregon."""
    world = World(start=datetime(2028, 1, 31, 20, tzinfo=UTC))
    world.submit(0)
    world.reject(7 / 24)
    world.issue(1)
    text, _language = read(world.notice.html)
    assert "On January 31, 2028 we decided that we cannot grant the credit" in text
