"""Test each transition of `PUT /claims/{id}/status`, and random sequences of transitions."""

from functools import partial
from itertools import product

import hypothesis.strategies as st
import pytest
from django.contrib.auth.models import Group
from django.db import DatabaseError, connection, transaction
from django.utils import timezone
from hypothesis import given

from claims.errors import ClaimNotFound, InvalidClaimTransition
from claims.models import Claim, ClaimHistory
from claims.services import delete_claim
from config.core.lifecycle import Actor, ReviewerRequired
from tests.api import assert_error, client_of
from tests.claims.conftest import events_of, stored
from tests.factories import ClaimFactory, UserFactory
from tests.properties import examples
from tests.walks import walk

# The allowed transitions of claims are repeated here to check the table in the code.
MOVES = {
    "draft": {"pending", "approved", "revoked"}, "pending": {"approved", "draft", "disputed", "revoked"},
    "approved": {"disputed", "revoked"}, "disputed": {"approved", "pending", "revoked"}, "revoked": set(),
}  # fmt: skip
# These transitions require a reviewer, except under the policy `open`.
DECISIONS = {("draft", "approved"), ("pending", "approved"), *(("disputed", to) for to in MOVES["disputed"])}


def move(client, claim, to, **members):
    return client.replace(f"/claims/{claim.pk}/status", {"status": to, "updated_by": "somebody", **members})


@pytest.fixture
def claim(user):
    return ClaimFactory(user=user)


def test_claim_transition_changes_the_status_and_adds_history_and_an_event(api, user, claim):
    response = move(api, claim, "pending", updated_by="clerk 7", reason="ready", metadata={"ignored": True})
    assert response.status_code == 200, response.content
    assert response.json()["status"] == "pending"
    assert api.read(f"/claims/{claim.pk}").json() == response.json()
    row = ClaimHistory.objects.get()
    assert (row.claim_id, row.position, row.previous_status, row.status) == (claim.pk, 1, "draft", "pending")
    assert (row.changed_by, row.reason, row.principal) == ("clerk 7", "ready", user)
    assert row.credential.startswith("jwt:")
    kinds, event = events_of(user)
    assert (kinds, event["status"], event["claim_id"]) == (["claim.pending"], "pending", str(claim.pk))


def test_claim_transition_that_is_not_in_the_transition_table_changes_nothing(api, claim):
    error = assert_error(move(api, claim, "disputed"), 400, "E3002")
    assert (error["details"]["from"], error["details"]["to"]) == ("draft", "disputed")
    assert set(error["details"]["allowed"]) == MOVES["draft"]
    assert (stored(claim).status, ClaimHistory.objects.count()) == ("draft", 0)


def test_claim_approval_and_revocation_set_their_dates(api, claim):
    first = move(api, claim, "approved").json()["approved_at"]
    assert first is not None
    move(api, claim, "disputed")
    again = move(api, claim, "approved").json()
    assert (again["approved_at"], again["revoked_at"]) == (first, None)
    revoked = move(api, claim, "revoked").json()
    assert revoked["approved_at"] == first
    assert revoked["revoked_at"] == revoked["updated_at"]
    assert list(claim.history.values_list("position", "status")) == [
        (1, "approved"), (2, "disputed"), (3, "approved"), (4, "revoked"),
    ]  # fmt: skip


@pytest.mark.parametrize(("policy", "visibility"), [("reviewed", "conditional"), ("four_eyes", "shared")])
def test_only_reviewers_can_decide_a_claim_that_is_visible_to_reviewers(
    settings, api, user, reviewer_api, policy, visibility
):
    settings.REVIEW_POLICY = policy
    claim = ClaimFactory(user=user, status="pending", visibility=visibility)
    assert_error(move(api, claim, "approved"), 403, "E2010")
    for to in ("approved", "disputed", "pending"):
        assert move(reviewer_api, claim, to).json()["status"] == to
    assert_error(move(reviewer_api, claim, "draft"), 403, "E2010")  # Only the owner can return a claim to draft.
    assert move(reviewer_api, claim, "revoked").json()["status"] == "revoked"


