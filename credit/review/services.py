"""Make decisions about applications, for the API, the back office, and the worker.

Under `four_eyes`, an approval or a rejection requires two reviewers. The first reviewer proposes the decision, and the
second reviewer confirms it. A proposal is valid only for the state of the application that the reviewer saw
(`Application.reviewed_state`). The application's row is locked while a proposal is created, confirmed, or ended.
"""

from datetime import datetime
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import IntegrityError, transaction
from django.db.models.signals import m2m_changed, post_delete, post_save
from django.utils import timezone

from config.core import audit
from config.core.errors import ApiError, NotFound
from config.core.lifecycle import Actor, audit_actor
from credit.applications.services import load_for, load_visible
from credit.core.card import REFER
from credit.core.errors import AlreadyProposed, InvalidApplicationTransition, no_deciding_scope
from credit.core.machine import APPROVED, COUNTEROFFER, JUDGEMENTS, REJECTED, WITHDRAWN
from credit.core.reasons import DECLINED_TEXT, in_words, reasons_of, warning_of
from credit.models import Application, LoanTerms, Proposal, ProviderMember
from credit.models.review import RETURN_REASON, as_members
from credit.models.terms import loan_to_dict
from credit.review.report_ids import with_reports
from credit.terms import counteroffers
from credit.terms.loans import compute, loan_of


def takes_two(to: str, actor: Actor | None = None) -> bool:
    """Return whether the transition requires a proposal and the confirmation of another reviewer.

    Under four-eyes approval, a score can approve without a confirmation, but its rejection requires a reviewer's
    confirmation.
    """
    by_score = actor is not None and actor.is_model
    return settings.REVIEW_POLICY == "four_eyes" and to in JUDGEMENTS and not (by_score and to == APPROVED)


def open_proposal(application: Application) -> Proposal | None:
    """Return the open proposal, which may be void, or None."""
    return application.proposals.select_related("proposed_by").filter(closed_at__isnull=True).first()


def pending_decision(application: Application) -> Proposal | None:
    """Return the proposal that waits for a second reviewer, or None. Void proposals are ignored.

    The function queries the database only under `four_eyes`.
    """
    if settings.REVIEW_POLICY != "four_eyes":
        return None
    proposal = open_proposal(application)
    return proposal if proposal is not None and proposal.counts_for(application) else None


def check_against(pending: Proposal | None, application: Application, to: str, fixed: Any = None) -> ApiError | None:
    """Return an error if the decision `to` differs from the pending proposal in status or in the metadata `fixed`."""
    if pending is None or not takes_two(to):
        return None
    kept = as_members(pending.metadata)
    is_same = all(kept.get(name) == value for name, value in (fixed or {}).items())
    if pending.to == to and is_same:
        return None
    allowed = [status for status in application.requestable() if status == pending.to or status not in JUDGEMENTS]
    return InvalidApplicationTransition(
        f"Application {application.pk} has a proposed decision: `{pending.to}`. Confirm or decline it first.",
        details={"from": application.status, "to": to, "allowed": allowed},
    )


def decide(
    application: Application,
    to: str,
    *,
    actor: Actor,
    now: datetime,
    changed_by: str | None = None,
    reason: str | None = None,
    metadata: Any = None,
) -> Proposal | None:
    """Make a transition or a counteroffer. Under four-eyes approval, propose it, or confirm an equal proposal.

    Returns the proposal that now waits for a second reviewer, or None after a transition or counteroffer. Under
    four-eyes approval, the caller must have locked the application's row. Raises AlreadyProposed,
    InvalidApplicationTransition, ReasonsRequired, ReviewerRequired, SecondFactorRequired, and the errors of
    `with_reports`.
    """
    # A confirmation without metadata uses the metadata of the proposal.
    if metadata is not None or not takes_two(to, actor):
        metadata = with_reports(application, to, metadata)
    if takes_two(to, actor):
        pending = pending_decision(application)
        if pending is None:
            return propose(application, to, actor=actor, now=now, reason=reason, metadata=metadata)
        _check_proposer(application, to, actor)
        is_same = metadata is None or (to == APPROVED and "terms" not in as_members(metadata))
        fixed = {} if is_same or pending.to != to else _fixed_metadata(application, to, metadata, now)
        if refusal := check_against(pending, application, to, fixed):
            raise refusal
        if pending.is_by(actor):
            return pending
        reason = pending.reason if reason is None else reason
        metadata = close_confirmed(pending, application, actor=actor, now=now, metadata=metadata)
    if to == COUNTEROFFER:
        if refusal := application.check_transition(to, actor):
            raise refusal
        counteroffers.make(application, metadata, actor=actor, changed_by=changed_by, now=now)
        return None
    application.transition_to(to, actor=actor, changed_by=changed_by, now=now, reason=reason, metadata=metadata)
    return None


