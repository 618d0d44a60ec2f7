"""Make, accept, decline, withdraw, and expire counteroffers.

Creating or closing a counteroffer locks the application's row, and increments `counteroffer_moves`. A transition out of
`under_review` fails if `counteroffer_moves` has changed since the row was read. If an acceptance, an expiry, a
withdrawal, and a decision are concurrent, only the first of them succeeds.
"""

from collections import Counter
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef

from config.core.errors import NotFound, ValidationFailed
from config.core.ids import get_by_uuid
from config.core.json_text import rfc3339
from config.core.lifecycle import Actor, RecordNotEditable
from config.ops.failed_items import FailedItems
from credit.applications import mails
from credit.applications.services import load_visible, lock_own
from credit.core.errors import CounterofferOpen, NothingToAccept, require_specific
from credit.core.machine import APPROVED, COUNTEROFFER, REJECTED, UNDER_REVIEW
from credit.core.reasons import COUNTEROFFER_ACCEPTED_TEXT, in_words, named_reasons
from credit.models import Application, Counteroffer, LoanTerms, Notice, ReviewRequest
from credit.models.applications import record_application_event
from credit.models.terms import loan_to_dict
from credit.notices import clocks
from credit.terms.loans import MEMBERS, compute, loan_of, starts_by

OPEN_MAX_DAYS = 90
_LEASE = timedelta(minutes=1)


def open_of(application: Application) -> Counteroffer | None:
    """Return the open counteroffer, even after its deadline, or None. Costs no query without counteroffers."""
    if not application.counteroffer_moves or application.status != UNDER_REVIEW:
        return None
    return application.counteroffers.filter(closed_at__isnull=True).select_related("loan_terms").first()


def acceptable_of(application: Application, *, now: datetime) -> Counteroffer | None:
    """Return the open counteroffer if its deadline has not passed and the data is unchanged, or None."""
    offered = open_of(application)
    is_so = offered is not None and offered.expires_at > now and offered.seen == application.reviewed_state
    return offered if is_so else None


def check_offer(application: Application, metadata: Any, *, now: datetime) -> tuple[LoanTerms, dict[str, Any]]:
    """Validate a counteroffer. Return the counteroffer's unsaved terms, and the metadata with all values.

    A proposal stores this metadata: `{terms, reasons, expires_at, with_denial, consumer_report}`. Raises
    CounterofferOpen, ReasonsRequired, ValidationFailed, TermsRequired, or TermsOutsideOffer.
    """
    if open_of(application) is not None:
        raise CounterofferOpen
    members = metadata if isinstance(metadata, dict) else {}
    named_terms = members.get("terms")
    if named_terms is None or (isinstance(named_terms, dict) and all(value is None for value in named_terms.values())):
        raise ValidationFailed.of_member("terms", f"Must contain at least one of {', '.join(MEMBERS)}.")
    loan = loan_of(application, named_terms, where="terms")
    assert loan is not None  # noqa: S101  because `loan_of` returns the terms or raises an error
    terms = compute(application, loan, kind=LoanTerms.COUNTEROFFER, now=now, where="terms")
    reasons, reports = named_reasons(members), application.reports_in(members, COUNTEROFFER)
    require_specific(reasons, has_report=bool(reports), member="reasons")
    application.check_incomplete(reasons)
    expires_at = datetime.fromisoformat(members["expires_at"])
    latest = now.date() + timedelta(days=OPEN_MAX_DAYS)
    if not now.date() < expires_at.date() <= latest:
        message = f"Must be after {now.date()} (today, UTC) and not after {latest}."
        raise ValidationFailed.of_member("expires_at", message)
    if (end := starts_by(loan)) is not None and expires_at > end:
        message = f"Must not be after {rfc3339(end)}: the first payment is due that day."
        raise ValidationFailed.of_member("expires_at", message)
    extra = {"with_denial": bool(members.get("with_denial")), "consumer_report": reports or None}
    return terms, {"terms": loan_to_dict(loan), "reasons": reasons, "expires_at": rfc3339(expires_at), **extra}


def make(
    application: Application,
    metadata: dict[str, Any],
    *,
    actor: Actor,
    changed_by: str | None,
    now: datetime,
    **columns: Any,
) -> Counteroffer:
    """Create the counteroffer in `metadata`. The status doesn't change. Raises the errors of `check_offer`."""
    terms, bound = check_offer(application, metadata, now=now)
    offered_by = actor.name if changed_by is None else changed_by
    clocks.close_review_request(application, COUNTEROFFER, by=offered_by, now=now)
    _count(application, now)
    terms.save(force_insert=True)
    offered = Counteroffer.objects.create(
        application=application,
        loan_terms=terms,
        reasons=bound["reasons"],
        with_denial=bound["with_denial"],
        consumer_report=bound["consumer_report"],
        expires_at=datetime.fromisoformat(bound["expires_at"]),
        offered_at=now,
        offered_by=offered_by,
        seen=application.reviewed_state,
        four_eyes=metadata.get("four_eyes"),
        principal=actor.user,
        credential=actor.credential,
        **columns,
    )
    Notice.cancel_undelivered(application, now=now)
    clocks.create_notices(application, COUNTEROFFER, now=now, counteroffer=offered)
    record_application_event("counteroffered", application, now=now, counteroffer_id=str(offered.pk))
    by = min(offered.expires_at, starts_by(terms) or offered.expires_at)
    notices = Notice.objects.filter(counteroffer=offered)
    mails.mail_event(application, mails.OTHER_TERMS_OFFERED, now=now, by=by, notices=notices, offered=terms)
    return offered


