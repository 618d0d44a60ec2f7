"""Where an application stands and what happens next, in a person's words."""

from dataclasses import dataclass

from config.core.errors import ApiError, NotFound
from config.core.lifecycle import RecordNotEditable
from credit.applications.errors import InvalidApplicationTransition, NothingToAccept, TermsChanged
from credit.applications.machine import (
    APPROVED,
    DRAFT,
    EXPIRED,
    PENDING_DOCUMENTS,
    REJECTED,
    SUBMITTED,
    UNDER_REVIEW,
    WITHDRAWN,
)
from credit.models import Application
from credit.requirements.errors import RequirementsDue


@dataclass(frozen=True)
class Standing:
    """`is_due` says that the next step is the person's."""

    words: str
    next: str
    is_due: bool = False


BY_STATUS = {
    DRAFT: Standing("Not sent yet", "Send it to the lender when nothing is missing.", is_due=True),
    SUBMITTED: Standing("Sent to the lender", "The lender will look at it."),
    UNDER_REVIEW: Standing("The lender is looking at it", "They decide, or ask you for something."),
    PENDING_DOCUMENTS: Standing("The lender asks for documents", "Hand them in, then send it back.", is_due=True),
    APPROVED: Standing("Approved", "Take up the terms, or let them pass.", is_due=True),
    REJECTED: Standing("Declined", "You can ask for a person to look again."),
    WITHDRAWN: Standing("Withdrawn", "Nothing more happens with it."),
    EXPIRED: Standing("Over, because it waited too long", "You can apply again."),
}
_TAKEN_UP = Standing("Approved and taken up", "The lender pays out by your agreement.")
_OFFERED = Standing("The lender offers other terms", "Take them up or decline them.", is_due=True)


def standing_of(application: Application, *, is_offered: bool) -> Standing:
    """Say where an application stands; `is_offered`: a counteroffer waits for the person's answer."""
    if application.accepted_at is not None:
        return _TAKEN_UP
    return _OFFERED if is_offered else BY_STATUS[application.status]


def said(refusal: ApiError) -> str:
    """Return why something did not happen, as a person reads it: what they saw was perhaps of before."""
    if isinstance(refusal, RequirementsDue):
        return "Something is still missing."
    if isinstance(refusal, TermsChanged):
        return "The terms are others today. Look at them again before you take them up."
    if isinstance(refusal, InvalidApplicationTransition | NothingToAccept | RecordNotEditable | NotFound):
        return "The application has changed meanwhile. Look again at where it stands."
    return str(refusal)
