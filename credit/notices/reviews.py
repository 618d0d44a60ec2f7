"""Requests for reconsideration. The next decision answers them, made by accounts that did not decide before."""

from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction

from config.core.lifecycle import RecordNotEditable
from credit.models.applications import record_application_event
from credit.models.notices import Clock, ReviewRequest

STATEMENT_MAX = 4_000


def ask(application: Any, *, statement: str, now: datetime) -> ReviewRequest:
    """Keep the consumer's request; the caller holds the lock of the application's row.

    Raises RecordNotEditable if the decision can't be reconsidered, or another request is open.
    """
    if not application.is_reconsiderable:
        raise RecordNotEditable(
            "You can request reconsideration of a rejection, of an open counteroffer, or of an approval for less than "
            "you requested until you accept it."
        )
    try:
        with transaction.atomic():
            clock = Clock.start(application, Clock.REVIEW, now=now)
            made = ReviewRequest.objects.create(
                application=application, statement=statement, requested_at=now, due_at=clock.due_at
            )
    except IntegrityError as error:
        raise RecordNotEditable("A person is looking at it again already.") from error
    record_application_event("review_requested", application, now=now, review_request_id=str(made.pk))
    return made


def close(application: Any, outcome: str, *, by: str, now: datetime) -> None:
    """Close the open request, if there is one, with its answer: the status that was entered, or `counteroffer`."""
    request = application.open_review_request
    if request is None or not ReviewRequest.objects.filter(pk=request.pk, answered_at__isnull=True).update(
        answered_at=now, answered_by=by, outcome=outcome
    ):
        return
    Clock.stop(application.pk, Clock.ANSWERED, now=now, kinds=(Clock.REVIEW,))
    record_application_event("review_answered", application, now=now, review_request_id=str(request.pk))
