"""Four-eyes approval in the back office: a reviewer proposes a decision, and another reviewer confirms it."""

from typing import Any, cast
from uuid import UUID

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import transaction
from django.db.models import Exists, OuterRef, Q
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import path
from django.utils import timezone
from django.utils.http import urlencode
from django.utils.safestring import SafeString

from config.backoffice.bases import ReviewAdmin, TransitionForm
from config.backoffice.consoles import console_of, may, narrowed
from config.backoffice.forms import SeenForm
from config.backoffice.html import chip, column, details, moment, time_in_words, words
from config.backoffice.lists import ConditionFilter
from config.backoffice.queues import Queue
from config.backoffice.records import LIST_FILTERS, Button, within_list
from config.core.casework import Assignment
from config.core.errors import ApiError
from config.core.lifecycle import Actor
from credit.console.records import OfApplication
from credit.core import machine as states
from credit.core.errors import AlreadyProposed
from credit.core.loan_words import in_words
from credit.core.machine import APPROVED, COUNTEROFFER, REJECTED
from credit.models import Application, Counteroffer, Proposal
from credit.review.services import decide, end_proposal, open_proposal, pending_decision, takes_two


class NextCase(ReviewAdmin):
    """Assign the oldest case to a reviewer, and open the next case after a decision."""

    def get_urls(self) -> list[Any]:
        oldest = path("oldest/", self.admin_site.admin_view(self.oldest_view), name="credit_application_oldest")
        return [oldest, *super().get_urls()]

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
        if form.to not in {*states.JUDGEMENTS, states.PENDING_DOCUMENTS}:
            return beside
        return {**beside, "next_label": f"{self.button_label(form.to, record)}, and open the next case"}

    def oldest_view(self, request: HttpRequest) -> HttpResponse:
        """Assign the unassigned case that has waited longest to the user (POST)."""
        if not may(request.user, self.review_permission):
            raise PermissionDenied
        return self.take_oldest(request) if request.method == "POST" else HttpResponseRedirect(self.list_of_work())

    def list_of_work(self) -> str:
        return f"{self.address_of('changelist')}?queue=review"

    def take_oldest(self, request: HttpRequest) -> HttpResponse:
        me: Any = request.user
        waiting = narrowed(Application.objects.filter(status__in=states.IN_REVIEW).exclude(consumer=me), me)
        of_case = {"application": OuterRef("pk"), "closed_at": None}
        mine, offered = Proposal.objects.filter(**of_case, proposed_by=me), Counteroffer.objects.filter(**of_case)
        # These cases wait for another reviewer or for the applicant.
        waiting = waiting.exclude(Exists(mine) | Exists(offered))
        in_force = Assignment.in_force(self.review_permission, kind=self.opts.label_lower)
        taken = narrowed(in_force.exclude(assignee=me), me)
        others_work = set(taken.values_list("record_id", flat=True))
        console, oldest = console_of(me), waiting.order_by("submitted_at", "id")
        for pk, provider_id in oldest.values_list("pk", "provider_id").iterator(chunk_size=100):
            if str(pk) in others_work or not (console is None or console.decides_for(provider_id)):
                continue
            facts = {"assignee": me, "assigned_by": me, "assigned_at": timezone.now()}
            side = "" if console is None else str(provider_id)
            named = {"kind": self.opts.label_lower, "record_id": str(pk), "provider": side}
            Assignment.objects.filter(**named).exclude(pk__in=in_force.values("pk")).delete()
            # If two reviewers open the next case at the same time, the second reviewer gets the case after this case.
            if Assignment.objects.get_or_create(**named, defaults=facts)[0].assignee_id == me.pk:
                address = f"{self.address_of('change', pk)}?{urlencode({LIST_FILTERS: 'queue=review'})}"
                return HttpResponseRedirect(address)
        messages.success(request, "No unassigned case is waiting.")
        return HttpResponseRedirect(self.list_of_work())


PROPOSED = {APPROVED: "Propose approval", REJECTED: "Propose rejection", COUNTEROFFER: "Propose a counteroffer"}
CONFIRMED = {
    APPROVED: "Confirm the approval",
    REJECTED: "Confirm the rejection",
    COUNTEROFFER: "Confirm the counteroffer",
}
RETURN, WITHDRAW = "Return to review", "Withdraw the proposal"


