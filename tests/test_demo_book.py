"""Test that the demo's ninety days of business have the intended size and are consistent."""

import json
from collections import Counter
from datetime import timedelta
from io import StringIO

import pytest
from django.contrib.auth import get_user_model
from django.core.cache import cache
from django.core.management import call_command
from django.db.models import F, OuterRef, Subquery
from django.utils import timezone

from config.backoffice.queues import states_of
from config.ops import demo_ids
from credit.anchoring.services import bundle_of
from credit.anchoring.verify_decision import FAIL, OK, verify
from credit.console.charts import decisions_per_day
from credit.core.card import Card
from credit.core.machine import APPROVED, DECIDED, MACHINE, REJECTED
from credit.demo import book
from credit.models import (
    Acceptance,
    Application,
    ApplicationHistory,
    Clock,
    Counteroffer,
    DocumentFile,
    ModelVersion,
    Notice,
    Offer,
    Proposal,
    ReviewRequest,
    Score,
)
from payments.cards.models import STATUSES, Payment
from tests.api import ApiClient
from tests.test_demo import count_all
from tests.test_examples import lasting_demo

# The time between the last step of the demo and today. Applicants open notices within two days, so no work is left.
ROOM = timedelta(days=6)


@pytest.fixture(scope="module")
def demo(django_db_setup, django_db_blocker, tmp_path_factory):
    """Yield a new demo, which exists until the tests of this file end."""
    # Under four_eyes, most actions need a second person. Other tests seed the demo under the default policy.
    with lasting_demo(tmp_path_factory.mktemp("demo"), django_db_blocker, policy="four_eyes") as printed:
        yield printed


@pytest.fixture(autouse=True)
def _there(demo, db):
    """Every test uses the demo."""


def staff():
    return get_user_model().objects.get(username="admin")


def test_demo_data_has_the_documented_size():
    assert Application.objects.values("consumer").distinct().count() >= 30
    applications = Application.objects.filter(applicants__isnull=False, amount_cents__isnull=False)
    assert applications.count() >= 190
    assert Application.objects.count() >= 200
    first = Application.objects.earliest("created_at").created_at
    assert timedelta(days=85) < timezone.now() - first < timedelta(days=book.DAYS + 1)
    lenders = Counter(Application.objects.values_list("provider_id", flat=True))
    assert min(lenders[1001], lenders[demo_ids.OWN_PROVIDER]) >= 50
    card = ModelVersion.objects.get(model__name="Cedar everyday card").definition
    assert len(card["characteristics"]) == 8
    verified = Card.of({**card, "verified": True})  # A verified card reads no claims.
    sourced = {source.name for source in verified.inputs if source.facts}
    assert sum(each.input in sourced for each in verified.characteristics) >= 6
    read = [Counter(fact["source"] for fact in score.sources) for score in Score.objects.filter(number=2)]
    assert len(read) >= 3
    assert min(sources.total() - sources["applicant"] for sources in read) >= 6
    assert {file.content_type for file in DocumentFile.objects.all()} == {"application/pdf", "image/png"}


def test_demo_data_contains_every_outcome_of_an_application():
    assert set(Application.objects.values_list("status", flat=True)) == set(MACHINE.statuses)
    assert {*Counteroffer.objects.values_list("outcome", flat=True)} >= {"", "accepted", "declined", "expired"}
    assert {*Proposal.objects.values_list("outcome", flat=True)} == {"", "confirmed"}
    assert {*ReviewRequest.objects.values_list("outcome", flat=True)} >= {"", APPROVED}
    assert {*Payment.objects.values_list("status", flat=True)} == set(STATUSES)
    assert Acceptance.objects.count() >= 20
    decisions = ApplicationHistory.objects.filter(status__in=DECIDED)
    assert decisions.filter(principal__is_staff=True).count() >= 50
    decided = [row.application for row in decisions.filter(status=F("application__status"), principal__is_staff=True)]
    overridden = [item for item in decided if item.goes_against_score(item.status)]
    assert overridden
    assert all(item.status_reason for item in overridden)


def test_every_back_office_queue_of_the_demo_except_dead_letters_has_items():
    empty = {state.queue.name: state.count for state in states_of(staff()) if not state.count}
    assert empty == {"dead_letters": 0}


def test_demo_chart_shows_enough_applications_on_every_weekday_and_no_weekend_decisions():
    cache.clear()  # The database may contain decisions of another test.
    assert sum(sum(series.values) for series in decisions_per_day(None)["legend"]) >= 20
    decided = ApplicationHistory.objects.filter(application__pk__gte=demo_ids.booked(1), status__in=DECIDED)
    assert not decided.filter(changed_at__iso_week_day__gte=6).exists()
    for days in range(7):
        assert len(list(book.openings(timezone.now() - timedelta(days=days)))) >= 190, days


