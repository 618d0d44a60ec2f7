"""Four-eyes approval on an application's page, and the assignment of the next case to a reviewer."""

from collections.abc import Iterator
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import transaction
from django.db.models import Prefetch, prefetch_related_objects
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import path
from django.utils import timezone
from django.utils.http import urlencode
from django.utils.text import capfirst

from config.backoffice.bases import ReviewAdmin, TransitionForm
from config.backoffice.consoles import console_of, may, narrowed, sides_of
from config.backoffice.forms import ReasonField, SeenForm
from config.backoffice.html import chip, day_in_words, spelled, time_in_words, words
from config.backoffice.people import person_name
from config.backoffice.personal import MASK
from config.backoffice.records import LIST_FILTERS, Button, within_list
from config.backoffice.timeline import TimelineEntry
from config.core.casework import Assignment, named
from config.core.errors import ApiError
from config.core.json_text import parse_rfc3339
from config.core.lifecycle import Actor
from credit.console.decision_forms import ApplicationTransitionForm
from credit.console.queues import TO_REVIEW
from credit.core.errors import AlreadyProposed
from credit.core.loan_words import LOAN, in_words, rows_of, with_costs_of_line
from credit.core.machine import APPROVED, COUNTEROFFER, JUDGEMENTS, PENDING_DOCUMENTS, REJECTED, SUBMITTED, UNDER_REVIEW
from credit.core.reasons import reasons_of, text_of
from credit.models import Application, LoanTerms, Proposal
from credit.models.review import RETURN_REASON, SCORE_REASON, as_members
from credit.review.services import close_confirmed, decide, end_proposal, open_proposal, pending_decision, takes_two
from credit.terms.loans import compute, loan_of

_NOUNS = {APPROVED: "approval", REJECTED: "rejection", COUNTEROFFER: "a counteroffer"}
# The rows of the terms, the principal reasons, and the deadline replace these members of the metadata.
_DISPLAYED = {"terms", "reasons", "expires_at", RETURN_REASON}
_FIGURES = (*LOAN, "payment_cents", "final_payment_cents", "apr_percent", "total_of_payments_cents")


def decision_in_words(to: str) -> str:
    return _NOUNS.get(to, words(to))


def proposals_of(record: Application) -> list[Proposal]:
    """Return all proposals of an application, newest first, with their accounts.

    The proposals are cached on `record`.
    """
    rows = Proposal.objects.select_related("proposed_by", "closed_by").order_by("-id")
    prefetch_related_objects([record], Prefetch("proposals", rows, to_attr="shown_proposals"))
    return record.shown_proposals  # type: ignore[attr-defined,no-any-return]


def proposer_name(proposal: Proposal) -> str:
    """Return the name of the account that made a proposal, or of the scoring model."""
    return proposal.proposer if proposal.proposed_by is None else person_name(proposal.proposed_by)


def facts_of(record: Application, proposal: Proposal) -> list[tuple[str, Any]]:
    """Return the rows about a proposal: the loan and its cost, the texts of the reasons, the proposer, and the time."""
    rows: list[tuple[str, Any]] = [("Decision", capfirst(decision_in_words(proposal.to)))]
    if getattr(proposal, "is_masked", False) or getattr(record, "is_masked", False):
        rows.append(("Terms and reasons", MASK))
    else:
        rows += [*_terms_of(record, proposal), *_reasons_of(proposal)]
    return [
        *rows,
        ("Proposed by", proposer_name(proposal)),
        ("Proposed at", f"{time_in_words(proposal.proposed_at)} UTC"),
    ]


def _terms_of(record: Application, proposal: Proposal) -> list[tuple[str, Any]]:
    terms = proposal.terms
    if not terms:
        return []
    kind = LoanTerms.COUNTEROFFER if proposal.to == COUNTEROFFER else LoanTerms.APPROVAL
    try:
        loan = loan_of(record, terms)
        computed = None if loan is None else compute(record, loan, kind=kind, now=timezone.now(), bounded=False)
    except ApiError:
        computed = None
    if computed is None:
        return [("Loan", in_words(terms))]
    figures = with_costs_of_line(computed.to_dict(), record.offer_snapshot, start=computed.as_of)
    rows: list[tuple[str, Any]] = [*rows_of(figures, _FIGURES, start=computed.as_of)]
    until = parse_rfc3339(str(as_members(proposal.metadata).get("expires_at") or ""))
    return rows if until is None else [*rows, ("Last day to accept", day_in_words(until.date()))]