class TwoReviewers(NextCase):
    """Four-eyes approval on an application's page: a reviewer proposes, and another reviewer confirms."""

    def get_urls(self) -> list[Any]:
        return [
            self.review_path("proposal/<uuid:proposal_id>/<slug:verb>/", self.proposal_view, "proposal"),
            *super().get_urls(),
        ]

    def page_of(self, request: HttpRequest, record: Application) -> dict[str, Any]:
        page = super().page_of(request, record)
        if page["may_review"] and (proposal := open_proposal(record)) is not None:
            page["proposal"] = self.show_proposal(request, record, proposal)
        return page

    def confirmation_of(self, page: dict[str, Any]) -> Button | None:
        """Return the button that confirms the open proposal of a case page, if the viewer can confirm it."""
        proposal = page.get("proposal")
        if proposal is None or proposal["is_void"] or proposal["why"]:
            return None
        return Button("confirm", proposal["label"], proposal["address"]["confirm"], "")

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
        """Make or propose a decision. The page of a proposal is the only place to confirm it."""
        if not takes_two(form.to):
            return super().decide_locked(request, record, form)
        if pending_decision(record) is not None:
            raise AlreadyProposed
        decision = {"reason": form.reason_given(), "metadata": form.metadata()}
        self.make_transition(record, form.to, actor=self.actor_of(request), **decision)
        self.log_change(request, record, f"Proposed: {form.to}.")
        return f"Proposed: {words(form.to)}. Another reviewer must confirm it."

    def stored(self, record: Application) -> Application:
        """Return the application without a mask, because the page's instance can be masked."""
        return Application.objects.get(pk=record.pk) if getattr(record, "is_masked", False) else record

    def show_proposal(self, request: HttpRequest, record: Application, proposal: Proposal) -> dict[str, Any]:
        """Return the page context of a proposal. `why` is the reason why this user can't confirm it, or ""."""
        is_void = not proposal.counts_for(self.stored(record))
        is_own = proposal.proposed_by_id == request.user.pk
        refusal = record.check_transition(proposal.to, self.actor_of(request))
        return {
            "row": proposal,
            "chip": chip(proposal.to),
            "label": CONFIRMED[proposal.to],
            "is_void": is_void,
            "why": "Another reviewer must confirm it." if is_own else str(refusal or ""),
            "close_label": WITHDRAW if is_own else RETURN,
            "address": {
                verb: within_list(self.address_of("proposal", record.pk, proposal.pk, verb), request)
                for verb in ("confirm", "close")
            },
        }

    def proposal_view(self, request: HttpRequest, record: Application, proposal_id: UUID, verb: str) -> HttpResponse:
        """Confirm a proposal, or end it without a decision. GET displays the form, and POST executes it."""
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
        to, when = proposal.to, f"{time_in_words(proposal.proposed_at)}"
        change = (
            "The applicant gets a counteroffer with these terms, in the names of both reviewers."
            if to == COUNTEROFFER
            else (f"The status changes from “{words(record.status)}” to “{words(to)}”, in the names of both reviewers.")
        )
        posted = request.POST if request.method == "POST" else None
        form = SeenForm(posted, initial={"seen": self.seen_state(record)})
        end = self.confirm_proposal if is_confirmation else self.close_proposal
        shown = self.show_proposal(request, record, proposal)
        response = self.confirmed(
            request,
            record,
            form,
            lambda: end(request, proposal, form.cleaned_data["seen"]),
            label=shown["label"] if is_confirmation else shown["close_label"],
            consequences=[
                f"{proposal.proposer} proposed “{words(to)}” on {when}.",
                f"Reason: {proposal.reason or 'none'}",
                *([f"Loan: {in_words(proposal.terms)}."] if proposal.terms else []),
                change if is_confirmation else "The proposal ends. The status does not change.",
            ],
            from_chip=chip(record.status),
            to_chip=chip(to) if is_confirmation else None,
            case=self.case_of(request, record),
            next_label=f"{CONFIRMED[to]}, and open the next case" if is_confirmation else "",
        )
        return self.next_or(request, response)

    def locked(self, proposal: Proposal) -> Application:
        record = Application.objects.select_for_update().get(pk=proposal.application_id)
        if open_proposal(record) != proposal:
            raise ValidationError("The proposal has already ended.")
        return record

    def close_proposal(self, request: HttpRequest, proposal: Proposal, _seen: str) -> str:
        with transaction.atomic():
            record = self.locked(proposal)
            end_proposal(proposal, by=request.user, now=timezone.now())
            self.log_change(request, record, f"Proposal ended: {proposal.to}.")
        return "The proposal has ended without a decision."

    def confirm_proposal(self, request: HttpRequest, proposal: Proposal, seen: str) -> str:
        """Execute a proposal, and return a message. Void the proposal if the application changed in the meantime."""
        with transaction.atomic():
            record = self.locked(proposal)
            is_void = seen != record.reviewed_state or not proposal.counts_for(record)
            if is_void:
                proposal.close(Proposal.VOID, by=request.user, now=timezone.now())
            else:
                decision = {"reason": proposal.reason, "metadata": proposal.metadata}
                self.make_transition(record, proposal.to, actor=self.actor_of(request), **decision)
                self.end_work(record)
                self.log_change(request, record, f"Confirmed: {proposal.to}.")
        if is_void:
            raise ValidationError("The record changed after the proposal, so the proposal is void.")
        request.decided = record.pk  # type: ignore[attr-defined]
        if proposal.to == COUNTEROFFER:
            return "Confirmed: the counteroffer was sent to the applicant."
        return f"Confirmed: the {self.kind} is now {words(proposal.to)}."


