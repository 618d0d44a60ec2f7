"""Update an application's clocks and notices after the application's transitions.

The functions run in the transaction of the transition, which locks the application's row.

# Note [One clock at a time]

A complete submission starts the clock of 12 CFR 1002.9(a)(1)(i). A request for documents does not stop the clock. A
delivered notice of incompleteness stops it, because 1002.9(c)(1)(ii) allows this notice instead of the decision. When
the application returns to review, it is complete again, and a new clock starts. An upload of a document starts no
clock. A delivered notice of a counteroffer stops the clock, and starts the 90 days of (a)(1)(iv). A reopened
application starts no clock, because the earlier deadline still applies. If no clock runs, the 30 days of (a)(1)(ii)
apply to a decision.
"""

from collections.abc import Collection, Iterable
from datetime import datetime, timedelta
from typing import Any

from config.core.lifecycle import Actor, Transition
from config.core.prepared import PreparedGet, PreparedSelect, insert
from credit.core import machine as states
from credit.core.applicants import FIRST
from credit.core.consumer_reports import reports_of
from credit.core.jurisdictions import EU, Conventions
from credit.core.risk_based_pricing import pricing_notice_applicants
from credit.models import Application, Clock, Notice, ReviewRequest
from credit.models import notices as models
from credit.models.applications import record_application_event

# Directive (EU) 2023/2225, Art. 18(9) and 19(6), requires "without delay". The platform uses this number of days.
EU_WITHOUT_DELAY_DAYS = 3
# The reminder is due within this period after the conclusion of the agreement (Art. 10(1)).
REMINDER_FROM, REMINDER_UNTIL = timedelta(days=1), timedelta(days=7)
_SYSTEM = Actor.system("applications")
_ENDS_REVIEW = states.DECIDED | {states.WITHDRAWN, states.EXPIRED}


def begin(application: Any, now: datetime) -> None:
    """Start the clock of an application that was created with a later status than `draft`."""
    Clock.start(application, Clock.APPLICATION, now=now)


def follow(application: Any, row: Any, transition: Transition) -> None:
    """Update clocks and notices after an application's transition. `row` is the transition's history entry."""
    running = _follow(application, row, transition.completes)
    if row.status in _ENDS_REVIEW and (running is None or Clock.REVIEW in running):
        close_review_request(application, row.status, by=row.changed_by, now=row.changed_at)


def close_review_request(application: Any, outcome: str, *, by: str, now: datetime) -> None:
    """Close the open request for reconsideration, if any. `outcome` is a status or `counteroffer`."""
    request = application.open_review_request
    if request is None or not ReviewRequest.objects.filter(pk=request.pk, answered_at__isnull=True).update(
        answered_at=now, answered_by=by, outcome=outcome
    ):
        return
    Clock.stop(application.pk, Clock.ANSWERED, now=now, kinds=(Clock.REVIEW,))
    record_application_event("review_answered", application, now=now, review_request_id=str(request.pk))


def _follow(application: Any, row: Any, completes: Any) -> Collection[str] | None:
    """Start and stop clocks, and create the required notices.

    Returns the kinds of the clocks that ran before, or None if the clocks were not queried.
    """
    before, to, now = row.previous_status, row.status, row.changed_at
    if to == states.SUBMITTED:
        Clock.start(application, Clock.APPLICATION, now=now)
    # After the approval expires, its terms can no longer be accepted.
    if (before, to) == (states.APPROVED, states.EXPIRED):
        Notice.cancel_undelivered(application, now=now, kind=models.PRICING)
    if to == states.SUBMITTED or before == states.DRAFT or (before, to) in _WITHOUT_NOTICE:
        return None
    notices = _not_cancelled.all(application_id=application.pk)
    last = next((notice for notice in notices if notice.applicant is None), None)
    was_notified_of_missing = last is not None and (last.kind, last.status) == (models.INCOMPLETE, models.DELIVERED)
    if to == states.EXPIRED and was_notified_of_missing and _still_lacks(application, last):
        # After a notice of incompleteness, 1002.9(c)(2) sets no further obligation.
        Clock.stop(application.pk, Clock.NOT_COMPLETED, now=now)
        return None
    if to == states.REJECTED and last is not None and _contains_rejection(last, completes):
        return None
    _cancel(notices, now)
    if to == states.WITHDRAWN:
        Clock.stop(application.pk, Clock.WITHDRAWN, now=now)
    elif to == states.APPROVED and completes is not None:
        Clock.stop(application.pk, Clock.TAKEN_UP, now=now)
    elif to in _KIND_OF:
        return create_notices(application, _KIND_OF[to], now=now, move=row)
    elif was_notified_of_missing and not Clock.running(application.pk).exists():
        # The application has returned to review.
        Clock.start(application, Clock.APPLICATION, now=now)
    return None


# These transitions require no notice. An expired approval already had a notice.
_WITHOUT_NOTICE = {(states.SUBMITTED, states.UNDER_REVIEW), (states.APPROVED, states.EXPIRED)}
_KIND_OF = {
    states.APPROVED: models.APPROVAL,
    states.REJECTED: models.ADVERSE_ACTION,
    states.EXPIRED: models.ADVERSE_ACTION,
    states.PENDING_DOCUMENTS: models.INCOMPLETE,
}


