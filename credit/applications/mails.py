"""Mail the applicant about the steps of an application: lender, reference, amount, next step, and a link.

A mail about a decision has no reasons, and does not say whether the lender rejected the application.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.db.models import QuerySet
from django.utils import translation
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from config.core.prepared import PreparedSelect
from config.mail.outbox import queue_mail
from credit.applications.lenders import lender_in_words, lender_of
from credit.applications.services import IDLE_DAYS
from credit.core import deadlines, standing
from credit.core import machine as states
from credit.core.applicants import language_of
from credit.core.figures import money, reference_of
from credit.models.notices import EMAIL, Clock, Consent, Notice
from credit.models.terms import LoanTerms

Rows = list[tuple[str, str]]


@dataclass(frozen=True)
class Event:
    """A step that the applicant gets a mail about."""

    title: Any
    next: Any


_DECIDED = _("The lender decided on your application")
SENT = Event(_("Your application was sent to the lender"), standing.BY_STATUS[states.SUBMITTED].next)
UNDER_REVIEW = Event(_("Your application is under review again"), standing.BY_STATUS[states.UNDER_REVIEW].next)
# Titles and messages of lenders can have personal data, so the mail has none.
DOCUMENTS_REQUESTED = Event(
    standing.BY_STATUS[states.PENDING_DOCUMENTS].words,
    _("Log in to see what the lender requests. Upload the documents, then send them to the lender."),
)
DOCUMENTS_SENT = Event(_("Your documents were sent to the lender"), standing.BY_STATUS[states.UNDER_REVIEW].next)
APPROVED = Event(_DECIDED, standing.BY_STATUS[states.APPROVED].next)
OTHER_TERMS_OFFERED = Event(standing.OFFERED.words, standing.OFFERED.next)
DECIDED = Event(_DECIDED, _("Log in to read the decision and its reasons."))
ACCEPTED = Event(_("You accepted the offer"), standing.ACCEPTED.next)
DECLINED = Event(standing.DECLINED.words, standing.DECLINED.next)
WITHDRAWN = Event(_("Your application was withdrawn"), standing.BY_STATUS[states.WITHDRAWN].next)
EXPIRED = Event(_("Your application expired"), standing.BY_STATUS[states.EXPIRED].next)
OTHER_TERMS_DECLINED = Event(_("You declined the counteroffer"), standing.BY_STATUS[states.UNDER_REVIEW].next)
OTHER_TERMS_WITHDRAWN = Event(_("The lender withdrew its counteroffer"), standing.BY_STATUS[states.UNDER_REVIEW].next)
RECONSIDERATION = Event(_("You requested reconsideration"), standing.ASKED_AGAIN.next)
CORRECTION_REQUESTED = Event(_("You reported a wrong value"), _("A reviewer corrects the value, or states why not."))
CORRECTION_ANSWERED = Event(
    _("The lender answered your report of a wrong value"), _("Log in, and open “How the decision is made”.")
)
UPDATE = Event(_("Your application has an update"), _("Log in to see the update."))
_BY_STATUS = {
    states.SUBMITTED: SENT,
    states.UNDER_REVIEW: UNDER_REVIEW,
    states.PENDING_DOCUMENTS: DOCUMENTS_REQUESTED,
    states.APPROVED: APPROVED,
    states.REJECTED: DECIDED,
    states.WITHDRAWN: WITHDRAWN,
    states.EXPIRED: EXPIRED,
}
# The number of days until the lender must notify the applicant, or until the application expires without an answer.
_DAYS = {states.SUBMITTED: Clock.DAYS[Clock.APPLICATION], **IDLE_DAYS}


def event_of(application: Any, row: Any, completes: Any) -> Event | None:
    """Return the event of a transition with the history entry `row`, or None if the applicant gets no mail about it.

    Drafts and the start of a review cause no mail. The mail about the acceptance of a counteroffer replaces the mail
    about the approval.
    """
    before, to, is_own = row.previous_status, row.status, row.principal_id == application.consumer_id
    if to != states.SUBMITTED and before in {None, states.DRAFT}:
        return None
    if (before, to) == (states.SUBMITTED, states.UNDER_REVIEW) or (to == states.APPROVED and completes is not None):
        return None
    if (before, to) == (states.APPROVED, states.WITHDRAWN) and is_own:
        return DECLINED
    if to == states.UNDER_REVIEW and is_own:
        return DOCUMENTS_SENT
    return _BY_STATUS.get(to)


def due_by(status: str, now: datetime) -> datetime | None:
    """Return when the next step after a transition to `status` is due, or None if it has no deadline."""
    return None if (days := _DAYS.get(status)) is None else now + timedelta(days=days)


def mail_event(
    application: Any,
    event: Event,
    *,
    now: datetime,
    by: datetime | None = None,
    rows: Callable[[], Rows] = list,
    notices: QuerySet[Notice] | None = None,
    offered: LoanTerms | None = None,
) -> None:
    """Mail the applicant's confirmed address about an event. `by` is the deadline of the next step.

    `rows` returns further (name, value) pairs in the active language. `notices` selects the notices about the event.
    `offered` has the terms of a counteroffer. If a notice is for the account, applicants who consented to electronic
    notices get the mail about the notice instead.
    """
    if (
        notices is not None
        and EMAIL in settings.NOTICE_CHANNELS
        and Consent.is_given_by(application.consumer_id)
        and notices.filter(Notice.FOR_ACCOUNT).exists()
    ):
        return
    row = _confirmed_address.first(user_id=application.consumer_id)
    if row is None:
        return
    address, chosen = row
    language = chosen or language_of(application.readable_applicants)
    with translation.override(language):
        steps = [*rows(), (gettext("Next step"), str(event.next))]
        if by is not None:
            zone = deadlines.zone_of(application.readable_applicants)
            steps.append((gettext("Deadline"), deadlines.in_words(by, zone)))
        context = {
            "link": f"{settings.APP_URL}/my/applications/{application.pk}",
            "title": str(event.title),
            **facts_of(application, steps, offered=offered),
        }
    queue_mail(address, "application", context, language=language, now=now)


def facts_of(
    application: Any, rows: Sequence[tuple[str, str]] = (), *, offered: LoanTerms | None = None
) -> dict[str, Any]:
    """Return the context of a mail that identifies the application, in the active language. `rows` are appended.

    `offered` has the terms of a counteroffer. If the counteroffered or approved amount differs from the requested
    amount, the context has both amounts.
    """
    lender, reference = lender_in_words(lender_of(application)), reference_of(application.pk)
    terms, requested = offered or application.loan_terms, application.amount_cents
    amounts = [(gettext("Amount"), requested if terms is None else terms.amount_cents)]
    if requested is not None and amounts[0][1] != requested:
        amounts.append((gettext("Requested amount"), requested))
    named = [(name, money(cents, application.shown_currency)) for name, cents in amounts if cents is not None]
    about = [(gettext("Application"), reference), (gettext("Lender"), lender), *named, *rows]
    return {"lender": lender, "reference": reference, "rows": about}


_confirmed_address = PreparedSelect(
    lambda user_id: get_user_model().objects.filter(
        pk=user_id, is_active=True, wants_mail=True, emailaddress__primary=True, emailaddress__verified=True
    )[:1],
    ("emailaddress__email", "language"),
)
