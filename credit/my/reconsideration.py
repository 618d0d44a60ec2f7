"""The section about requests for reconsideration on the application page."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext

from config.core.encryption import readable
from config.core.errors import ValidationFailed
from credit.applications.services import IDLE_DAYS
from credit.core import deadlines, standing
from credit.core import machine as states
from credit.models import Application, ApplicationHistory, Clock, ReviewRequest
from credit.my.words import read_lines, reason_in_words
from credit.notices import services as notices
from credit.notices.services import STATEMENT_MAX
from credit.terms.counteroffers import open_of


def describe(application: Application, moves: Sequence[ApplicationHistory]) -> dict[str, Any]:
    """Return the template context of the section: the requests, newest first, and whether another one is allowed.

    `asked_again` is the open request. `ask_by` is the deadline of a request, or empty for a rejection.
    """
    requests = [*application.review_requests.order_by("-id")] if application.was_decided else []
    zone = timezone.get_current_timezone_name()
    open_request = next((request for request in requests if request.answered_at is None), None)
    may_ask = open_request is None and application.is_reconsiderable
    ends_at = _ends_at(application) if may_ask else None
    return {
        "asked_again": open_request,
        "requests": [_describe_request(request, moves, zone) for request in requests],
        "may_ask_again": may_ask,
        "ask_by": deadlines.in_words(ends_at, zone) if ends_at else "",
        "answer_days": Clock.DAYS[Clock.REVIEW],
    }


def _describe_request(request: ReviewRequest, moves: Sequence[ApplicationHistory], zone: str) -> dict[str, Any]:
    """Return a request with the applicant's reasons, and its result, which is a status or a counteroffer."""
    move = next((move for move in moves if move.changed_at == request.answered_at), None)
    result = standing.OFFERED if request.outcome == states.COUNTEROFFER else standing.of_status(request.outcome)
    return {
        "asked_at": request.requested_at,
        "reasons": readable(lambda: request.statement),
        "due": deadlines.in_words(request.due_at, zone),
        "answered_at": request.answered_at,
        "result": result.words,
        "because": "" if move is None else reason_in_words(move),
    }


def _ends_at(application: Application) -> datetime | None:
    """Return when the decision can no longer be reconsidered, or None for a rejection."""
    if application.status == states.REJECTED:
        return None
    if application.status == states.APPROVED:
        return application.updated_at + timedelta(days=IDLE_DAYS[states.APPROVED])
    offered = open_of(application)
    return None if offered is None else offered.expires_at


def ask_again(request: HttpRequest, application_id: str, actor: Any) -> str:
    statement = read_lines(request.POST.get("statement", ""))
    if not 0 < len(statement) <= STATEMENT_MAX:
        raise ValidationFailed(gettext("Enter your reasons for reconsideration, at most 4,000 characters."))
    notices.request_review(application_id, statement=statement, actor=actor, now=timezone.now())
    return gettext("A reviewer who had no part in the decision will reconsider it.")