def _reasons_of(proposal: Proposal) -> Iterator[tuple[str, Any]]:
    reasons = [text_of(reason) for reason in reasons_of(proposal.metadata)]
    if reasons:
        yield "Principal reasons", "; ".join(reasons)
    if proposal.reason and proposal.reason != f"{'; '.join(reasons)}.":
        yield "Reason", proposal.reason
    if isinstance(proposal.metadata, dict):
        for name, value in proposal.metadata.items():
            if name not in _DISPLAYED:
                yield capfirst(name.replace("_", " ")), spelled(value)


def proposal_entries(record: Application) -> Iterator[TimelineEntry]:
    """Yield timeline entries of proposals.

    The confirmation of an approval or rejection is omitted, because the transition has an entry.
    """
    for proposal in proposals_of(record):
        reasons = "; ".join(text_of(reason) for reason in reasons_of(proposal.metadata))
        terms = in_words(proposal.terms) if proposal.terms else ""
        against = as_members(proposal.metadata).get(SCORE_REASON)
        against = f"Against the score's proposal: {against}" if against else ""
        yield TimelineEntry(
            at=proposal.proposed_at,
            title=f"{proposer_name(proposal)} proposed {decision_in_words(proposal.to)}",
            text="\n".join(filter(None, (terms, proposal.reason or reasons, against))),
            id=str(proposal.pk),
        )
        if proposal.closed_at is None or (proposal.outcome == Proposal.CONFIRMED and proposal.to != COUNTEROFFER):
            continue
        decision = decision_in_words(proposal.to)
        proposed = f"the proposal of {decision} by {proposer_name(proposal)}"
        who = "the platform" if proposal.closed_by is None else person_name(proposal.closed_by)
        why = as_members(proposal.metadata).get(RETURN_REASON, "") if proposal.outcome == Proposal.DECLINED else ""
        yield TimelineEntry(
            at=proposal.closed_at,
            title={
                Proposal.CONFIRMED: f"{who} confirmed {decision}, proposed by {proposer_name(proposal)}",
                Proposal.DECLINED: f"{who} returned {proposed}{':' if why else ''}",
                Proposal.WITHDRAWN: f"{who} withdrew the proposal of {decision}",
                Proposal.VOID: f"The proposal of {decision} by {proposer_name(proposal)} became void",
            }[proposal.outcome],
            text=str(why),
            id=f"{proposal.pk}-end",
        )


def both_names(metadata: Any, record: Application) -> tuple[tuple[str, str], ...]:
    """Return the two reviewers of a decision under four-eyes approval, from the metadata of its transition."""
    names = as_members(as_members(metadata).get("four_eyes"))
    proposed_by, confirmed_by = names.get("proposed_by"), names.get("confirmed_by")
    if not (isinstance(proposed_by, str) and isinstance(confirmed_by, str)):
        return ()
    accounts = [user for row in proposals_of(record) for user in (row.proposed_by, row.closed_by) if user is not None]
    shown = {user.get_username(): person_name(user) for user in accounts}
    return tuple(
        (title, shown.get(name, name)) for title, name in (("proposed by", proposed_by), ("confirmed by", confirmed_by))
    )


PROPOSED = {APPROVED: "Propose approval", REJECTED: "Propose rejection", COUNTEROFFER: "Propose a counteroffer"}
CONFIRMED = {
    APPROVED: "Confirm the approval",
    REJECTED: "Confirm the rejection",
    COUNTEROFFER: "Confirm the counteroffer",
}
RETURN, WITHDRAW = "Return to review", "Withdraw the proposal"
VOID = "The application changed after the proposal, so you can't confirm it. Return it to review, and decide again."


class ReturnForm(SeenForm):
    reason = ReasonField(
        max_length=4_000,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text="The first reviewer reads the reason on the case. The applicant's pages don't show it.",
    )