def close_confirmed(
    pending: Proposal, application: Application, *, actor: Actor, now: datetime, metadata: Any = None
) -> dict[str, Any]:
    """Close a proposal as confirmed, and return the metadata of the decision, with both reviewers."""
    pending.close(Proposal.CONFIRMED, by=actor.user, now=now)
    audit_decision("confirmed", application, pending.to, actor)
    return pending.confirmed_metadata(by=actor.user, metadata=metadata)


def _fixed_metadata(application: Application, to: str, metadata: Any, now: datetime) -> dict[str, Any]:
    """Return the metadata that a confirmation must not change: the loan terms, and all values of a counteroffer.

    Raises the errors of the decision.
    """
    if to == COUNTEROFFER:
        return counteroffers.check_offer(application, metadata, now=now)[1]
    loan = loan_of(application, as_members(metadata).get("terms")) if to == APPROVED else None
    if loan is None:
        return {}
    compute(application, loan, kind=LoanTerms.APPROVAL, now=now)
    return {"terms": loan_to_dict(loan)}


def warning_about(application: Application, pending: Proposal | None = None) -> str:
    """Return a warning if the rejection or proposed rejection states none of the score's reasons, otherwise ""."""
    if (pending.to if pending is not None else application.status) != REJECTED:
        return ""
    score = application.decision_score
    if score is None or score.outcome != REFER:
        return ""
    last: Any = application.history.order_by("-position").first() if pending is None else pending
    return warning_of(application.score_reasons_left_out(reasons_of(last and last.metadata)))


def audit_decision(verb: str, application: Application, to: str, actor: Actor) -> None:
    """Record in the audit log that a decision was made, proposed, or confirmed (`verb`)."""
    audit.emit(
        f"decision.{verb}",
        actor=audit_actor(actor),
        entity=audit.entity(application._meta.label_lower, application.pk),
        unmapped={"status": to, "subject": application.consumer_id, "provider": str(application.provider_id)},
    )


def _check_proposer(application: Application, to: str, actor: Actor) -> None:
    # A score can propose decisions that require a reviewer.
    if refusal := application.check_creditor(to) if actor.is_model else application.check_transition(to, actor):
        raise refusal


def propose(
    application: Application, to: str, *, actor: Actor, now: datetime, reason: str | None, metadata: Any
) -> Proposal:
    """Store a proposal for the confirmation by another reviewer. The new proposal replaces a void proposal.

    The caller must check that no proposal is pending. Raises AlreadyProposed, and the errors of `decide`.
    """
    _check_proposer(application, to, actor)
    application.require_reasons(to, reason=reason, metadata=metadata)
    if fixed := _fixed_metadata(application, to, metadata, now):
        metadata = {**as_members(metadata), **fixed}
    if (void := open_proposal(application)) is not None:
        void.close(Proposal.VOID, by=actor.user, now=now)
    try:
        with transaction.atomic():
            proposal = Proposal.objects.create(
                application=application,
                to=to,
                reason=reason,
                metadata=metadata,
                seen=application.reviewed_state,
                proposed_by=actor.user,
                proposed_as=actor.credential if actor.user is None else "",
                proposed_at=now,
            )
            audit_decision("proposed", application, to, actor)
            return proposal
    except IntegrityError as error:
        raise AlreadyProposed from error


