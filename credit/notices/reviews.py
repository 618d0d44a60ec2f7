"""Requests for reconsideration. The next decision answers them, made by accounts that did not decide before."""

from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import QuerySet

from config.core.errors import ApiError
from config.core.lifecycle import Actor, RecordNotEditable, ReviewerRequired
from credit.core.machine import DECIDED, EXPIRED, JUDGEMENTS, REJECTED, WITHDRAWN
from credit.models.notices import Clock, ReviewRequest

STATEMENT_MAX = 4_000
_ENDS = DECIDED | {WITHDRAWN, EXPIRED}


def open_request(application: Any) -> ReviewRequest | None:
    """Return the request that waits; costs nothing where nothing was decided."""
    if application.reviewed_at is None and application.initial_status != REJECTED:
        return None
    found: ReviewRequest | None = application.review_requests.filter(answered_at__isnull=True).first()
    return found


def ask(application: Any, *, statement: str, now: datetime, tell: Any) -> ReviewRequest:
    """Keep the consumer's request; the caller holds the lock of the application's row, and `tell` records the event.

    Raises RecordNotEditable unless the application is rejected and no other request waits.
    """
    if application.status != REJECTED:
        raise RecordNotEditable("A person can look again at a rejection, and at nothing else.")
    try:
        with transaction.atomic():
            clock = Clock.start(application, Clock.REVIEW, now=now)
            made = ReviewRequest.objects.create(
                application=application, statement=statement, requested_at=now, due_at=clock.due_at
            )
    except IntegrityError as error:
        raise RecordNotEditable("A person is looking at it again already.") from error
    tell("review_requested", application, now=now, review_request_id=str(made.pk))
    return made


def check_reviewer(application: Any, to: str, actor: Actor) -> ApiError | None:
    """Return why `actor` may not decide now: they had a part in a decision before, or it is their own request."""
    asked = open_request(application) if to in JUDGEMENTS else None
    if asked is None:
        return None
    if actor.user is None:
        return ReviewerRequired("A person has asked for a person's decision.")
    if actor.user.pk == application.consumer_id or actor.user.pk in _had_a_part(application, asked.requested_at):
        return ReviewerRequired("A person has asked for another look: somebody decides who did not decide before.")
    return None


def _had_a_part(application: Any, until: datetime) -> set[Any]:
    """Return the accounts of everybody who decided, proposed what was confirmed, or made a counteroffer by then."""
    decided: QuerySet[Any] = application.history.filter(status__in=DECIDED, changed_at__lte=until)
    proposed = application.proposals.filter(outcome="confirmed", to__in=JUDGEMENTS, proposed_at__lte=until)
    return {
        *decided.values_list("principal_id", flat=True),
        *proposed.values_list("proposed_by_id", flat=True),
        *application.counteroffers.filter(offered_at__lte=until).values_list("principal_id", flat=True),
    }


def answer(application: Any, row: Any, tell: Any) -> None:
    """Close the open request, if there is one, with what was decided: a status, or `counteroffer`."""
    asked = open_request(application) if row.status in _ENDS else None
    if asked is None or not ReviewRequest.objects.filter(pk=asked.pk, answered_at__isnull=True).update(
        answered_at=row.changed_at, answered_by=row.changed_by, outcome=row.status
    ):
        return
    Clock.stop(application.pk, Clock.ANSWERED, now=row.changed_at, kinds=(Clock.REVIEW,))
    tell("review_answered", application, now=row.changed_at, review_request_id=str(asked.pk))
