"""The effects of transitions, in order.

They run in the transaction of the transition. The models don't depend on the effects.
"""

from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import Any

from django.conf import settings

from config.core.lifecycle import Follower, Transition
from credit.anchoring import record_keys
from credit.anchoring.records import decision_record
from credit.applications import mails
from credit.applications.services import consent_to_sharing, pin_at_submission
from credit.core.machine import APPROVED, DECIDED, DRAFT, PENDING_DOCUMENTS, SUBMITTED, UNDER_REVIEW
from credit.models.applications import record_application_event
from credit.models.notices import Notice
from credit.models.scoring import PUBLISHED
from credit.models.terms import Counteroffer
from credit.notices import clocks
from credit.review.services import audit_decision
from credit.scoring.scores import score_submission
from credit.terms import loans


def _at(act: Callable[..., None]) -> Callable[[Any, Any, Transition], None]:
    """Return a function for `Follower` that calls `act` with the application and the transition's time."""
    return lambda application, row, _transition: act(application, now=row.changed_at)


def _consent(application: Any, row: Any, _transition: Transition) -> None:
    if row.previous_status == DRAFT:
        consent_to_sharing(application, row.changed_at)


def _supersede(application: Any, row: Any, _transition: Transition) -> None:
    if row.previous_status == UNDER_REVIEW:
        Counteroffer.supersede_open(application, by=row.principal, now=row.changed_at)


def _anchor(application: Any, row: Any, transition: Transition) -> None:
    is_decision = row.status in DECIDED or row.previous_status in DECIDED
    if is_decision and settings.ANCHOR_DECISIONS:
        record = decision_record(application, row, transition.completes)
        about = {"history": row, "application": application}
        record_keys.queue(record.text, openings=record.openings, now=row.changed_at, **about)


def _audit(application: Any, row: Any, transition: Transition) -> None:
    audit_decision("made", application, row.status, transition.actor)


def _emit(application: Any, row: Any, _transition: Transition) -> None:
    record_application_event(row.status, application, now=row.changed_at)


def _mail(application: Any, row: Any, transition: Transition) -> None:
    event, now = mails.event_of(application, row, transition.completes), row.changed_at
    if event is not None:
        by = mails.due_by(row.status, now)
        if row.status == APPROVED and by is not None and application.loan_terms is not None:
            by = min(by, loans.starts_by(application.loan_terms) or by)
        mails.mail_event(application, event, now=now, by=by, notices=Notice.objects.filter(move=row))


def _mail_creation(application: Any, now: datetime) -> None:
    mails.mail_event(application, mails.SENT, now=now, by=mails.due_by(SUBMITTED, now))


def _anchor_publication(version: Any, row: Any, _transition: Transition) -> None:
    if settings.ANCHOR_DECISIONS:
        record_keys.queue(version.publication_record(row), now=row.changed_at, publication=row)


OF_APPLICATIONS = (
    Follower(to=(SUBMITTED, UNDER_REVIEW, PENDING_DOCUMENTS), created=clocks.begin),
    Follower(to=(SUBMITTED,), before=pin_at_submission),
    Follower(to=(SUBMITTED,), after=_at(score_submission), created=score_submission),
    Follower(to=(SUBMITTED,), after=_consent, created=consent_to_sharing),
    Follower(after=_supersede),
    Follower(to=(APPROVED,), before=loans.name_terms, after=loans.save_named_terms),
    Follower(to=(*DECIDED, UNDER_REVIEW), after=_anchor),
    Follower(to=DECIDED, after=_audit),
    # This call also closes requests for reconsideration.
    Follower(after=clocks.follow),
    Follower(after=_emit, created=partial(record_application_event, "created")),
    Follower(after=_mail),
    Follower(to=(SUBMITTED,), created=_mail_creation),
)
OF_MODEL_VERSIONS = (Follower(to=(PUBLISHED,), after=_anchor_publication),)