class TwoReviewers(ReviewAdmin):
    """Four-eyes approval on an application's page, and the next case after a decision."""

    def get_urls(self) -> list[Any]:
        return [
            path("oldest/", self.admin_site.admin_view(self.oldest_view), name="credit_application_oldest"),
            self.review_path("proposal/<uuid:proposal_id>/<slug:verb>/", self.proposal_view, "proposal"),
            *super().get_urls(),
        ]

    def transition_view(self, request: HttpRequest, record: Application, to: str) -> HttpResponse:
        """After a transition, open the next case if the form requests it."""
        return self.next_or(request, super().transition_view(request, record, to))

    def next_or(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        return self.take_oldest(request) if "next" in request.POST and hasattr(request, "decided") else response

    def decide(self, request: HttpRequest, pk: Any, form: TransitionForm, seen: str) -> str:
        outcome = super().decide(request, pk, form, seen)
        request.decided = pk  # type: ignore[attr-defined]
        return outcome

    def beside_form(self, record: Application, form: TransitionForm) -> dict[str, Any]:
        beside = super().beside_form(record, form)
        if form.to not in {*JUDGEMENTS, PENDING_DOCUMENTS}:
            return beside
        return {**beside, "next_label": f"{self.button_label(form.to, record)}, and open the next case"}

    def oldest_view(self, request: HttpRequest) -> HttpResponse:
        """Select the unassigned case that has waited longest, assign it to the user, and start its review (POST)."""
        if not may(request.user, self.review_permission):
            raise PermissionDenied
        return self.take_oldest(request) if request.method == "POST" else HttpResponseRedirect(self.list_of_work())

    def list_of_work(self, **filters: str) -> str:
        return f"{self.address_of('changelist')}?{urlencode({'queue': 'review', **filters})}"

    def take_oldest(self, request: HttpRequest) -> HttpResponse:
        me: Any = request.user
        waiting = narrowed(Application.objects.filter(TO_REVIEW).exclude(consumer=me), me)
        in_force = Assignment.in_force(self.review_permission, kind=self.opts.label_lower)
        assignees = dict(narrowed(in_force, me).values_list("record_id", "assignee_id"))
        own = {record_id for record_id, assignee_id in assignees.items() if assignee_id == me.pk}
        still_open = waiting.filter(pk__in=own).count() if own else 0
        cases = f"{still_open} open case{'' if still_open == 1 else 's'}"
        console, oldest = console_of(me), waiting.order_by("submitted_at", "id")
        for pk, provider_id in oldest.values_list("pk", "provider_id").iterator(chunk_size=100):
            if str(pk) in assignees or not (console is None or console.decides_for(provider_id)):
                continue
            facts = {"assignee": me, "assigned_by": me, "assigned_at": timezone.now()}
            side = "" if console is None else str(provider_id)
            place = {"kind": self.opts.label_lower, "record_id": str(pk), "provider": side}
            Assignment.objects.filter(**place).exclude(pk__in=in_force.values("pk")).delete()
            # If a concurrent request has just assigned this case to another reviewer, try the next case.
            if Assignment.objects.get_or_create(**place, defaults=facts)[0].assignee_id == me.pk:
                self.start_review(request, pk)
                if still_open:
                    messages.info(request, f"You took the next case. You still have {cases}, assigned to you before.")
                address = f"{self.address_of('change', pk)}?{urlencode({LIST_FILTERS: 'queue=review'})}"
                return HttpResponseRedirect(address)
        messages.success(request, f"No unassigned case is waiting.{f' You still have {cases}.' if still_open else ''}")
        return HttpResponseRedirect(self.list_of_work(work="mine") if still_open else self.list_of_work())

    @transaction.atomic
    def start_review(self, request: HttpRequest, pk: Any) -> None:
        """Log the assignment. Move a submitted application to `under_review`, if the user can make this transition."""
        record, actor = Application.objects.select_for_update().get(pk=pk), self.actor_of(request)
        self.log_change(request, record, f"Assigned to {request.user}.")
        if record.status != SUBMITTED or record.check_transition(UNDER_REVIEW, actor) is not None:
            return
        try:
            with transaction.atomic():
                self.make_transition(record, UNDER_REVIEW, actor=actor, reason=None, metadata=None)
                self.log_change(request, record, f"Transition to {words(UNDER_REVIEW)}.")
        except ApiError as refusal:
            messages.warning(request, str(refusal))

    def page_of(self, request: HttpRequest, record: Application) -> dict[str, Any]:
        page = super().page_of(request, record)
        if page["may_review"]:
            opened = [proposal for proposal in proposals_of(record) if proposal.closed_at is None]
            page["proposal"] = self.show_proposal(request, record, opened[0]) if opened else None
        return page

    def proposal_buttons(self, page: dict[str, Any]) -> list[Button]:
        """Return the buttons that confirm or end the open proposal of a case page, if the viewer reviews the case."""
        proposal = page.get("proposal")
        if proposal is None:
            return []
        close = Button("close", proposal["close_label"], proposal["address"]["close"], "", is_plain=True)
        if proposal["why"]:
            return [close]
        return [Button("confirm", proposal["label"], proposal["address"]["confirm"], ""), close]

    def refusal_of(self, record: Application, to: str, actor: Actor) -> ApiError | None:
        refusal = super().refusal_of(record, to, actor)
        if refusal is None and takes_two(to) and pending_decision(self.stored(record)) is not None:
            return AlreadyProposed()
        return refusal

    def button_label(self, to: str, record: Application) -> str:
        label = super().button_label(to, record)
        return PROPOSED.get(to, f"Propose: {label}") if takes_two(to) else label

    def button_hint(self, to: str, record: Application) -> str:
        return f"{super().button_hint(to, record)}{' Another reviewer must confirm it.' if takes_two(to) else ''}"

    def make_transition(self, record: Application, to: str, *, actor: Actor, reason: str | None, metadata: Any) -> None:
        by, now = actor.user.get_username(), timezone.now()
        decide(record, to, actor=actor, changed_by=by, now=now, reason=reason, metadata=metadata)

    def decide_locked(self, request: HttpRequest, record: Application, form: TransitionForm) -> str:
        """Make or propose a decision. Proposals can only be confirmed on their own pages."""
        if not takes_two(form.to):
            return super().decide_locked(request, record, form)
        if pending_decision(record) is not None:
            raise AlreadyProposed
        decision = {"reason": form.reason_given(), "metadata": form.metadata()}
        if form.to != COUNTEROFFER and isinstance(form, ApplicationTransitionForm) and (why := form.score_reason()):
            decision["metadata"] = {**as_members(decision["metadata"]), SCORE_REASON: why}
        self.make_transition(record, form.to, actor=self.actor_of(request), **decision)
        self.log_change(request, record, f"Proposed: {form.to}.")
        return f"Proposed: {words(form.to)}. Another reviewer must confirm it."

    def stored(self, record: Application) -> Application:
        """Return the application without a mask, because the page's instance can be masked."""
        return Application.objects.get(pk=record.pk) if getattr(record, "is_masked", False) else record

    def show_proposal(self, request: HttpRequest, record: Application, proposal: Proposal) -> dict[str, Any]:
        """Return the page context of an open proposal. `why` is the reason why this user can't confirm it, or ""."""
        is_void = not proposal.counts_for(self.stored(record))
        is_own = proposal.proposed_by_id == request.user.pk
        refusal = record.check_transition(proposal.to, self.actor_of(request))
        return {
            "facts": facts_of(record, proposal),
            "label": CONFIRMED.get(proposal.to, "Confirm"),
            "is_void": is_void,
            "why": VOID if is_void else "Another reviewer must confirm it." if is_own else str(refusal or ""),
            "close_label": WITHDRAW if is_own else RETURN,
            "address": {
                verb: within_list(self.address_of("proposal", record.pk, proposal.pk, verb), request)
                for verb in ("confirm", "close")
            },
        }

    def proposal_view(self, request: HttpRequest, record: Application, proposal_id: UUID, verb: str) -> HttpResponse:
        """Confirm a proposal, or end it without a decision.

        GET displays the form. POST confirms or ends the proposal.
        """
        if verb not in {"confirm", "close"}:
            raise PermissionDenied
        proposal, is_confirmation = open_proposal(record), verb == "confirm"
        back = HttpResponseRedirect(self.record_address(record, request))
        if proposal is None or proposal.pk != proposal_id:
            messages.warning(request, "The proposal has already ended.")
            return back
        if is_confirmation and proposal.proposed_by_id == request.user.pk:
            messages.error(request, "You can't confirm your own proposal.")
            return back
        to, is_return = proposal.to, not is_confirmation and proposal.proposed_by_id != request.user.pk
        form_class = ReturnForm if is_return else SeenForm
        form = form_class(request.POST if request.method == "POST" else None, initial={"seen": self.seen_state(record)})

        def end() -> str:
            if is_confirmation:
                return self.confirm_proposal(request, proposal, form.cleaned_data["seen"])
            return self.close_proposal(request, proposal, form.cleaned_data.get("reason", ""))

        shown = self.show_proposal(request, record, proposal)
        response = self.confirmed(
            request,
            record,
            form,
            end,
            label=shown["label"] if is_confirmation else shown["close_label"],
            consequences=_effects_of(record, proposal, is_confirmation=is_confirmation, is_return=is_return),
            from_chip=chip(record.status),
            to_chip=chip(to) if is_confirmation else None,
            to=to if is_confirmation else "",
            case=self.case_of(request, record),
            proposed=shown["facts"],
            next_label=f"{shown['label']}, and open the next case" if is_confirmation else "",
        )
        return self.next_or(request, response)

    def locked(self, proposal: Proposal) -> Application:
        record = Application.objects.select_for_update().get(pk=proposal.application_id)
        if open_proposal(record) != proposal:
            raise ValidationError("The proposal has already ended.")
        return record

    def close_proposal(self, request: HttpRequest, proposal: Proposal, reason: str) -> str:
        """End a proposal without a decision.

        If the second reviewer returns the case, it is assigned to the first reviewer again.
        """
        proposer, is_own = proposal.proposed_by, proposal.proposed_by_id == request.user.pk
        with transaction.atomic():
            record, now = self.locked(proposal), timezone.now()
            end_proposal(proposal, by=request.user, now=now, reason=reason)
            self.log_change(request, record, f"Proposal {'withdrawn' if is_own else 'returned'}: {proposal.to}.")
            if is_own:
                return "You withdrew the proposal. The status is unchanged."
            if proposer is None or not record.is_reviewed_by(proposer):
                return "The proposal is returned. The case is open for review."
            side = next(iter(sides_of(proposer, record.provider_id)))
            facts = {"assignee": proposer, "assigned_by": request.user, "assigned_at": now}
            Assignment.objects.update_or_create(**named(record), provider=side, defaults=facts)
        return f"The proposal is returned. The case is assigned to {person_name(proposer)}."

    def confirm_proposal(self, request: HttpRequest, proposal: Proposal, seen: str) -> str:
        """Execute a proposal, and return a message. Void the proposal if the application changed in the meantime."""
        with transaction.atomic():
            record = self.locked(proposal)
            is_void = seen != record.reviewed_state or not proposal.counts_for(record)
            if is_void:
                proposal.close(Proposal.VOID, by=request.user, now=timezone.now())
            else:
                actor, metadata = self.actor_of(request), proposal.metadata
                if not takes_two(proposal.to):  # REVIEW_POLICY changed after the proposal
                    metadata = close_confirmed(proposal, record, actor=actor, now=timezone.now())
                self.make_transition(record, proposal.to, actor=actor, reason=proposal.reason, metadata=metadata)
                self.end_work(record)
                self.log_change(request, record, f"Confirmed: {words(proposal.to)}.")
        if is_void:
            raise ValidationError("The record changed after the proposal, so the proposal is void.")
        request.decided = record.pk  # type: ignore[attr-defined]
        if proposal.to == COUNTEROFFER:
            return "Confirmed: the counteroffer was sent to the applicant."
        return f"Confirmed: the {self.kind} is now {words(proposal.to)}."


def _effects_of(record: Application, proposal: Proposal, *, is_confirmation: bool, is_return: bool) -> list[str]:
    if is_return:
        return [
            "The proposal ends. The status does not change.",
            f"The timeline shows your reason. The case is assigned to {proposer_name(proposal)} again."
            if proposal.proposed_by is not None
            else "The timeline shows your reason.",
        ]
    if not is_confirmation:
        return ["The proposal ends. The status does not change."]
    against = ["The score proposes a different decision."] if record.goes_against_score(proposal.to) else []
    if proposal.to == COUNTEROFFER:
        return ["The applicant gets a counteroffer with these terms, in the names of both reviewers.", *against]
    return [
        f"The status changes from “{words(record.status)}” to “{words(proposal.to)}”, in the names of both reviewers.",
        "The applicant can read the new status, and gets an event.",
        *against,
    ]
