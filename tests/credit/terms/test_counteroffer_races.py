"""Concurrent acceptance, expiry, withdrawal, decline and decision of a counteroffer: only a single one takes effect.

`RACES=2000` makes that many attempts instead of a few.
"""

import os
from datetime import timedelta

import pytest
from django.db import transaction
from django.utils import timezone

from config.core.errors import ApiError
from config.core.lifecycle import Actor
from credit.models import Acceptance, Application, ApplicationHistory, Counteroffer
from credit.review.services import change_status
from credit.terms import counteroffers
from credit.terms.acceptance import accept
from tests.credit.terms.lending import applied, listed
from tests.factories import UserFactory
from tests.races import run_concurrently

pytestmark = pytest.mark.usefixtures("committed", "needs_postgresql")
RACES = int(os.environ.get("RACES", "20"))
BECAUSE = {"reasons": ["no_credit_file"]}


def answered(call):
    """Return the status code of a call."""
    try:
        with transaction.atomic():
            return 200 if call() else 400
    except ApiError as refusal:
        return refusal.status


def one_race(number, offer, consumer):
    lender = Actor(user=offer.provider.owner, credential="test")
    person = Actor(user=consumer, credential="test")
    application = applied(offer, consumer=consumer)
    now, pk = timezone.now(), str(application.pk)
    until = now + timedelta(days=2)
    terms = {"amount_cents": 500_000 + number}
    with transaction.atomic():
        body = {"terms": terms, **BECAUSE, "expires_at": until.isoformat()}
        change_status(pk, "counteroffer", actor=lender, changed_by="l", reason=None, metadata=body, now=now)
    offered = Counteroffer.objects.get(application=application)
    offered_id, in_time = str(offered.pk), now + timedelta(days=1)

    def move(actor, to):
        said = {"changed_by": "x", "reason": None, "metadata": BECAUSE, "now": in_time}
        return change_status(pk, to, actor=actor, **said)

    sha = offered.loan_terms.terms_sha256
    ways = [
        lambda: accept(pk, terms_sha256=sha, actor=person, now=in_time), lambda: counteroffers.expire(now=until),
        lambda: counteroffers.withdraw(pk, offered_id, actor=lender, now=in_time),
        lambda: counteroffers.decline(pk, offered_id, actor=person, now=in_time), lambda: move(lender, "rejected"),
        lambda: move(person, "withdrawn"),
    ]  # fmt: skip
    others = ways[1 + number % 5], ways[1 + (number + 1) % 5]
    answers = run_concurrently(*(lambda way=way: answered(way) for way in (ways[0], *others)))
    return application, answers


def test_concurrent_requests_that_close_a_counteroffer_leave_a_consistent_state(settings):
    settings.REVIEW_POLICY = "reviewed"
    offer, consumer = listed(), UserFactory()
    for number in range(RACES):
        application, answers = one_race(number, offer, consumer)
        application = Application.objects.get(pk=application.pk)
        offered = Counteroffer.objects.get(application=application)
        moves = list(ApplicationHistory.objects.filter(application=application).values_list("status", flat=True))
        is_taken_up = Acceptance.objects.filter(application=application).count()
        ended = {
            "accepted": {"approved"}, "expired": {"rejected"}, "superseded": {"rejected", "withdrawn"},
            "withdrawn": {"under_review", "rejected", "withdrawn"},
            "declined": {"under_review", "rejected", "withdrawn"},
        }[offered.outcome]  # fmt: skip
        consistent = (
            application.status in ended
            and len(moves) <= 1
            and moves == ([] if application.status == "under_review" else [application.status])
            and is_taken_up == (offered.outcome == "accepted")
            and (application.accepted_at is not None) == bool(is_taken_up)
            and set(answers) <= {200, 400, 409}
        )
        assert consistent, (number, application.status, offered.outcome, moves, answers)
