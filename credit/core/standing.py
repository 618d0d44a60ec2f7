"""Describe the status of an application, its next step, and the party that must act."""

from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext_lazy as _

from credit.core import machine as states

YOU, LENDER, REVIEWER = _("You"), _("The lender"), _("A reviewer who had no part in the decision")


@dataclass(frozen=True)
class Standing:
    """The texts of a status. `who` is the party that must act, or None if the application has ended."""

    words: Any
    next: Any
    who: Any = None

    @property
    def is_due(self) -> bool:
        """Return whether the applicant must take the next step."""
        return self.who is YOU


BY_STATUS = {
    states.DRAFT: Standing(_("Not sent yet"), _("Check the application, then send it to the lender."), YOU),
    states.SUBMITTED: Standing(_("Sent to the lender"), _("The lender will review it."), LENDER),
    states.UNDER_REVIEW: Standing(_("Under review"), _("The lender decides, or requests more from you."), LENDER),
    states.PENDING_DOCUMENTS: Standing(
        _("The lender requests documents"), _("Upload the documents, then send them to the lender."), YOU
    ),
    states.APPROVED: Standing(_("Approved"), _("Accept or decline the terms."), YOU),
    states.REJECTED: Standing(_("Declined"), _("You can request reconsideration by a person.")),
    states.WITHDRAWN: Standing(_("Withdrawn"), _("The application is closed.")),
    states.EXPIRED: Standing(_("Expired"), _("You can apply again.")),
}
ACCEPTED = Standing(_("Approved and accepted"), _("The lender provides the credit under the agreement."), LENDER)
WITHDRAWN_FROM = Standing(_("A borrower withdrew from the contract"), _("Pay back what is due."), YOU)
OFFERED = Standing(_("The lender offers other terms"), _("Accept or decline the terms."), YOU)
CLOSED = Standing(_("Draft closed"), _("The lender never received this draft."))
DECLINED = Standing(_("You declined the offer"), _("The application is closed."))
ASKED_AGAIN = Standing(_("Declined"), _("A reviewer reconsiders the decision."), REVIEWER)


def of_status(status: str) -> Standing:
    """Return the title, the next step, and the actor for a status. The title of an unknown status is the status."""
    return BY_STATUS.get(status) or Standing(status, "")
