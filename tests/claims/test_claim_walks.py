"""The statuses of a claim over random walks, under every review policy."""

import hypothesis.strategies as st
import pytest
from django.contrib.auth.models import Group
from django.utils import timezone
from hypothesis import given

from claims.errors import InvalidClaimTransition
from config.core.lifecycle import Actor, ReviewerRequired
from tests.claims.test_claim_status import DECISIONS, MOVES
from tests.factories import ClaimFactory, UserFactory
from tests.properties import examples
from tests.walks import walk

OWNERS = {("draft", "pending"), ("draft", "revoked"), ("pending", "draft")}


@pytest.fixture
def policies(settings):
    """Set the review policy within a test."""
    return lambda policy: setattr(settings, "REVIEW_POLICY", policy)


@pytest.mark.django_db
def test_no_walk_leaves_the_table(policies):
    reviewer = UserFactory()
    reviewer.groups.add(Group.objects.get(name="Reviewer"))
    owner, stranger = UserFactory(), UserFactory()
    people = {"owner": owner, "reviewer": reviewer, "stranger": stranger}
    actors = {name: Actor(user=user, credential="test") for name, user in people.items()}
    actors["system"] = Actor.system("test")
    steps = st.tuples(st.sampled_from([*MOVES, "bogus"]), st.sampled_from([*actors, "owner", "reviewer"]))

    @given(st.sampled_from(["open", "reviewed", "four_eyes"]), st.lists(steps, min_size=1, max_size=14))
    @examples(20)
    def walks(policy, asked):
        policies(policy)

        def may(status, step):
            to, who = step
            if to not in MOVES[status] or who == "system":
                return False
            if policy == "open":
                return True
            if (status, to) in OWNERS:
                return who == "owner"
            return who == "reviewer" or (who == "owner" and (status, to) not in DECISIONS)

        def move(claim, step):
            claim.transition_to(step[0], actor=actors[step[1]], changed_by=step[1], now=timezone.now())

        claim = ClaimFactory(user=owner)
        entered = walk(
            claim, asked, may=may, move=move, refusals=(InvalidClaimTransition, ReviewerRequired),
            history=lambda one: one.history.order_by("position"),
        )  # fmt: skip
        assert (claim.revoked_at is not None) == ("revoked" in entered)
        assert (claim.approved_at is not None) == ("approved" in entered)
        assert "revoked" not in entered[:-1]

    walks()
