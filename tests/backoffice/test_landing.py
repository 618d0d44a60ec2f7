"""Test the queues, waiting times, and decisions on the landing page."""

from datetime import date, timedelta

import pytest
from django.core.cache import cache
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from claims.models import Claim
from config.backoffice import queues
from config.backoffice.html import day_in_words
from config.core.lifecycle import Actor
from credit.console.charts import Series, draw
from credit.core.figures import reference_of
from credit.models import Application, DecisionAnchor, Proposal
from identity.access import keys
from payments.cards.models import UNKNOWN, Payment
from tests.backoffice.conftest import staff_of
from tests.backoffice.pages import text_of
from tests.backoffice.test_applications import make
from tests.factories import ClaimFactory, UserFactory
from tests.processes import free_port


@pytest.fixture(autouse=True)
def _no_cache():
    cache.clear()


def test_landing_page_queue_cards_show_count_and_longest_wait(reviewers_client):
    now = timezone.now()
    make("submitted", submitted_at=now - timedelta(days=23, hours=2))
    make("under_review", submitted_at=now - timedelta(days=4))
    make("pending_documents")
    text = text_of(reviewers_client.get("/admin/"))
    assert "2 Applications to review The oldest has waited 23 days." in text
    assert "1 Waiting for documents" in text
    assert "card-urgent" in reviewers_client.get("/admin/").content.decode()


def test_landing_page_lists_all_empty_queues_in_one_line(reviewers_client):
    text = text_of(reviewers_client.get("/admin/"))
    assert "Nothing waits in: Assigned to you , Applications to review ," in text
    assert "No decisions in this period." in text


def test_landing_page_card_of_expiring_keys_shows_the_earliest_expiry(operations_client):
    now = timezone.now()
    for days in (5, 3):
        ends = now + timedelta(days=days, hours=1)
        keys.create_api_key(
            owner=UserFactory(), name="soon", scopes=None, now=now - timedelta(days=80), expires_at=ends
        )
    assert "The first deadline is in 3 days." in text_of(operations_client.get("/admin/"))


def test_payment_queue_shows_the_wait_since_the_creation_of_the_oldest_payment(superusers_client):
    now = timezone.now()
    Payment.objects.create(
        user=UserFactory(), amount_cents=1, fee_amount_cents=0, currency="USD", payment_method_id="pm",
        processor="sandbox", processor_key="1", method_token="t", status=UNKNOWN, due_at=now + timedelta(hours=1),
        created_at=now - timedelta(days=2, hours=1),
    )  # fmt: skip
    text = text_of(superusers_client.get("/admin/"))
    assert "1 Payments with an unknown outcome The oldest has waited 2 days." in text


def test_anchor_queue_shows_the_wait_since_the_oldest_decision(superusers_client, reviewer, settings):
    settings.ANCHOR_DECISIONS = True
    now = timezone.now()
    actor = Actor(user=reviewer, credential="admin")
    make(submitted_at=now - timedelta(days=5)).transition_to("approved", actor=actor, changed_by="rita", now=now)
    assert DecisionAnchor.objects.update(due_at=now - timedelta(days=5)) == 1
    assert ("1 Decisions waiting for the ledger The oldest has waited 0 min.") in text_of(
        superusers_client.get("/admin/")
    )


def test_landing_page_shows_only_the_queues_of_the_viewers_group(supports_client, operations_client):
    assert "Applications to review" not in text_of(supports_client.get("/admin/"))
    assert "Applications to review" not in text_of(operations_client.get("/admin/"))
    assert "Decisions waiting for the ledger" in text_of(operations_client.get("/admin/"))


def test_landing_page_executes_at_most_twelve_sql_statements(superusers_client, reviewers_client):
    for status in ("submitted", "under_review", "pending_documents"):
        make(status)
    for client in (superusers_client, reviewers_client):
        cache.clear()
        with CaptureQueriesContext(connection) as captured:
            assert client.get("/admin/").status_code == 200
        statements = [query["sql"] for query in captured if not query["sql"].startswith(("SAVEPOINT", "RELEASE"))]
        assert len(statements) <= 12, statements


def test_landing_page_queue_count_stops_at_the_maximum(reviewer, monkeypatch):
    monkeypatch.setattr(queues, "COUNT_MAX", 2)
    for _ in range(4):
        make("submitted")
    states = queues.states_of(reviewer)
    review = next(state for state in states if state.queue.name == "review")
    assert review.shown_count == "2+"


