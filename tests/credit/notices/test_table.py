"""Test the required notices and their deadlines in forty cases of 12 CFR 1002.9 (Regulation B) and EU law.

Each row contains the section of the law and the events by day since the submission (day 0). The last value is the
newest required notice with its kind, last day, and blocks. The value is None if no notice is required.
"""

import pytest
from django.db import transaction

from credit.documents.requests import request_documents
from credit.models import Clock
from credit.notices.content import gather
from tests.credit.notices.world import World, offer_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("reviewed")]

DENIED = "action reasons ecoa creditor review"
REPORTED = "action reasons report ecoa creditor review"
SCORED = "action reasons report score ecoa creditor review"
APPROVED = "action terms creditor review"  # The approval is for less than the requested amount.
NOT_COMPLETED = "action reasons ecoa creditor"
OTHER_TERMS = "action terms until creditor review"
COMBINED = "action terms until reasons ecoa creditor review"
INCOMPLETE = "action missing period creditor"
EU_DENIED = "action reasons debt_advice creditor review"

REPORT = {"agency": "Example Bureau", "address": "1 File Street, Chester, PA 19016", "phone": "800-555-0100"}
FOUND = {"result": "Two arrears", "categories": ["Payment history", "Debts"], "supplier": "Example Data"}
SCORE = {"score": 590, "range": [300, 850], "date": "2028-01-30", "factors": ["Length of time accounts are open"]}
FIVE = [*(f"Factor {number}" for number in range(4)), "Number of inquiries"]

