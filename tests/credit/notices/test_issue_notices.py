"""Test created and waiting notices, overdue clocks, and concurrent runs of `issue_notices`."""

import json
from io import StringIO

import pytest
from django.core.management import call_command
from django.db import connection

from config.mail.models import OutgoingMail
from config.ops.readings import measures
from config.webhooks.models import Event
from credit.models import Clock, DecisionAnchor, Notice, NoticeHistory
from credit.notices import services
from identity.accounts.addresses import confirm
from tests.credit.notices.world import WHOLE, World
from tests.races import run_concurrently

pytestmark = pytest.mark.django_db


def test_issue_notices_command_is_idempotent_and_stores_no_plaintext_personal_data(world):
    world.reject(5)
    assert services.issue_due(now=world.at(6))["ready"] == 1
    first = world.notice
    assert set(services.issue_due(now=world.at(7)).values()) == {0}
    assert (world.notice.sha256, DecisionAnchor.objects.filter(notice=first).count()) == (first.sha256, 1)
    with connection.cursor() as cursor:
        cursor.execute("SELECT content, html FROM credit_notice")
        assert "Quillfeather" not in str(cursor.fetchall())


def test_issue_notices_command_with_the_json_option_prints_its_counts_as_json(world):
    world.reject(5)
    out = StringIO()
    Clock.objects.update(overdue_told_at=world.start)
    Notice.objects.update(look_at="2020-01-01T00:00:00Z")
    call_command("issue_notices", once=True, as_json=True, stdout=out)
    assert json.loads(out.getvalue().splitlines()[-1])["ready"] == 1


def test_notice_to_an_applicant_without_an_address_is_issued_as_soon_as_an_address_exists(db):
    world = World(person=None)
    world.submit(0)
    world.reject(5)
    assert world.issue(6)["ready"] == 0
    assert (world.notice.status, world.notice.waits_for) == ("due", "address")
    world.consumer.user.email = "rosa@example.test"
    world.consumer.user.save()
    world.issue(7)
    assert (world.notice.status, world.notice.waits_for) == ("ready", "")


def test_notice_remains_due_with_a_reason_if_the_creditor_or_its_address_is_missing(world):
    world.reject(5)
    world.offer.provider.address = ""
    world.offer.provider.save()
    world.issue(6)
    assert "an owner of the lender can enter" in world.notice.waiting_reason
    other = World(world.offer)
    other.submit(0)
    world.offer.provider.created_at = world.at(1)  # A lender created after the submission is not the creditor.
    world.offer.provider.save()
    other.move(5, "rejected", metadata={"reasons": ["no_credit_file"]}, by=other.other)
    other.issue(6)
    assert (other.notice.status, other.notice.waits_for) == ("due", "creditor")


def test_failed_notice_does_not_stop_other_notices(world, monkeypatch):
    broken = World(world.offer, person={**WHOLE, "address": {}})
    broken.submit(0)
    for item in (broken, world):
        item.reject(5)
    world.issue(6)
    assert (broken.notice.waits_for, world.notice.status) == ("fault", "ready")


def test_decision_after_a_reopening_cancels_the_undelivered_notice_of_the_earlier_decision(world):
    world.reject(5)
    world.issue(6)
    world.reopen(7)
    world.approve(8)
    world.open_notice(9)
    assert list(Notice.objects.order_by("id").values_list("kind", "status")) == [
        ("adverse_action", "cancelled"), ("approval", "delivered"),
    ]  # fmt: skip
    moves = NoticeHistory.objects.filter(notice__kind="adverse_action").order_by("position")
    assert [row.status for row in moves] == ["ready", "cancelled"]


def test_lender_gets_one_event_for_each_overdue_notice_clock(world):
    world.reject(29)
    for day in (30.5, 31, 40):
        services.issue_due(now=world.at(day))
    [event] = Event.objects.filter(type="notice.overdue")
    assert (event.account_id, event.object["clock"]) == (world.lender.user.pk, "application")
    assert event.object["notice_id"] == str(world.notice.pk)
    undecided = World(world.offer)
    undecided.submit(0)
    services.issue_due(now=world.at(41))
    event = Event.objects.filter(type="notice.overdue").latest("sequence", "created_at")
    assert (event.object["status"], "notice_id" in event.object) == ("none", False)


def test_metrics_include_the_age_of_the_oldest_due_notice(world):
    world.reject(5)
    readings = [item for using, measure in measures() for item in measure(using=using, now=world.at(6))]
    values_by_name = {reading.name: reading.value for reading in readings}
    assert values_by_name["platform_notices_due_oldest_seconds"] == 86_400
    assert (values_by_name["platform_notices_due"], values_by_name["platform_clocks_overdue"]) == (1, 0)


def test_concurrent_workers_create_each_notice_only_once(committed, needs_postgresql, settings):
    settings.REVIEW_POLICY = "reviewed"
    first = World()
    worlds = [first, *(World(first.offer) for _ in range(9))]
    for world in worlds:
        world.submit(0)
        world.reject(5)
    counts = run_concurrently(*[lambda: services.issue_due(now=first.at(6))] * 4)
    assert sum(count["ready"] for count in counts) == 10
    assert DecisionAnchor.objects.filter(notice__isnull=False).count() == 10
    assert NoticeHistory.objects.count() == 10


class TestMailsAboutADecision:
    """An applicant who consented to notices by mail gets a single mail about a decision."""

    @staticmethod
    def mailed():
        return list(OutgoingMail.objects.order_by("id").values_list("template", flat=True))

    @pytest.fixture
    def agreed(self, world):
        confirm(world.consumer.user, "rosa@example.org")
        world.consent(1)
        return world

    def test_notice_mail_replaces_the_decision_mail(self, agreed):
        agreed.reject(5)
        assert self.mailed() == []
        agreed.issue(6)
        assert self.mailed() == ["notice"]

    def test_status_change_that_creates_no_notice_sends_a_mail(self, agreed):
        agreed.counter(5, until=10, with_denial=True)
        agreed.issue(6)
        agreed.mails()
        agreed.issue(7)
        # The counteroffer's notice contained the rejection, so its expiry creates no notice.
        agreed.silence(11)
        assert agreed.application.status == "rejected"
        assert self.mailed() == ["notice", "application"]

    def test_notice_mail_replaces_the_mail_about_an_expired_application(self, agreed):
        agreed.request_documents(5, "Payslip")
        agreed.issue(6)
        agreed.mails()
        agreed.issue(7)
        agreed.supply(8)
        agreed.request_documents(9, "Bill")
        agreed.expire(60)
        agreed.issue(61)
        assert self.mailed() == ["notice", "application", "notice"]

    def test_decision_mail_is_sent_once_while_the_notice_cannot_be_issued(self, agreed):
        agreed.reject(5)
        agreed.offer.provider.address = ""
        agreed.offer.provider.save()
        for day in (6, 7, 8):
            agreed.issue(day)
        assert self.mailed() == ["application"]

    @pytest.mark.parametrize("channels", [["portal"], ["portal", "email"]])
    def test_decision_mail_is_sent_if_the_notice_cannot_be_mailed(self, world, settings, channels):
        settings.NOTICE_CHANNELS = channels
        confirm(world.consumer.user, "rosa@example.org")
        if "email" not in channels:
            world.consent(1)
        world.reject(5)
        world.issue(6)
        assert self.mailed() == ["application"]