def _waits_for(user: Any) -> Q:
    """Return the condition for open proposals that `user` did not make."""
    return Q(closed_at__isnull=True) & ~Q(proposed_by_id=user.pk)


class OpenFilter(ConditionFilter):
    title, parameter_name = "state", "state"
    conditions = {
        "yours": ("Waiting for you", lambda request: _waits_for(request.user)),
        "open": ("Waiting", Q(closed_at__isnull=True)),
        "ended": ("Ended", Q(closed_at__isnull=False)),
    }


@admin.register(Proposal)
class ProposalAdmin(OfApplication):
    list_display = ("proposed", "about", "decision", "proposer", "state", "closed_by")
    list_filter = (OpenFilter,)
    list_select_related = ("application", "proposed_by", "closed_by")
    ordering = ("proposed_at",)
    fields = (
        "proposed", "about", "decision", "reason", "what", "seen", "proposer", "state", "closed_by", "closed_at",
    )  # fmt: skip

    proposed = column(moment, "proposed_at", "proposed", ordering="proposed_at")
    decision = column(chip, "to", "decision")
    proposer = column(str, "proposer", "proposed by")
    what = column(details, "metadata", "metadata")

    @admin.display(description="state")
    def state(self, record: Any) -> SafeString | str:
        return chip("returned to review" if record.outcome == Proposal.DECLINED else record.outcome or "open")

    def buttons_of(self, request: HttpRequest, row: Proposal) -> list[Button]:
        if row.closed_at is not None:
            return []
        record_admin = cast("TwoReviewers", self.admin_site.get_model_admin(Application))
        record = record_admin.get_object(request, str(row.application_id))
        if record is None or not record_admin.may_review(request, record):
            return []
        shown = record_admin.show_proposal(request, record, row)
        confirm, close = (record_admin.address_of("proposal", record.pk, row.pk, verb) for verb in ("confirm", "close"))
        void = "The record changed after the proposal, so you can't confirm it."
        return [
            Button("confirm", shown["label"], confirm, void if shown["is_void"] else shown["why"]),
            Button("close", shown["close_label"], close, ""),
        ]


QUEUE = Queue(
    name="four-eyes",
    title="Proposals that need your confirmation",
    permission="credit.view_proposal",
    rows=lambda user: Proposal.objects.filter(_waits_for(user)),
    waiting_since="proposed_at",
    address="/admin/credit/proposal/?state=yours",
    calm="No proposals are waiting for you.",
    urgent_days=2,
    rank=15,
)