def approve_offered(
    application: Application, offered: Counteroffer, terms: LoanTerms, *, actor: Actor, now: datetime
) -> None:
    """Approve an application on the terms of a counteroffer. Raises NothingToAccept if the counteroffer is closed."""
    if not offered.close(Counteroffer.ACCEPTED, by=actor.user, now=now):
        raise NothingToAccept
    reason = COUNTEROFFER_ACCEPTED_TEXT
    _complete(application, offered, APPROVED, actor, now, reason=reason, loan_terms_id=terms.pk)


def decline(application_id: str, counteroffer_id: str, *, actor: Actor, now: datetime) -> Counteroffer:
    """Decline a counteroffer as the applicant. The application remains under review.

    Raises ApplicationNotFound, NotFound, or RecordNotEditable.
    """
    with transaction.atomic(savepoint=False):
        application = lock_own(application_id, actor.user)
        return _end(application, counteroffer_id, Counteroffer.DECLINED, actor, now)


def withdraw(application_id: str, counteroffer_id: str, *, actor: Actor, now: datetime) -> Counteroffer:
    """Withdraw a counteroffer as a reviewer. Raises NotFound, RecordNotEditable, and the errors of a decision."""
    application = load_visible(application_id, actor)
    with transaction.atomic(savepoint=False):
        application = Application.objects.select_for_update().get(pk=application.pk)
        if refusal := application.check_transition(COUNTEROFFER, actor):
            raise refusal
        return _end(application, counteroffer_id, Counteroffer.WITHDRAWN, actor, now)


def expire(*, now: datetime) -> int:
    """Reject the applications whose counteroffers were not accepted by the deadline. Return the number of rejections.

    Each application has its own transaction, which reads the row again. So concurrent acceptances, transitions, and
    reopenings take precedence.
    """
    actor, ended = Actor.system("expire_applications"), Counter[bool]()
    requests = ReviewRequest.objects.filter(application=OuterRef("application"), answered_at__isnull=True)
    # Applications with an open request for reconsideration are not rejected, because a reviewer must answer first.
    overdue = Counteroffer.objects.filter(~Exists(requests), closed_at__isnull=True, expires_at__lte=now).order_by("id")
    items = FailedItems("counteroffer", overdue, lease=_LEASE)
    items.process(lambda offered: ended.update([_expire(offered, actor, now)]), now=now)
    return ended[True]


def _expire(offered: Counteroffer, actor: Actor, now: datetime) -> bool:
    with transaction.atomic():
        application = Application.objects.select_for_update().get(pk=offered.application_id)
        if application.status != UNDER_REVIEW:
            return False
        if offered.seen != application.reviewed_state:
            # In version 1.0, a change of the data did not close a counteroffer. No reviewer has decided on the changed
            # data.
            if offered.close(Counteroffer.SUPERSEDED, by=None, now=now):
                _count(application, now)
                Notice.end_counteroffer(application, now=now)
            return False
        if not offered.close(Counteroffer.EXPIRED, by=None, now=now):
            return False
        record_application_event("counteroffer_expired", application, now=now, counteroffer_id=str(offered.pk))
        _complete(application, offered, REJECTED, actor, now, reason=in_words(offered.reasons))
    return True


def _complete(
    application: Application,
    offered: Counteroffer,
    to: str,
    actor: Actor,
    now: datetime,
    *,
    reason: str | None,
    **columns: Any,
) -> None:
    """Make the transition that the lender decided for an accepted or expired counteroffer."""
    metadata = {"counteroffer": offered.to_record(), **(offered.rejection_metadata if to == REJECTED else {})}
    counted = {"counteroffer_moves": application.counteroffer_moves + 1, "reviewed_by": offered.offered_by}
    changes = {**counted, **columns}
    application.transition_to(
        to, actor=actor, now=now, reason=reason, metadata=metadata, changes=changes, completes=offered
    )


def _end(application: Application, counteroffer_id: str, outcome: str, actor: Actor, now: datetime) -> Counteroffer:
    rows = application.counteroffers.select_related("loan_terms")
    offered: Counteroffer = get_by_uuid(rows, counteroffer_id, NotFound)
    if not offered.close(outcome, by=actor.user, now=now):
        raise RecordNotEditable("The counteroffer is already closed.")
    _count(application, now)
    Notice.end_counteroffer(application, now=now)
    if outcome == Counteroffer.DECLINED:
        record_application_event("counteroffer_declined", application, now=now, counteroffer_id=str(offered.pk))
    is_declined = outcome == Counteroffer.DECLINED
    mails.mail_event(application, mails.OTHER_TERMS_DECLINED if is_declined else mails.OTHER_TERMS_WITHDRAWN, now=now)
    offered.refresh_from_db(fields=["outcome", "closed_at", "expires_at"])
    return offered


def _count(application: Application, now: datetime) -> None:
    """Increment `counteroffer_moves`. Raises RecordNotEditable after a concurrent change."""
    as_read = {"status": UNDER_REVIEW, "counteroffer_moves": application.counteroffer_moves}
    application.counteroffer_moves += 1
    application.updated_at = max(now, application.updated_at)
    changes = {"counteroffer_moves": application.counteroffer_moves, "updated_at": application.updated_at}
    if not Application.objects.filter(pk=application.pk, **as_read).update(**changes):
        raise RecordNotEditable
