"""A tile of the landing page counts what its list shows, and leads to nothing else."""

from datetime import timedelta

import pytest
from django.utils import timezone

from claims.models import Claim
from config.backoffice import queues
from credit.models import Proposal
from identity.access import keys
from tests.backoffice.conftest import staff_of
from tests.backoffice.test_applications import make
from tests.factories import ClaimFactory, UserFactory


@pytest.fixture
def work(superuser):
    """Something in every queue, and beside it what is nearly so."""
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


def test_every_tile_counts_what_its_list_shows(work, superuser, superusers_client):
    states = queues.states_of(superuser)
    counts = {}
    for state in states:
        listed = superusers_client.get(state.address).context["cl"].result_list
        counts[state.queue.name] = state.count
        assert len(listed) == state.count, state.queue.name
    expected = {"review": 2, "documents": 2, "claims": 3, "keys": 1, "four-eyes": 2}
    assert {name: counts[name] for name in expected} == expected


def test_disputed_claims_have_a_list_of_their_own(work, reviewers_client):
    for queue, statuses in (("review", {"pending", "disputed"}), ("disputes", {"disputed"})):
        rows = reviewers_client.get(f"/admin/claims/claim/?queue={queue}").context["cl"].result_list
        assert {row.status for row in rows} == statuses
        assert not any(row.deleted_at for row in rows)
    assert len(reviewers_client.get("/admin/claims/claim/?queue=x").context["cl"].result_list) == 10
    assert Claim.with_tombstones.count() == 10


def test_the_title_of_an_open_proposal_says_that_it_is_proposed(work, superusers_client):
    proposal = Proposal.objects.first()
    page = superusers_client.get(f"/admin/credit/proposal/{proposal.pk}/change/")
    assert f"approved, proposed, for {proposal.application_id}" in page.content.decode()
    proposal.close(Proposal.WITHDRAWN, by=proposal.proposed_by, now=timezone.now())
    proposal.refresh_from_db()
    assert str(proposal) == f"approved, withdrawn, for {proposal.application_id}"