# Each row has a name, a section, a profile, steps (day, event, arguments), and the required notice.
TABLE = [
    ("denied", "1002.9(a)(1)(i)", "us", [(5, "reject")], ("adverse_action", 30, DENIED)),
    ("approved", "1002.9(a)(1)(i)", "us", [(5, "approve")], ("approval", 30, APPROVED)),
    ("counteroffer", "1002.9(a)(1)(i)", "us", [(5, "counter")], ("counteroffer", 30, OTHER_TERMS)),
    ("not decided", "1002.9(a)(1)(i)", "us", [], None),
    ("denied on the last day", "1002.9(a)(1)(i)", "us", [(30, "reject")], ("adverse_action", 30, DENIED)),
    ("denied too late", "1002.9(a)(1)(i)", "us", [(40, "reject")], ("adverse_action", 30, DENIED)),
    ("withdrawn", "comment 9-3", "us", [(3, "withdraw")], None),
    ("documents requested", "1002.9(c)(1)(ii), (c)(2)", "us",
     [(3, "request_documents")], ("incomplete", 30, INCOMPLETE)),
    ("requested, notified, completed, denied", "1002.9(c)(2), (a)(1)(i)", "us",
     [(3, "request_documents"), (4, "open_notice"), (20, "supply"), (25, "reject")], ("adverse_action", 50, DENIED)),
    ("requested, not notified, completed, denied", "1002.9(a)(1)(i)", "us",
     [(3, "request_documents"), (20, "supply"), (25, "reject")], ("adverse_action", 30, DENIED)),
    ("requested, notified, never completed", "1002.9(c)(2)", "us",
     [(3, "request_documents"), (4, "open_notice"), (34, "expire")], ("incomplete", 30, INCOMPLETE)),
    ("requested, never notified, never completed", "1002.9(c)(1)(i)", "us",
     [(3, "request_documents"), (34, "expire")], ("adverse_action", 30, NOT_COMPLETED)),
    ("requested, notified, denied", "1002.9(a)(1)(ii)", "us",
     [(3, "request_documents"), (4, "open_notice"), (20, "reject")], ("adverse_action", 50, DENIED)),
    ("requested, not notified, denied", "1002.9(c)(1)(i)", "us",
     [(3, "request_documents"), (20, "reject")], ("adverse_action", 30, DENIED)),
    ("counteroffer, notified, silence", "1002.9(a)(1)(iv)", "us",
     [(5, "counter"), (6, "open_notice"), (40, "silence")], ("adverse_action", 96, DENIED)),
    ("counteroffer, notified, denied", "1002.9(a)(1)(iv)", "us",
     [(5, "counter"), (6, "open_notice"), (20, "reject")], ("adverse_action", 96, DENIED)),
    ("counteroffer, not notified, silence", "1002.9(a)(1)(i)", "us",
     [(5, "counter"), (40, "silence")], ("adverse_action", 30, DENIED)),
    ("counteroffer with the denial", "comment 9(a)(1)-6", "us",
     [(5, "counter", {"with_denial": True})], ("counteroffer", 30, COMBINED)),
    ("counteroffer with the denial, notified, silence", "comment 9(a)(1)-6", "us",
     [(5, "counter", {"with_denial": True}), (6, "open_notice"), (40, "silence")], ("counteroffer", 30, COMBINED)),
    ("counteroffer with the denial, not notified, silence", "1002.9(a)(1)(i)", "us",
     [(5, "counter", {"with_denial": True}), (40, "silence")], ("adverse_action", 30, DENIED)),
    ("counteroffer, notified, taken up", "1002.9(a)(1)(iv)", "us",
     [(5, "counter"), (6, "open_notice"), (10, "take_up")], ("counteroffer", 30, OTHER_TERMS)),
    ("counteroffer, notified, declined, denied", "1002.9(a)(1)(iv)", "us",
     [(5, "counter"), (6, "open_notice"), (10, "decline"), (30, "reject")], ("adverse_action", 96, DENIED)),
    ("counteroffer, taken back, approved", "1002.9(a)(1)(i)", "us",
     [(5, "counter"), (6, "take_back"), (12, "approve")], ("approval", 30, APPROVED)),
    ("counteroffer, notified, approved", "1002.9(a)(1)(iv)", "us",
     [(5, "counter"), (6, "open_notice"), (12, "approve")], ("approval", 96, APPROVED)),
    ("denied, reopened before it was notified", "1002.9(a)(1)(i)", "us", [(5, "reject"), (8, "reopen")], None),
    ("denied, reopened, approved", "1002.9(a)(1)(i)", "us",
     [(5, "reject"), (8, "reopen"), (12, "approve")], ("approval", 30, APPROVED)),
    ("denied, notified, reopened, denied", "1002.9(a)(1)(ii)", "us",
     [(5, "reject"), (6, "open_notice"), (40, "reopen"), (45, "reject")], ("adverse_action", 75, DENIED)),
    ("approved, never taken up", "1002.9(a)(1)(i)", "us",
     [(5, "approve"), (6, "open_notice"), (40, "expire")], ("approval", 30, APPROVED)),
    ("denied on a report", "15 USC 1681m(a)(3), (4)", "us",
     [(5, "reject", {"consumer_report": REPORT})], ("adverse_action", 30, REPORTED)),
    ("denied on a report with a score", "15 USC 1681m(a)(2)", "us",
     [(5, "reject", {"consumer_report": REPORT | SCORE})], ("adverse_action", 30, SCORED)),
    ("five factors, one of them inquiries", "15 USC 1681g(f)(9)", "us",
     [(5, "reject", {"consumer_report": REPORT | SCORE | {"factors": FIVE}})], ("adverse_action", 30, SCORED)),
    ("approved on a report", "15 USC 1681m(a)", "us",
     [(5, "approve", {"consumer_report": REPORT})], ("approval", 30, APPROVED)),
    ("counteroffer on a report, notified, silence", "15 USC 1681m(a)", "us",
     [(5, "counter", {"consumer_report": REPORT}), (6, "open_notice"), (40, "silence")],
     ("adverse_action", 96, REPORTED)),
    ("counteroffer with the denial, on a report", "15 USC 1681m(a)", "us",
     [(5, "counter", {"with_denial": True, "consumer_report": REPORT})],
     ("counteroffer", 30, "action terms until reasons report ecoa creditor review")),
    ("four reasons", "comment 9(b)(2)-1", "us",
     [(5, "reject", {"reasons": ["bankruptcy", "no_credit_file", "residence_short", "inquiries_stated"]})],
     ("adverse_action", 30, DENIED)),
    ("denied", "2023/2225 Art. 18(9)", "eu", [(5, "reject")], ("adverse_action", 8, EU_DENIED)),
    ("denied on a database", "2023/2225 Art. 19(6)", "eu",
     [(5, "reject", {"consumer_report": REPORT | FOUND})],
     ("adverse_action", 8, "action reasons database debt_advice creditor review")),
    ("approved", "2023/2225 Art. 18", "eu", [(5, "approve")], ("approval", 8, APPROVED)),
    ("counteroffer with the denial", "2023/2225 Art. 18(9)", "eu",
     [(5, "counter", {"with_denial": True})], ("counteroffer", 8, "action terms until reasons creditor review")),
    ("documents requested", "2023/2225 Art. 18", "eu", [(3, "request_documents")], ("incomplete", 30, INCOMPLETE)),
]  # fmt: skip


