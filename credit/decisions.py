"""Changing an application's status for a caller; under `four_eyes` two reviewers approve or reject together."""

from datetime import datetime
from typing import Any

from django.conf import settings

from config.backoffice.models import Proposal
from config.backoffice.proposals import confirmed_metadata, open_proposal, propose
from config.core.errors import ApiError, NotFound
from config.core.lifecycle import Actor
from credit.applications import load_visible
from credit.errors import ApplicationNotFound, InvalidApplicationTransition
from credit.machine import DECIDED, REJECTED
from credit.models import Application
from credit.reasons import in_words, reasons_of


def takes_two(to: str) -> bool:
    """Say whether this transition is proposed by one reviewer and confirmed by another."""
    return to in DECIDED and settings.REVIEW_POLICY == "four_eyes"


def pending_decision(application: Application) -> Proposal | None:
    """Return the decision that waits for its second reviewer; one about what the application no longer is counts not.

    Costs no statement under the policies that know no such thing.
    """
    if settings.REVIEW_POLICY != "four_eyes":
        return None
    proposal = open_proposal(application)
    return proposal if proposal is not None and proposal.seen == application.reviewed_state else None


def check_against(pending: Proposal | None, application: Application, to: str) -> ApiError | None:
    """Return the error of deciding otherwise than what waits already, None when nothing stands in the way."""
    if pending is None or not takes_two(to) or pending.to == to:
        return None
    return InvalidApplicationTransition(
        f"'{pending.to}' has been proposed for application {application.pk}: confirm it or decline it first.",
        details={"from": application.status, "to": to, "allowed": [pending.to]},
    )


def change_status(
    application_id: str, to: str, *, actor: Actor, changed_by: str, reason: str | None, metadata: Any, now: datetime
) -> tuple[Application, Proposal | None]:
    """Move an application; return it, and the decision that now waits for a second reviewer instead.

    A rejection without a reason for the person has its principal reasons in words. Raises ApplicationNotFound,
    InvalidApplicationTransition, ReasonsRequired, ReviewerRequired or SecondFactorRequired.
    """
    application = load_visible(application_id, actor.user)
    if actor.limited and application.consumer_id != actor.user.pk:
        raise ApplicationNotFound
    if to == REJECTED and reason is None:
        reason = in_words(reasons_of(metadata))
    if takes_two(to):
        # Locked, so that the data which was proposed about is the data which is decided about.
        application = Application.objects.select_for_update().get(pk=application.pk)
        pending = pending_decision(application)
        if refusal := application.check_transition(to, actor) or check_against(pending, application, to):
            raise refusal
        if pending is not None and pending.proposed_by_id == actor.user.pk:
            return application, pending
        # One that somebody has ended a moment ago is none.
        if pending is None or not pending.close(Proposal.CONFIRMED, by=actor.user, now=now):
            given = {"reason": reason, "metadata": metadata}
            application.require_reasons(to, **given)
            return application, propose(application, to, seen=application.reviewed_state, by=actor, now=now, **given)
        reason = pending.reason if reason is None else reason
        metadata = confirmed_metadata(pending, by=actor.user, metadata=metadata)
    application.transition_to(to, actor=actor, changed_by=changed_by, now=now, reason=reason, metadata=metadata)
    return application, None


def end_pending_decision(application_id: str, *, actor: Actor, now: datetime) -> None:
    """Take back a proposed decision, or decline somebody else's; nothing is decided.

    Raises ApplicationNotFound, ReviewerRequired, SecondFactorRequired, or NotFound when no decision waits.
    """
    application = load_visible(application_id, actor.user)
    if refusal := application.check_reviewer(actor):
        raise refusal
    proposal = open_proposal(application)
    if proposal is not None:
        is_own = proposal.proposed_by_id == actor.user.pk
        if proposal.close(Proposal.WITHDRAWN if is_own else Proposal.DECLINED, by=actor.user, now=now):
            return
    raise NotFound("No decision about this application waits for a second reviewer.")
