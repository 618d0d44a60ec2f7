"""The history on an application's page: transitions, counteroffers, and requests for reconsideration."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from config.core.encryption import readable
from credit.applications.services import IDLE_DAYS
from credit.core import deadlines, standing
from credit.core import machine as states
from credit.core.standing import OFFERED, of_status
from credit.models import Application, ApplicationHistory, Clock, Counteroffer, ReviewRequest
from credit.my.words import reason_in_words
from credit.terms.counteroffers import open_of

# The history has other entries for accepted and superseded counteroffers: a transition, or the next counteroffer.
_ENDED = {
    Counteroffer.DECLINED: _("You declined the other terms"),
    Counteroffer.WITHDRAWN: _("The lender withdrew the other terms"),
    Counteroffer.EXPIRED: _("The other terms expired"),
}


def events_of(
    application: Application, moves: Iterable[ApplicationHistory], requests: Iterable[Mapping[str, Any]]
) -> list[tuple[str, str, str]]:
    """Return the words, the time, and the reason of each event, newest first.

    `requests` are the requests for reconsideration. Another section has their reasons and answers.
    """
    zone = timezone.get_current_timezone_name()
    events = [(move.changed_at, str(of_status(move.status).words), reason_in_words(move)) for move in moves]
    events += _counteroffers(application)
    events += [(request["asked_at"], gettext("You requested reconsideration"), "") for request in requests]
    newest_first = sorted(events, key=lambda event: event[0], reverse=True)
    return [(words, deadlines.in_words(moment, zone), why) for moment, words, why in newest_first]


def _counteroffers(application: Application) -> Iterator[tuple[datetime, str, str]]:
    if not application.counteroffer_moves:
        return
    for offered in application.counteroffers.all():
        yield offered.offered_at, str(OFFERED.words), ""
        if offered.closed_at is not None and offered.outcome in _ENDED:
            yield offered.closed_at, str(_ENDED[offered.outcome]), ""


def reconsideration_of(application: Application, moves: Sequence[ApplicationHistory]) -> dict[str, Any]:
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