def test_notice_case_table_has_40_cases():
    assert len(TABLE) == 40


@pytest.mark.parametrize("law", ["us", "eu"])
def test_each_case_of_the_notice_table_creates_the_required_notice_and_deadline(law):
    offer, wrong = offer_of(law), []
    for name, section, profile, steps, required in TABLE:
        if profile == law:
            with transaction.atomic():
                notice = notice_after(offer, steps)
                wrong += [(name, section, notice)] if notice != required else []
                transaction.set_rollback(True)
    assert wrong == []


def notice_after(offer, steps):
    """Return the kind, the last day, and the blocks of the required notice after these steps."""
    world = World(offer)
    world.submit(0)
    for day, name, *options in steps:
        getattr(world, name)(day, **(options[0] if options else {}))
    notice = world.notice
    if notice is None:
        return None
    content = notice.made_from or gather(notice)
    return notice.kind, world.day_of(notice.due_at), " ".join(content["blocks"])


def test_notice_clock_is_not_paused_or_restarted(world):
    world.request_documents(2)
    world.supply(9)
    world.reject(10)
    world.reopen(11)
    clock = Clock.objects.get()
    assert (world.day_of(clock.started_at), world.day_of(clock.due_at), clock.stopped_at) == (0, 30, None)


def test_delivered_notice_acceptance_or_withdrawal_stops_the_notice_clock():
    offer = offer_of("us")
    for steps, why in (
        ([(5, "reject"), (6, "open_notice")], "told"),
        ([(5, "request_documents"), (6, "open_notice")], "told_what_is_missing"),
        ([(5, "approve"), (6, "take_up")], "taken_up"), ([(6, "withdraw")], "withdrawn"),
    ):  # fmt: skip
        world = World(offer)
        world.submit(0)
        for day, name in steps:
            getattr(world, name)(day)
        clock = Clock.objects.get(application=world.pk)
        assert (world.day_of(clock.stopped_at), clock.why) == (pytest.approx(6), why)


@pytest.mark.parametrize(("profile", "last_day"), [("us", 41), ("eu", 24)])
def test_notice_deadline_of_a_decision_after_a_document_request_depends_on_the_jurisdiction(profile, last_day):
    """The request for documents starts a clock of 30 days. A decision in the EU is due within 3 days."""
    world = World(offer_of(profile))
    world.submit(0)
    world.approve(5)
    world.open_notice(6)
    world.reopen(10)
    world.request_documents(11)
    world.supply(20)
    world.reject(21)
    clock = Clock.objects.get(stopped_at=None)
    assert (clock.kind, world.day_of(clock.due_at), world.day_of(world.notice.due_at)) == ("action", last_day, last_day)


def test_notice_of_incompleteness_lists_only_the_missing_documents(world):
    """12 CFR 1002.9(c)(2): a delivered notice fulfills the requirement only for the documents that it lists."""
    world.request_documents(1, "Payslip", "Lease")
    documents = world.application.requested_documents
    documents.filter(name="Lease").update(status="received")
    assert gather(world.notice)["missing"] == ["Payslip"]
    world.open_notice(2)
    documents.update(status="received")
    request_documents(world.application, ["Deed"], by=world.lender.user, now=world.at(3))
    world.expire(32)
    assert (world.notice.kind, world.day_of(world.notice.due_at)) == ("adverse_action", pytest.approx(62))
    assert gather(world.notice)["missing"] == ["Deed"]
    complete = World(world.offer)
    complete.submit(0)
    complete.request_documents(1)
    complete.application.requested_documents.update(status="received")
    complete.expire(32)
    assert gather(complete.notice) == "missing"


def test_notice_without_reasons_remains_due_until_reasons_exist(world, settings):
    settings.REVIEW_POLICY = "open"
    world.move(3, "rejected")
    assert world.issue(4)["waiting"] == 1
    assert world.issue(4.01)["waiting"] == 0  # A waiting notice is checked once an hour.
    assert (world.notice.status, world.notice.waits_for) == ("due", "reasons")
