"""The statuses of a claim over random walks, under every review policy."""

from functools import partial
from itertools import product

import hypothesis.strategies as st
import pytest
from django.contrib.auth.models import Group
from django.utils import timezone
from hypothesis import given

from claims.errors import InvalidClaimTransition
from claims.models import Claim
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


def may(policy, status, step):
    to, who = step
    if to not in MOVES[status] or who == "system":
        return False
    if policy == "open":
        return True
    if (status, to) in OWNERS:
        return who == "owner"
    return who == "reviewer" or (who == "owner" and (status, to) not in DECISIONS)


@pytest.fixture
def actors(db):
    """Who may ask, by what they are to the claims of `owner`."""
    reviewer = UserFactory()
    reviewer.groups.add(Group.objects.get(name="Reviewer"))
    people = {"owner": UserFactory(), "reviewer": reviewer, "stranger": UserFactory()}
    actors = {name: Actor(user=user, credential="test") for name, user in people.items()}
    return {**actors, "system": Actor.system("test")}


@pytest.mark.parametrize("policy", ["open", "reviewed", "four_eyes"])
def test_every_cell_of_the_table_is_what_the_code_decides(policies, actors, policy):
    policies(policy)
    for status, to, who in product(MOVES, [*MOVES, "bogus"], actors):
        refusal = Claim(user=actors["owner"].user, status=status).check_transition(to, actors[who])
        assert (refusal is None) == may(policy, status, (to, who)), (status, to, who)
        if who == "owner":
            is_decision = policy != "open" and (status, to) in DECISIONS
            expected = ReviewerRequired if is_decision else InvalidClaimTransition
            assert refusal is None or type(refusal) is expected, (status, to)
        if isinstance(refusal, InvalidClaimTransition):
            assert (refusal.details["from"], {*refusal.details["allowed"]}) == (status, MOVES[status])


def test_no_walk_leaves_the_table(policies, actors):
    owner = actors["owner"].user
    steps = st.tuples(st.sampled_from([*MOVES, "bogus"]), st.sampled_from([*actors, "owner", "reviewer"]))

    @given(st.sampled_from(["open", "reviewed", "four_eyes"]), st.lists(steps, min_size=1, max_size=14))
    @examples(20)
    def walks(policy, asked):
        policies(policy)

        def move(claim, step):
            claim.transition_to(step[0], actor=actors[step[1]], changed_by=step[1], now=timezone.now())

        claim = ClaimFactory(user=owner)
        entered = walk(
            claim, asked, may=partial(may, policy), move=move, refusals=(InvalidClaimTransition, ReviewerRequired),
            history=lambda one: one.history.order_by("position"),
        )  # fmt: skip
        assert (claim.revoked_at is not None) == ("revoked" in entered)
        assert (claim.approved_at is not None) == ("approved" in entered)
        assert "revoked" not in entered[:-1]

    walks()
