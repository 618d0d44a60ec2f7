"""The landing page: what waits, since when, and what was decided."""

from datetime import timedelta

import pytest
from django.core.cache import cache
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from config.backoffice import queues
from config.core.lifecycle import Actor
from credit.models import Application
from tests.backoffice.pages import text_of
from tests.backoffice.test_applications import make


@pytest.fixture(autouse=True)
def _no_cache():
    cache.clear()


def test_queues_show_how_many_wait_and_since_when(reviewers_client):
    now = timezone.now()
    make("submitted", submitted_at=now - timedelta(days=23, hours=2))
    make("under_review", submitted_at=now - timedelta(days=4))
    make("pending_documents")
    text = text_of(reviewers_client.get("/admin/"))
    assert "2 Applications to review The oldest waits 23 days." in text
    assert "1 Waiting for documents" in text
    assert "card-urgent" in reviewers_client.get("/admin/").content.decode()


def test_an_empty_queue_shows_a_message(reviewers_client):
    text = text_of(reviewers_client.get("/admin/"))
    assert "0 Applications to review Nothing waits for a review." in text
    assert "No decision in this time." in text


def test_people_see_the_queues_of_their_groups(supports_client, operations_client):
    assert "Applications to review" not in text_of(supports_client.get("/admin/"))
    assert "Applications to review" not in text_of(operations_client.get("/admin/"))
    assert "Decisions not in the ledger yet" in text_of(operations_client.get("/admin/"))


def test_it_costs_at_most_twelve_queries(superusers_client, reviewers_client):
    for status in ("submitted", "under_review", "pending_documents"):
        make(status)
    for client in (superusers_client, reviewers_client):
        cache.clear()
        with CaptureQueriesContext(connection) as captured:
            assert client.get("/admin/").status_code == 200
        statements = [query["sql"] for query in captured if not query["sql"].startswith(("SAVEPOINT", "RELEASE"))]
        assert len(statements) <= 12, statements


def test_a_count_stops_at_its_cap(reviewer, monkeypatch):
    monkeypatch.setattr(queues, "COUNT_MAX", 2)
    for _ in range(4):
        make("submitted")
    states = queues.states_of(reviewer)
    review = next(state for state in states if state.queue.name == "review")
    assert review.shown_count == "2+"


def test_decisions_are_drawn_and_listed(reviewers_client, reviewer):
    for to in ("approved", "rejected", "approved"):
        make(submitted_at=timezone.now() - timedelta(days=2)).transition_to(
            to, actor=Actor(user=reviewer, credential="admin"), changed_by="rita", now=timezone.now()
        )
    body = reviewers_client.get("/admin/").content.decode()
    today = timezone.now().date().isoformat()
    assert f"<title>{today}: 2 approved</title>" in body
    assert f"<title>{today}: 1 rejected</title>" in body
    assert f"<title>{today}: 2 days, on average</title>" in body
    assert "Mean time from submission to decision: <strong>2 days</strong>" in body


def test_the_review_queue_is_read_from_its_own_index(db, needs_postgresql):
    rows = Application.objects.filter(status__in=("submitted", "under_review")).order_by("submitted_at")
    with connection.cursor() as cursor:
        # Few rows are sorted sooner than read in order; a million are not.
        cursor.execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off; SET LOCAL enable_sort = off")
        statement, parameters = rows.values("submitted_at")[:1000].query.sql_with_params()
        cursor.execute(f"EXPLAIN {statement}", parameters)
        plan = "\n".join(row[0] for row in cursor.fetchall())
    assert "credit_app_review_queue" in plan
    assert "Sort" not in plan