def test_four_eyes_forbids_reviewers_to_decide_their_own_claims(settings, reviewer, reviewer_api):
    claim = ClaimFactory(user=reviewer, status="pending")
    settings.REVIEW_POLICY = "four_eyes"
    assert_error(move(reviewer_api, claim, "approved"), 403, "E2010")
    settings.REVIEW_POLICY = "reviewed"
    assert move(reviewer_api, claim, "approved").status_code == 200


def test_reviewer_group_can_decide_claims_and_support_group_cannot(db, settings):
    settings.REVIEW_POLICY = "reviewed"
    claim = ClaimFactory(status="pending", visibility="shared")
    support, colleague = UserFactory(), UserFactory()
    support.groups.add(Group.objects.get(name="Support"))
    colleague.groups.add(Group.objects.get(name="Reviewer"))
    assert support.has_perm("claims.view_claim")
    assert_error(move(client_of(support), claim, "approved"), 404, "E4003")
    assert move(client_of(colleague), claim, "approved").status_code == 200


def test_database_rejects_changes_to_claim_history(api, claim):
    move(api, claim, "pending")
    for statement in ("UPDATE claims_claimhistory SET reason = 'x'", "DELETE FROM claims_claimhistory"):
        with pytest.raises(DatabaseError, match="append-only"), transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(statement)
    assert ClaimHistory.objects.get().reason is None


def test_claim_transition_is_rejected_if_the_claim_changed_after_loading(user, api, claim):
    def move_loaded(claim):
        claim.transition_to("pending", actor=Actor(user=user, credential="test"), changed_by="x", now=timezone.now())

    deleted = ClaimFactory(user=user)
    delete_claim(str(deleted.pk), actor=Actor(user=user, credential="test"), now=timezone.now())
    with pytest.raises(ClaimNotFound), transaction.atomic():
        move_loaded(deleted)
    assert move(api, claim, "revoked").status_code == 200
    with pytest.raises(InvalidClaimTransition) as refused, transaction.atomic():
        move_loaded(claim)
    assert refused.value.details == {"from": "revoked", "to": "pending", "allowed": []}
    assert (stored(deleted).status, stored(claim).status, ClaimHistory.objects.count()) == ("draft", "revoked", 1)


def test_database_rejects_unknown_values_of_a_claim(claim):
    for wrong in ({"status": "bogus"}, {"visibility": "public"}, {"verification_level": "x"}, {"status": "approved"}):
        with pytest.raises(DatabaseError), transaction.atomic():
            Claim.objects.filter(pk=claim.pk).update(**wrong)


OWNERS = {("draft", "pending"), ("draft", "revoked"), ("pending", "draft")}


@pytest.fixture
def policies(settings):
    """Return a function that sets the review policy."""
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
    """Actors by their relation to the claims of `owner`."""
    reviewer = UserFactory()
    reviewer.groups.add(Group.objects.get(name="Reviewer"))
    people = {"owner": UserFactory(), "reviewer": reviewer, "stranger": UserFactory()}
    actors = {name: Actor(user=user, credential="test") for name, user in people.items()}
    return {**actors, "system": Actor.system("test")}


def test_claim_status_code_allows_exactly_the_documented_transitions(policies, actors):
    for policy, status, to, who in product(["open", "reviewed", "four_eyes"], MOVES, [*MOVES, "bogus"], actors):
        policies(policy)
        refusal = Claim(user=actors["owner"].user, status=status).check_transition(to, actors[who])
        assert (refusal is None) == may(policy, status, (to, who)), (policy, status, to, who)
        if who == "owner":
            is_decision = policy != "open" and (status, to) in DECISIONS
            expected = ReviewerRequired if is_decision else InvalidClaimTransition
            assert refusal is None or type(refusal) is expected, (policy, status, to)
        if isinstance(refusal, InvalidClaimTransition):
            assert (refusal.details["from"], {*refusal.details["allowed"]}) == (status, MOVES[status])


def test_random_claim_transitions_follow_the_transition_table(policies, actors):
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
            history=lambda item: item.history.order_by("position"),
        )  # fmt: skip
        assert (claim.revoked_at is not None) == ("revoked" in entered)
        assert (claim.approved_at is not None) == ("approved" in entered)
        assert "revoked" not in entered[:-1]

    walks()
