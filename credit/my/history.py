"""The next step and the history on an application's page: transitions, counteroffers, and reconsideration."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from config.core.encryption import readable
from credit.applications.services import IDLE_DAYS
from credit.core import deadlines, standing
from credit.core import machine as states
from credit.core.figures import date_in_words, money
from credit.core.loan_words import in_words
from credit.core.standing import LENDER, OFFERED, YOU, Standing, of_status
from credit.core.translations import Text
from credit.models import Application, ApplicationHistory, Clock, Counteroffer, Notice, ReviewRequest
from credit.models.notices import CANCELLED
from credit.my.words import reason_in_words
from credit.terms.acceptance import Acceptable
from credit.terms.counteroffers import open_of

_NOTICE_OF_OTHER = _(
    "The lender has to send the other applicant a notice about their credit report. You can accept once this notice is "
    "delivered."
)
_IS_INCOMPLETE = _("Complete and check the application, then send it to the lender.")
_DOCUMENTS_ARE_READY = _("Send the documents to the lender.")
_DECIDES_AGAIN = _("The day of the first payment has passed. The lender must decide again.")


def next_step_of(
    application: Application,
    standing: Standing,
    terms: Acceptable,
    *,
    pricing: Any,
    page: dict[str, Any],
    now: datetime,
) -> list[tuple[str, str]]:
    """Return the (name, value) rows of the section about the next step.

    `pricing` is the pricing notice that delays the acceptance, or None. `page` has the deadlines of other sections, and
    the missing data of a draft.
    """
    standing = _standing_now(application, standing, terms, pricing=pricing, page=page)
    rows = [
        (gettext("Next step"), standing.next),
        (gettext("Who acts"), standing.who),
        (gettext("Deadline"), _deadline(application, standing, terms, page, now)),
        _next_payment(application, terms, now),
    ]
    return [(name, str(value)) for name, value in rows if value]


def _standing_now(
    application: Application, standing: Standing, terms: Acceptable, *, pricing: Any, page: dict[str, Any]
) -> Standing:
    """Return the texts of the status.

    The texts depend on missing data, on missing documents, and on a blocked acceptance. They also depend on whether the
    applicant can request reconsideration.
    """
    if application.status == states.DRAFT and page["due"]:
        return replace(standing, next=_IS_INCOMPLETE)
    if application.status == states.PENDING_DOCUMENTS and page["documents"] and not page["missing"]:
        return replace(standing, next=_DOCUMENTS_ARE_READY)
    if application.status == states.REJECTED and page["may_ask_again"]:
        return replace(standing, who=YOU)
    if application.status != states.APPROVED or application.accepted_at is not None:
        return standing
    if not terms.acceptable:
        return replace(standing, next=_DECIDES_AGAIN, who=LENDER)
    is_of_other = pricing is not None and pricing["applicant"] != 1
    return replace(standing, next=_NOTICE_OF_OTHER, who=LENDER) if is_of_other else standing


def _deadline(
    application: Application, standing: Standing, terms: Acceptable, page: dict[str, Any], now: datetime
) -> str:
    """Return the deadline of the next step in words, or "" if it has none."""
    zone = timezone.get_current_timezone_name()
    if page["asked_again"] is not None and standing.who is not YOU:
        return _until(page["asked_again"].due_at, zone, now)
    if application.accepted_at is not None:
        declared = application.contract_withdrawal if application.withdrawn_from_at else None
        return gettext("The lender sets the day.") if declared is None else date_in_words(declared.repay_by)
    if application.status == states.REJECTED:
        return gettext("The request has no deadline.") if standing.who is YOU else ""
    if terms.acceptable and terms.expires_at is not None:
        return deadlines.in_words(terms.expires_at, zone)
    if standing.who is LENDER and application.status in states.IN_REVIEW:
        due_at = Clock.running(application.pk).order_by("due_at").values_list("due_at", flat=True).first()
        usual = gettext("Usually within %s days after the application was sent") % Clock.DAYS[Clock.APPLICATION]
        return usual if due_at is None else _until(due_at, zone, now)
    return str(page["due_by"])


def _until(moment: datetime, zone: str, now: datetime) -> str:
    words = deadlines.in_words(moment, zone)
    return words if moment > now else gettext("%s. This date has passed: contact the lender.") % words


def _next_payment(application: Application, terms: Acceptable, now: datetime) -> tuple[str, str]:
    """Return the row of the first or next payment of an accepted loan.

    If no payment follows, the title and the value are empty.
    """
    today, schedule = timezone.localdate(now), terms.schedule or []
    ahead = [payment for payment in schedule if payment.due_on >= today]
    if application.accepted_at is None or application.withdrawn_from_at is not None or not ahead:
        return "", ""
    figures = {"amount": money(ahead[0].payment_cents, application.shown_currency)}
    title = gettext("First payment") if len(ahead) == len(schedule) else gettext("Next payment")
    return title, gettext("%(amount)s on %(day)s") % {**figures, "day": date_in_words(ahead[0].due_on)}


# The history has other entries for accepted and superseded counteroffers: a transition, or the next counteroffer.
_ENDED = {
    Counteroffer.DECLINED: _("You declined the counteroffer"),
    Counteroffer.WITHDRAWN: _("The lender withdrew the counteroffer"),
    Counteroffer.EXPIRED: _("The counteroffer expired"),
}


def events_of(
    application: Application, moves: Iterable[ApplicationHistory], requests: Iterable[Mapping[str, Any]]
) -> list[tuple[str, str, str, bool]]:
    """Return the words, time, and reason of each event, newest first, and whether the lender wrote the reason.

    `requests` are the requests for reconsideration. Another section of the page has the reasons and answers of these
    requests.
    """
    zone = timezone.get_current_timezone_name()
    events = [(move.changed_at, _words_of(move), reason_in_words(move)) for move in moves]
    events += _counteroffers(application)
    events += [(request["asked_at"], gettext("You requested reconsideration"), "") for request in requests]
    newest_first = sorted(events, key=lambda event: event[0], reverse=True)
    return [
        (words, deadlines.in_words(moment, zone), why, isinstance(why, Text)) for moment, words, why in newest_first
    ]


def _words_of(move: ApplicationHistory) -> str:
    is_closed_draft = (move.previous_status, move.status) == (states.DRAFT, states.WITHDRAWN)
    return str((standing.CLOSED if is_closed_draft else of_status(move.status)).words)


def _counteroffers(application: Application) -> Iterator[tuple[datetime, str, str]]:
    if not application.counteroffer_moves:
        return
    for offered in application.counteroffers.select_related("loan_terms__application"):
        yield offered.offered_at, str(OFFERED.words), in_words(offered.terms)
        if offered.closed_at is not None and offered.outcome in _ENDED:
            yield offered.closed_at, str(_ENDED[offered.outcome]), ""


def notices_of(application: Application, *, now: datetime) -> list[dict[str, Any]]:
    """Return the notices that the applicant can read, oldest first.

    Later events end the effect of a notice, but the applicant can still read the notice.
    """
    rows = Notice.readable_by(application.consumer, application).filter(html__isnull=False).exclude(sha256="")
    return [
        {
            "pk": notice.pk,
            "kind": notice.kind,
            "made_at": notice.made_at,
            "is_cancelled": notice.status == CANCELLED,
            "end": end_of_notice(notice, application, now=now),
        }
        for notice in rows.defer("content", "html").select_related("counteroffer", "move")
    ]


def end_of_notice(notice: Notice, application: Application, *, now: datetime) -> str:
    """Return the reason why a notice is not in effect now, or "" if the notice is in effect.

    The notice of a counteroffer can contain a rejection, which remains in effect. So the returned reason is only about
    the end of the counteroffer.
    """
    offered, move = notice.counteroffer, notice.move
    if offered is None:
        is_over = move is not None and move.position != application.moves
        return gettext("This notice is no longer in effect.") if is_over else ""
    is_accepted = offered.outcome == Counteroffer.ACCEPTED and application.status == states.APPROVED
    is_open = offered.closed_at is None and offered.expires_at > now
    return "" if is_accepted or is_open else gettext("The offer in this notice has ended.")


def reconsideration_of(application: Application, moves: Sequence[ApplicationHistory]) -> dict[str, Any]:
    """Return the context: the requests for reconsideration, newest first, and whether another request is allowed.

    `asked_again` is the open request. `ask_by` is the deadline for another request. A rejection has no deadline, so
    `ask_by` is empty.
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