# The rows are locked, so that a concurrent delivery either finishes first or sees the cancelled notice.
_not_cancelled = PreparedGet(
    Notice,
    lambda application_id: (
        Notice.objects.select_for_update()
        .filter(application=application_id)
        .exclude(status=models.CANCELLED)
        .order_by("-id")
    ),
    defer=("content", "html"),
)
_running = PreparedSelect(lambda application_id: Clock.running(application_id, Clock.KINDS), ("kind", "due_at"))


def _still_lacks(application: Any, notice: Notice | None) -> bool:
    """Return whether an item from the notice is still missing. Items that were requested later are ignored."""
    made_from = None if notice is None else notice.made_from
    missing = (made_from or {}).get("missing", ())
    return not set(application.missing_titles()).isdisjoint(missing)


def _contains_rejection(last: Notice, offered: Any) -> bool:
    """Return whether the counteroffer's delivered notice already contained the rejection (comment 9(a)(1)-6)."""
    is_its = offered is not None and last.counteroffer_id == offered.pk
    return is_its and offered.with_denial and last.status == models.DELIVERED


def create_notices(application: Any, kind: str, *, now: datetime, **about: Any) -> Collection[str]:
    """Create the required notices about a `move` or a `counteroffer`.

    Return the kinds of the clocks that ran before.
    """
    ran: dict[str, datetime] = dict(_running.rows(application_id=application.pk))
    running = {kind: due_at for kind, due_at in ran.items() if kind in Clock.TO_NOTIFY}
    conventions = Conventions.of(application.offer_snapshot)
    is_soon = conventions.is_eu and kind != models.INCOMPLETE
    soon = now + timedelta(days=EU_WITHOUT_DELAY_DAYS)
    if Clock.ACTION not in running and (is_soon or not running):
        days = EU_WITHOUT_DELAY_DAYS if is_soon else None
        running[Clock.ACTION] = Clock.start(application, Clock.ACTION, now=now, days=days).due_at
    elif is_soon and running[Clock.ACTION] > soon:
        # The clock began with a request for documents, which sets a longer deadline.
        running[Clock.ACTION] = soon
        Clock.running(application.pk, (Clock.ACTION,)).update(due_at=soon)
    members = {
        "application": application,
        "provider_id": application.provider_id,
        "profile": conventions.jurisdiction,
        "due_at": min(running.values()),
        "look_at": now,
        "created_at": now,
        "updated_at": now,
        **about,
    }
    insert(Notice(kind=kind, **members))
    for applicant in _other_applicants(kind, **about):
        insert(Notice(kind=models.ADVERSE_ACTION, applicant=applicant, **members))
    for applicant in _pricing_notice_applicants(application, kind, **about):
        insert(Notice(kind=models.PRICING, applicant=applicant, **members))
    return ran


def create_reminders(application: Application, *, now: datetime) -> None:
    """Create a reminder of the right of withdrawal for each borrower, due 1 to 7 days after the conclusion.

    The reminder is required if the information of Directive (EU) 2023/2225, Art. 10, was provided less than a day
    before the conclusion (Art. 10(1)). Call this function after the acceptance is stored.
    """
    move = application.history.filter(status=states.APPROVED).latest("position")
    for number, _person in enumerate(application.applicants or [None], start=FIRST):
        Notice.objects.create(
            application=application,
            provider_id=application.provider_id,
            move=move,
            kind=models.WITHDRAWAL_REMINDER,
            applicant=None if number == FIRST else number,
            profile=EU,
            due_at=now + REMINDER_UNTIL,
            look_at=now + REMINDER_FROM,
            created_at=now,
            updated_at=now,
        )


def _pricing_notice_applicants(application: Any, kind: str, move: Any = None, counteroffer: Any = None) -> list[int]:
    """Return the applicants who must get a pricing notice: none if they get an adverse action notice."""
    if Conventions.of(application.offer_snapshot).is_eu or kind not in {models.APPROVAL, models.COUNTEROFFER}:
        return []
    if counteroffer is not None and counteroffer.with_denial:
        # 12 CFR 1022.74(b) excludes applicants who get an adverse action notice.
        return []
    if not (reports := reports_of(move.metadata if counteroffer is None else counteroffer.rejection_metadata)):
        return []
    terms = application.loan_terms if counteroffer is None else counteroffer.loan_terms
    return pricing_notice_applicants(application.offer_snapshot, reports, None if terms is None else terms.rate_percent)


def _other_applicants(kind: str, move: Any = None, counteroffer: Any = None) -> list[int]:
    """Return each applicant other than the first whose reports are a basis of the adverse action (15 USC 1681m(a))."""
    if kind == models.ADVERSE_ACTION:
        metadata = move.metadata
    elif counteroffer is not None and counteroffer.with_denial:
        metadata = counteroffer.rejection_metadata
    else:
        return []
    return sorted({report["applicant"] for report in reports_of(metadata)} - {FIRST})


def _cancel(notices: Iterable[Notice], now: datetime) -> None:
    for notice in notices:
        if notice.status in models.UNDELIVERED:
            notice.transition_to(models.CANCELLED, actor=_SYSTEM, now=now)
