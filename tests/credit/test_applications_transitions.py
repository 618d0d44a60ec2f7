"""Test that GET /v1/applications/{id}/transitions returns allowed transitions, and reasons for blocked transitions."""

import pytest

from config.core.lifecycle import Actor, Role
from tests.credit.support import STATUSES, TABLE
from tests.factories import ApplicationFactory

pytestmark = pytest.mark.django_db


def moves(api, application):
    """Return the listed transitions, by status."""
    shown = api.read(f"/applications/{application.id}/transitions").json()
    assert set(shown) == {"application_id", "status", "review_policy", "transitions"}
    return {entry["to"]: entry for entry in shown["transitions"]}


@pytest.mark.parametrize("policy", ["open", "reviewed", "four_eyes"])
def test_transitions_endpoint_predicts_the_result_of_each_transition_in_the_status_table(api, user, settings, policy):
    settings.REVIEW_POLICY = policy
    for status in STATUSES:
        application = ApplicationFactory(consumer=user, status=status)
        shown = moves(api, application)
        assert set(shown) == {to for start, to in TABLE if start == status}
        for to, entry in shown.items():
            assert set(entry) == {"to", "by", "allowed", "code", "why"}
            assert entry["by"] == TABLE[status, to]
            refusal = application.check_transition(to, Actor(user=user, credential="jwt:x"))
            assert entry["allowed"] == (refusal is None)
            assert (entry["code"], entry["why"]) == ((None, None) if refusal is None else (refusal.code, str(refusal)))
            assert entry["code"] == "E3001" or TABLE[status, to] is not Role.SYSTEM
    for to, entry in moves(api, ApplicationFactory(consumer=user, status="under_review")).items():
        another = ApplicationFactory(consumer=user, status="under_review")
        answer = api.replace(f"/applications/{another.id}/status", {"status": to, "updated_by": "me"})
        assert answer.status_code == 200 if entry["allowed"] else answer.json()["code"] == entry["code"]