def test_landing_page_shows_decisions_per_day(reviewers_client, reviewer):
    for to in ("approved", "rejected", "approved"):
        make(submitted_at=timezone.now() - timedelta(days=2)).transition_to(
            to, actor=Actor(user=reviewer, credential="admin"), changed_by="rita", now=timezone.now()
        )
    body = reviewers_client.get("/admin/").content.decode()
    today = day_in_words(timezone.now().date())
    assert f"<title>{today}: 2 approved</title>" in body
    assert f"<title>{today}: 1 rejected</title>" in body
    assert f"<title>{today}: 2 days, on average</title>" in body
    assert "Mean time from submission to decision: <strong>2 days</strong>" in body


def test_review_queue_query_uses_the_review_index(db, needs_postgresql):
    rows = Application.objects.filter(status__in=("submitted", "under_review")).order_by("submitted_at")
    with connection.cursor() as cursor:
        # PostgreSQL would sort these few rows instead of reading the index in order.
        cursor.execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off; SET LOCAL enable_sort = off")
        statement, parameters = rows.values("submitted_at")[:1000].query.sql_with_params()
        cursor.execute(f"EXPLAIN {statement}", parameters)
        plan = "\n".join(row[0] for row in cursor.fetchall())
    assert "credit_app_review_queue" in plan
    assert "Sort" not in plan


@pytest.fixture
def work(superuser):
    """Create records in every queue, and similar records outside of the queues."""
    now = timezone.now()
    for status in ("draft", "submitted", "under_review", "pending_documents", "pending_documents", "approved"):
        make(status)
    for status in ("draft", "pending", "disputed", "disputed", "approved"):
        ClaimFactory(status=status)
        ClaimFactory(status=status, deleted_at=now)
    gone = UserFactory(is_active=False)
    for owner in (superuser, gone):
        keys.create_api_key(owner=owner, name="soon", scopes=None, now=now, expires_at=now + timedelta(days=3))
    colleague = staff_of("Reviewer")
    for proposer in (superuser, colleague, colleague):
        Proposal.objects.create(
            application=make("draft"), to="approved", seen="x", proposed_by=proposer, proposed_at=now,
        )  # fmt: skip


def test_every_queue_card_shows_the_number_of_rows_in_its_list(work, superuser, superusers_client):
    states = queues.states_of(superuser)
    counts = {}
    for state in states:
        listed = superusers_client.get(state.address).context["cl"].result_list
        counts[state.queue.name] = state.count
        assert len(listed) == state.count, state.queue.name
    expected = {"review": 2, "documents": 2, "claims": 3, "keys": 1, "four-eyes": 2}
    assert {name: counts[name] for name in expected} == expected


def test_disputed_publication_claims_have_a_separate_list(work, reviewers_client):
    for queue, statuses in (("review", {"pending", "disputed"}), ("disputes", {"disputed"})):
        rows = reviewers_client.get(f"/admin/claims/claim/?queue={queue}").context["cl"].result_list
        assert {row.status for row in rows} == statuses
        assert not any(row.deleted_at for row in rows)
    assert len(reviewers_client.get("/admin/claims/claim/?queue=x").context["cl"].result_list) == 10
    assert Claim.with_tombstones.count() == 10


def test_proposal_page_title_contains_the_state_of_the_proposal(work, superusers_client):
    proposal = Proposal.objects.first()
    page = superusers_client.get(f"/admin/credit/proposal/{proposal.pk}/change/")
    assert f"Proposal of approval for {reference_of(proposal.application_id)}, waiting" in page.content.decode()
    proposal.close(Proposal.WITHDRAWN, by=proposal.proposed_by, now=timezone.now())
    proposal.refresh_from_db()
    assert str(proposal) == f"approved, withdrawn, for {reference_of(proposal.application_id)}"


def test_landing_page_is_available_while_redis_is_unavailable(reviewers_client, settings):
    redis = "django.core.cache.backends.redis.RedisCache"
    settings.CACHES = {"default": {"BACKEND": redis, "LOCATION": f"redis://127.0.0.1:{free_port()}/0"}}
    assert "No decisions in this period." in text_of(reviewers_client.get("/admin/"))


def test_chart_of_decisions_shows_days_in_the_back_office_date_format():
    days = [date(2026, 11, number) for number in range(1, 9)]
    chart = draw(days, [Series("approved", "approved", [1] * 8)])
    assert [text for _, text in chart["ticks"]] == ["Nov 1", "Nov 8"]
    assert next(day for day, _ in chart["rows"]) == "Nov 1, 2026"
    assert chart["bars"][0]["title"] == "Nov 1, 2026: 1 approved"
