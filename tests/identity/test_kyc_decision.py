"""Test that reviewers decide verifications that the vendor leaves open, with a reason."""

from functools import partial

import pytest
from django.db import transaction
from django.urls import reverse
from django.utils import timezone

from config.core.lifecycle import Actor
from identity.errors import InvalidVerificationTransition
from tests.api import client_of
from tests.backoffice.conftest import backoffice_client, staff_of
from tests.backoffice.pages import confirm, send_form, text_of
from tests.identity.banking import read, row_of, start, statuses_of, submit_outcome
from tests.races import run_concurrently

pytestmark = pytest.mark.django_db
LIST = "/admin/identity/kycverification/"


def page_of(row):
    return reverse("admin:identity_kycverification_change", args=[row.pk])


def move_of(row, to):
    return reverse("admin:identity_kycverification_move", args=[row.pk, to])


@pytest.fixture
def pending(api):
    shown = start(api)
    submit_outcome(shown, "review")
    return row_of(shown)


@pytest.fixture
def reviewer(db):
    return staff_of("Reviewer", username="rita")


def decide(row, to, actor, reason="Seen in person."):
    row.transition_to(
        to, actor=Actor(user=actor, credential="admin"), changed_by="rita", now=timezone.now(), reason=reason
    )


@pytest.mark.parametrize("to", ["verified", "failed"])
def test_reviewer_can_decide_an_identity_verification_of_another_account_with_a_reason(
    api, user, pending, reviewer, to
):
    send_form(backoffice_client(reviewer), move_of(pending, to), reason="")
    pending.refresh_from_db()
    assert pending.status == "pending_review"
    with pytest.raises(InvalidVerificationTransition, match="requires a reason"):
        decide(pending, to, reviewer, reason="  ")
    own = start(client_of(reviewer))
    submit_outcome(own, "review")
    with pytest.raises(InvalidVerificationTransition, match="your own"):
        decide(row_of(own), to, reviewer)
    response = confirm(backoffice_client(reviewer), move_of(pending, to), reason="The passport was seen in person.")
    assert response.status_code == 200
    shown = read(api, pending.pk).json()
    assert shown["status"] == to
    assert shown["completed_at"]
    row = pending.history.get(status=to)
    assert (row.principal, row.credential, row.reason) == (reviewer, "admin", "The passport was seen in person.")
    assert statuses_of(user)[-1] == to
    assert "The passport was seen in person." in text_of(backoffice_client(reviewer).get(page_of(pending)))


def test_support_can_read_but_not_decide_identity_verifications(pending):
    backoffice = backoffice_client(staff_of("Support", username="sam"))
    page = backoffice.get(page_of(pending))
    assert page.status_code == 200
    assert move_of(pending, "verified") not in page.content.decode()
    assert backoffice.get(move_of(pending, "verified")).status_code == 403
    assert backoffice.get(LIST).status_code == 200


def test_only_one_of_concurrent_identity_verification_decisions_succeeds(committed, needs_postgresql, user):
    shown = start(client_of(user))
    submit_outcome(shown, "review")
    judges = [staff_of("Reviewer", username=name) for name in ("rita", "ron")]

    def run(number):
        try:
            with transaction.atomic():
                decide(row_of(shown), ("verified", "failed")[number], judges[number])
        except InvalidVerificationTransition:
            return 0
        return 1

    assert sum(run_concurrently(*[partial(run, number) for number in range(2)])) == 1
    assert row_of(shown).history.filter(principal__isnull=False).count() == 1


def test_review_queue_and_search_find_a_pending_identity_verification(pending, reviewer, user):
    backoffice = backoffice_client(reviewer)
    for query in ("?queue=review", f"?q={pending.pk}", f"?q={user.username}", f"?q={pending.provider_reference}"):
        assert str(pending.pk) in backoffice.get(LIST + query).content.decode(), query
    assert str(pending.pk) not in backoffice.get(LIST + "?queue=person").content.decode()
    assert backoffice.get(LIST + "?q=nobody").status_code == 200
    assert "Identities to review" in text_of(backoffice.get("/admin/"))
    assert "no documents were checked" in text_of(backoffice.get(page_of(pending)))
