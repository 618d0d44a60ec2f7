"""Test concurrent transitions and deletions of one claim on PostgreSQL."""

import pytest

from claims.models import ClaimHistory
from config.webhooks.models import Event
from tests.api import client_of
from tests.claims.conftest import stored
from tests.factories import ClaimFactory, UserFactory
from tests.properties import quick_or_full
from tests.races import run_concurrently

pytestmark = pytest.mark.usefixtures("committed", "needs_postgresql", "no_rate_limits")
ROUNDS = quick_or_full(20, 100)


def status_call(client, claim, to):
    return lambda: client.replace(f"/claims/{claim.pk}/status", {"status": to, "updated_by": "x"})


def test_concurrent_claim_approval_and_revocation_add_one_history_row_per_successful_request():
    owner = UserFactory()
    clients = [client_of(owner), client_of(owner)]
    collisions = 0
    for _ in range(ROUNDS):
        claim = ClaimFactory(user=owner, status="pending")
        approved, revoked = run_concurrently(*map(status_call, clients, [claim] * 2, ["approved", "revoked"]))
        codes = [approved.status_code, revoked.status_code]
        assert set(codes) <= {200, 400}
        assert 200 in codes
        successes = codes.count(200)
        collisions += successes == 1
        assert ClaimHistory.objects.filter(claim=claim).count() == successes
        last = "revoked" if revoked.status_code == 200 else "approved"
        assert stored(claim).status == last
        assert stored(claim).moves == successes
    assert collisions, "the calls never met: the test shows nothing"
    assert Event.objects.count() == ClaimHistory.objects.count()


def test_only_one_of_concurrent_identical_claim_transitions_succeeds():
    owner = UserFactory()
    client = client_of(owner)
    claim = ClaimFactory(user=owner)
    answers = run_concurrently(*[status_call(client, claim, "pending")] * 20)
    assert sorted(answer.status_code for answer in answers) == [200] + [400] * 19
    assert ClaimHistory.objects.count() == 1


def test_only_one_of_concurrent_claim_deletions_succeeds_and_the_claim_remains_deleted():
    owner = UserFactory()
    client = client_of(owner)
    for _ in range(quick_or_full(5, 20)):
        claim = ClaimFactory(user=owner)
        answers = run_concurrently(
            lambda: client.remove(f"/claims/{claim.pk}"),  # noqa: B023  run within the round
            lambda: client.remove(f"/claims/{claim.pk}"),  # noqa: B023
            status_call(client, claim, "pending"),
            lambda: client.replace(f"/claims/{claim.pk}", {"notes": "x"}),  # noqa: B023
        )
        assert sorted(answer.status_code for answer in answers[:2]) == [200, 404]
        assert {answer.status_code for answer in answers[2:]} <= {200, 404}
        assert stored(claim).deleted_at is not None
        assert client.read(f"/claims/{claim.pk}").status_code == 404