def change_status(
    application_id: str, to: str, *, actor: Actor, changed_by: str, reason: str | None, metadata: Any, now: datetime
) -> tuple[Application, Proposal | None]:
    """Change an application's status. Return the application, and the proposal that waits for confirmation, if any.

    The default reason of a rejection is the text of its principal reasons. If the applicant withdraws after an
    approval, the default reason is that the applicant declined the terms. Raises ApplicationNotFound and the errors of
    `decide`. Raises InsufficientScope for a scoped credential of a lender's member.
    """
    application = load_for(application_id, actor, is_noted=False)
    if actor.limited and application.consumer_id != actor.user.pk:
        raise no_deciding_scope()
    if to == REJECTED and reason is None:
        reason = in_words(reasons_of(metadata))
    is_applicant = actor.user is not None and actor.user.pk == application.consumer_id
    if is_applicant and (application.status, to) == (APPROVED, WITHDRAWN) and reason is None:
        reason = DECLINED_TEXT
    if takes_two(to) or to == COUNTEROFFER:
        application = Application.objects.select_for_update().get(pk=application.pk)
    pending = decide(application, to, actor=actor, changed_by=changed_by, now=now, reason=reason, metadata=metadata)
    return application, pending


def end_proposal(proposal: Proposal, *, by: Any, now: datetime, reason: str = "") -> None:
    """Withdraw a proposal as its proposer, or decline it as another reviewer. The caller must have locked the row.

    The reason of the other reviewer, if any, is stored in the proposal's metadata.
    """
    if reason:
        proposal.metadata = {**as_members(proposal.metadata), RETURN_REASON: reason}
        proposal.save(update_fields=["metadata"])
    proposal.close(Proposal.WITHDRAWN if proposal.proposed_by_id == by.pk else Proposal.DECLINED, by=by, now=now)


def end_pending_decision(application_id: str, *, actor: Actor, now: datetime) -> None:
    """End the open proposal of an application without a decision.

    Raises ApplicationNotFound, ReviewerRequired, and SecondFactorRequired. Raises NotFound if no proposal is open.
    """
    application = load_visible(application_id, actor)
    if refusal := application.check_reviewer(actor):
        raise refusal
    with transaction.atomic():
        application = Application.objects.select_for_update().get(pk=application.pk)
        proposal = open_proposal(application)
        if proposal is None:
            raise NotFound("No decision of this application is waiting for a second reviewer.")
        end_proposal(proposal, by=actor.user, now=now)


_RIGHTS = {"is_active", "is_superuser"}  # the rights of an account depend on these columns


def close_on_change() -> None:
    """Register signal handlers for changes of accounts, groups, permissions, and lenders' members."""
    account: Any = get_user_model()
    post_save.connect(_account_saved, sender=account)
    for relation in (account.groups.through, account.user_permissions.through):
        m2m_changed.connect(_groups_changed, sender=relation)
    for signal in (post_save, post_delete):
        signal.connect(_member_changed, sender=ProviderMember)


def _account_saved(instance: Any, created: bool, update_fields: Any, **_signal: Any) -> None:
    if not created and (update_fields is None or not _RIGHTS.isdisjoint(update_fields)):
        Proposal.close_lapsed(instance.pk, now=timezone.now())


def _groups_changed(instance: Any, action: str, reverse: bool, pk_set: Any, **_signal: Any) -> None:
    if action in {"post_remove", "post_clear"}:
        for account_id in (pk_set or ()) if reverse else (instance.pk,):
            Proposal.close_lapsed(account_id, now=timezone.now())


def _member_changed(instance: ProviderMember, created: bool = False, **_signal: Any) -> None:
    if not created:
        Proposal.close_lapsed(instance.user_id, now=timezone.now())
