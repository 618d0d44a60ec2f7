"""Test the statuses of an identity verification over random steps."""

from itertools import product

import hypothesis.strategies as st
import pytest
from django.contrib.auth.models import Group
from django.utils import timezone
from hypothesis import given

from config.core.lifecycle import Actor
from identity.errors import InvalidVerificationTransition
from identity.kyc.models import KycVerification
from identity.kyc.services import create_verification, request_verification
from tests.factories import UserFactory
from tests.properties import examples
from tests.walks import walk

# Each allowed status change of an identity verification has the role that makes the change.
TABLE = {
    ("requires_input", "processing"): "system", ("requires_input", "expired"): "system",
    ("requires_input", "canceled"): "either", ("processing", "verified"): "system", ("processing", "failed"): "system",
    ("processing", "pending_review"): "system", ("pending_review", "verified"): "vendor or reviewer",
    ("pending_review", "failed"): "vendor or reviewer", ("expired", "verified"): "system",
    ("expired", "failed"): "system", ("expired", "pending_review"): "system", ("canceled", "verified"): "system",
    ("canceled", "failed"): "system", ("canceled", "pending_review"): "system",
}  # fmt: skip
STATUSES = ("requires_input", "processing", "verified", "failed", "pending_review", "expired", "canceled")
FINAL = {"verified", "failed"}


def may(status, step):
    to, who, reason = step
    role = TABLE.get((status, to))
    if role == "system":
        return who == "system"
    if role == "either":
        return who in {"system", "owner"}
    return role == "vendor or reviewer" and (who == "system" or (who == "reviewer" and bool(reason)))


@pytest.mark.django_db
def test_code_allows_exactly_the_documented_identity_verification_status_changes():
    reviewer = UserFactory()
    reviewer.groups.add(Group.objects.get(name="Reviewer"))
    owner = UserFactory()
    people = {"owner": owner, "reviewer": reviewer, "stranger": UserFactory()}
    actors = {name: Actor(user=user, credential="test") for name, user in people.items()}
    actors["system"] = Actor.system("test")
    for status, to, who in product(STATUSES, STATUSES, actors):
        refusal = KycVerification(user=owner, status=status).check_transition(to, actors[who])
        assert (refusal is None) == may(status, (to, who, "seen")), (status, to, who)


@pytest.mark.django_db
def test_random_identity_verification_steps_make_only_allowed_status_changes():
    reviewer = UserFactory()
    reviewer.groups.add(Group.objects.get(name="Reviewer"))
    people = {"reviewer": reviewer, "stranger": UserFactory(), "owner": None}
    who = st.sampled_from(["system", "system", "owner", "reviewer", "stranger"])
    steps = st.tuples(st.sampled_from(STATUSES), who, st.sampled_from([None, "seen"]))

    @given(st.lists(steps, min_size=1, max_size=14))
    @examples(27)
    def walks(asked):
        people["owner"] = UserFactory()

        def move(verification, step):
            to, name, reason = step
            user = people.get(name)
            actor = Actor.system("test") if user is None else Actor(user=user, credential="test")
            verification.transition_to(to, actor=actor, changed_by=name, now=timezone.now(), reason=reason)

        now = timezone.now()
        state = request_verification(user=people["owner"], key=None, template_id=None, redirect_uri=None, now=now)
        actor = Actor(user=people["owner"], credential="test")
        verification = create_verification(actor=actor, state=state, template_id=None, redirect_uri=None, now=now)
        entered = walk(
            verification, asked, may=may, move=move, refusals=InvalidVerificationTransition,
            history=lambda item: item.history.order_by("position"),
        )  # fmt: skip
        assert (verification.completed_at is not None) == (verification.status in FINAL | {"expired", "canceled"})
        assert not FINAL & set(entered[:-1]), "what is final stays"

    walks()