def test_demo_application_histories_match_the_applications():
    last = ApplicationHistory.objects.filter(application=OuterRef("pk")).order_by("-position")
    moved = Application.objects.filter(moves__gt=0).annotate(
        said=Subquery(last.values("status")[:1]), position=Subquery(last.values("position")[:1])
    )
    assert moved.exclude(status=F("said")).count() == moved.exclude(moves=F("position")).count() == 0
    for application in moved.prefetch_related("history"):
        rows = list(application.history.all())
        times = [application.created_at, *(row.changed_at for row in rows)]
        assert times == sorted(times), application.pk
        assert times[-1] <= timezone.now()
        assert all(row.status in MACHINE.transitions[row.previous_status] for row in rows), application.pk


def test_demo_decisions_have_reasons_and_reviewers_with_permission_within_limits():
    approved = Application.objects.filter(status=APPROVED).select_related("loan_terms")
    assert approved.count() >= 50
    for application in approved:
        terms, offer = application.loan_terms, application.offer_snapshot
        assert offer["apr_min_percent"] <= float(terms.rate_percent) <= offer["apr_max_percent"], application.pk
        assert terms.term_months in (offer["term_options_months"] or [None])
        assert terms.amount_cents <= (offer["loan_amount_max_cents"] or terms.amount_cents)
    for proposal in Proposal.objects.filter(outcome=Proposal.CONFIRMED).select_related("application"):
        row = proposal.application.history.get(status=proposal.to, changed_at=proposal.closed_at)
        assert row.metadata["four_eyes"]["seen"] == proposal.seen
        assert row.principal_id == proposal.closed_by_id != proposal.proposed_by_id
    decisions = ApplicationHistory.objects.filter(status__in=DECIDED).select_related("principal", "application")
    for row in decisions:
        if "counteroffer" not in (row.metadata or {}):  # Otherwise, the author of the counteroffer decided.
            assert row.principal is not None, row
            assert row.application.is_reviewed_by(row.principal), row
    for application in Application.objects.filter(status=REJECTED):
        assert application.status_reason, application.pk
    open_ = Application.objects.filter(status=APPROVED, accepted_at=None)
    assert not open_.filter(updated_at__lt=timezone.now() - timedelta(days=33)).exists()


def test_demo_notice_clocks_and_notices_are_consistent():
    now = timezone.now()
    running = Clock.objects.filter(stopped_at=None, kind__in=Clock.TO_NOTIFY).select_related("application")
    late = [clock.application for clock in running if clock.due_at < now]
    assert [item.notes for item in late] == [book.FORGOTTEN]
    for clock in Clock.objects.exclude(stopped_at=None):
        assert clock.started_at <= clock.stopped_at <= clock.due_at, (clock.kind, clock.application_id)
    notices_due = Notice.objects.filter(application__pk__gte=demo_ids.booked(1)).prefetch_related("deliveries")
    assert notices_due.count() >= 150
    for notice in notices_due:
        times = [notice.created_at, notice.made_at, notice.delivered_at]
        known = [moment for moment in times if moment is not None]
        assert known == sorted(known)
        assert (notice.status == "delivered") == bool(notice.deliveries.all())
        assert notice.delivered_at is None or notice.delivered_at <= notice.due_at
        assert notice.status in {"delivered", "cancelled"} or now - notice.created_at < ROOM, notice.pk


def test_demo_decisions_can_be_verified_offline():
    keys = ApiClient().read("/.well-known/record-keys.json").content.decode()
    rows = ApplicationHistory.objects.filter(status__in=DECIDED)
    sample = rows.filter(application__status=F("status"), application__offer_snapshot__isnull=False)
    for row in sample.order_by("pk")[::9]:
        steps = {step.name: step for step in verify(json.dumps(bundle_of(row.application)).encode(), None, [keys])}
        assert [step for step in steps.values() if step.state == FAIL] == [], row.application_id
        assert {steps["record"].state, steps["platform"].state, steps["decision"].state} == {OK}


def test_second_run_of_seed_demo_creates_no_records(demo):
    before = count_all()
    call_command("seed_demo", stdout=StringIO())
    assert count_all() == before
    assert Offer.objects.count() == 7


def test_every_demo_applicant_has_a_unique_phone_number():
    owners = {}
    for application in Application.objects.filter(consumer__username__startswith="demo-"):
        for person in application.readable_applicants or ():
            owners.setdefault(person["phone"], set()).add(person["legal_name"])
    assert owners
    assert all(len(names) == 1 for names in owners.values()), owners
