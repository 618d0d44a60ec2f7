"""Test concurrent decisions about the same staged items on PostgreSQL."""

import pytest
from django.utils import timezone

from config.core.ids import uuid7
from config.webhooks.models import Event
from staging.models import Approval, Note, StagedItem
from staging.registry import stage_items
from tests.api import client_of
from tests.factories import StagedItemFactory, UserFactory
from tests.properties import quick_or_full
from tests.races import run_concurrently
from tests.staging.conftest import status_of

pytestmark = pytest.mark.usefixtures("committed", "needs_postgresql", "no_rate_limits")
ROUNDS = quick_or_full(20, 100)


def decision(client, user, path):
    return lambda: client.send(f"/staging/{path}", {"user_id": str(user.pk)}, key=True)


def test_only_one_of_concurrent_approval_and_rejection_of_a_staged_item_succeeds():
    user = UserFactory()
    client = client_of(user)
    approvals = 0
    for _ in range(ROUNDS):
        item = StagedItemFactory(user=user)
        approved, rejected = run_concurrently(
            decision(client, user, f"approve/{item.pk}"), decision(client, user, f"reject/{item.pk}")
        )
        assert sorted([approved.status_code, rejected.status_code]) == [200, 404]
        approvals += approved.status_code == 200
        assert status_of(item) == ("approved" if approved.status_code == 200 else "rejected")
        assert Approval.objects.filter(item=item).count() == (approved.status_code == 200)
    assert Note.objects.count() == Approval.objects.count() == approvals
    assert Event.objects.count() == ROUNDS


def test_concurrent_approve_all_and_single_decisions_decide_each_item_only_once():
    user = UserFactory()
    client = client_of(user)
    for _ in range(quick_or_full(3, 10)):
        ids = stage_items(user_id=user.pk, items=[("note", {"text": "x"})] * 30, source=None, now=timezone.now())
        before = Note.objects.count()
        answers = run_concurrently(
            decision(client, user, "approve-all"),
            decision(client, user, "approve-all"),
            decision(client, user, "reject-all"),
            decision(client, user, f"approve/{ids[7]}"),
            decision(client, user, f"reject/{ids[20]}"),
        )
        # An account runs one decision about all items at a time; concurrent ones are rejected.
        assert {answer.status_code for answer in answers[:3]} <= {200, 429, 503}
        assert {answer.status_code for answer in answers[3:]} <= {200, 404}
        decided = [str(ids[at]) for at, answer in ((7, answers[3]), (20, answers[4])) if answer.status_code == 200]
        for answer in answers[:3]:
            decided += answer.json()["item_ids"] if answer.status_code == 200 else []
        assert sorted(decided) == sorted(map(str, ids))
        approved = StagedItem.objects.filter(pk__in=ids, status="approved").count()
        assert Note.objects.count() - before == approved
        assert Approval.objects.filter(item_id__in=ids).count() == approved


def test_item_staged_during_approve_all_is_either_approved_or_still_staged():
    user = UserFactory()
    client = client_of(user)
    body = {"kind": "note", "payload": {"text": "late"}}
    rounds = quick_or_full(5, 20)
    for _ in range(rounds):
        StagedItemFactory(user=user)
        approved, staged = run_concurrently(
            decision(client, user, "approve-all"), lambda: client.send("/staging/items", body)
        )
        assert (approved.status_code, staged.status_code) == (200, 201)
        late = staged.json()["id"]
        assert status_of(late) == ("approved" if late in approved.json()["item_ids"] else "staged")
        decision(client, user, "approve-all")()
        assert status_of(late) == "approved"
    assert Note.objects.count() == 2 * rounds


def test_concurrent_staging_requests_with_one_idempotency_key_stage_the_items_only_once():
    user = UserFactory()
    client = client_of(user)
    stage_items(user_id=user.pk, items=[("note", {"text": "x"})] * 50, source=None, now=timezone.now())
    key = str(uuid7())
    answers = run_concurrently(*[lambda: client.send("/staging/approve-all", {"user_id": str(user.pk)}, key=key)] * 20)
    assert {answer.status_code for answer in answers} <= {200, 409, 429, 503}
    succeeded = [answer for answer in answers if answer.status_code == 200]
    assert len({answer.content for answer in succeeded}) == 1
    assert sum(answer.headers.get("Idempotent-Replayed") is None for answer in succeeded) == 1
    assert Note.objects.count() == 50
