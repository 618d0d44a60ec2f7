"""Working on records together: whose work a record is, who else looks at it, and decisions that two people make."""

from typing import Any, ClassVar, cast
from uuid import UUID

from django.contrib import messages
from django.contrib.auth import get_user_model
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import path
from django.utils import timezone

from config.backoffice.forms import MoveForm, SeenForm
from config.backoffice.html import chip, words
from config.backoffice.models import Assignment, DataAccess, Proposal
from config.backoffice.proposals import confirmed_metadata, propose
from config.backoffice.records import ReadOnlyAdmin, within_list
from config.core.errors import ApiError
from config.core.lifecycle import Actor

COLLEAGUES_MAX = 200
_BACKEND = "django.contrib.auth.backends.ModelBackend"


class TeamworkAdmin(ReadOnlyAdmin):
    """Assignment, presence, and proposals that somebody else confirms. `ReviewAdmin` builds on it."""

    review_permission: ClassVar[str] = ""
    # Statuses with which somebody's work on a record is done: the assignment ends.
    ends_work: ClassVar[frozenset[str]] = frozenset()

    # --- What `ReviewAdmin` gives -------------------------------------------------------------------------------

    def refusal_of(self, record: Any, to: str, actor: Actor) -> ApiError | None:
        """Return the error that this move would meet now, None when it may be made."""
        raise NotImplementedError

    def may_review(self, request: HttpRequest, record: Any) -> bool:
        """Say whether this person decides about this record at all."""
        raise NotImplementedError

    def actor_of(self, request: HttpRequest) -> Actor:
        """Return the person at the back office as the actor of a change."""
        raise NotImplementedError

    def move(self, record: Any, to: str, *, actor: Actor, reason: str | None, metadata: Any) -> None:
        """Make the move, inside a transaction; raises ApiError."""
        raise NotImplementedError

    def seen_state(self, record: Any) -> str:
        """Return what a decision is bound to."""
        raise NotImplementedError

    def label_of(self, to: str, record: Any = None) -> str:
        """Return the word on a move's button."""
        raise NotImplementedError

    def needs_second(self, record: Any, to: str) -> bool:
        """Say whether this move is proposed by one person and confirmed by another; an app's policy says so."""
        del record, to
        return False

    def knows_person(self, request: HttpRequest, record: Any) -> bool:
        """Unmask a record for whoever decides about it."""
        return self.may_review(request, record)

    # --- Pages --------------------------------------------------------------------------------------------------

    def get_urls(self) -> list[Any]:
        """Add the addresses of assignment and of a proposal's end."""
        prefix = f"{self.opts.app_label}_{self.opts.model_name}"
        wrap = self.admin_site.admin_view
        return [
            path("<path:object_id>/assign/", wrap(self.assign_view), name=f"{prefix}_assign"),
            path(
                "<path:object_id>/proposal/<uuid:proposal_id>/<slug:verb>/",
                wrap(self.proposal_view),
                name=f"{prefix}_proposal",
            ),
            *super().get_urls(),
        ]

    def page_of(self, request: HttpRequest, record: Any) -> dict[str, Any]:
        """Add whose work it is, who else is here, and what waits for a second person."""
        page = super().page_of(request, record)
        if not self.may_review(request, record):
            return page
        named = {"kind": self.record_kind, "record_id": str(record.pk)}
        proposal = Proposal.open_for(**named)
        return {
            **page,
            "assignment": Assignment.objects.select_related("assignee", "assigned_by").filter(**named).first(),
            "assign_address": within_list(self.address_of("assign", record.pk), request),
            "colleagues": self.colleagues_of(request),
            "beside": DataAccess.present_beside(request.user, now=timezone.now(), **named),
            "proposal": None if proposal is None else self.show_proposal(request, record, proposal),
        }

    # --- Assignment ---------------------------------------------------------------------------------------------

    def colleagues_of(self, request: HttpRequest) -> list[Any]:
        """Return the others who may review, by name."""
        me: Any = request.user
        people = get_user_model()._default_manager.with_perm(self.review_permission, backend=_BACKEND)
        staff = people.filter(is_staff=True).exclude(pk=me.pk).order_by("username")
        return list(staff.only("pk", "username")[:COLLEAGUES_MAX])

    def end_work(self, record: Any) -> None:
        """Take the record off its assignee's list, when its status says that the work is done."""
        if record.status in self.ends_work:
            Assignment.objects.filter(kind=self.record_kind, record_id=str(record.pk)).delete()

    def assign_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Give the record to somebody, or to nobody (POST: `assignee` is "me", a user's id, or empty)."""
        record = self.find_record(request, object_id)
        if record is None:
            return self.lead_back(request, object_id)
        if not self.may_review(request, record):
            raise PermissionDenied
        back = HttpResponseRedirect(self.record_address(record, request))
        if request.method != "POST":
            return back
        chosen, me = request.POST.get("assignee", ""), cast("Any", request.user)
        named: dict[str, Any] = {"kind": self.record_kind, "record_id": str(record.pk)}
        if not chosen:
            Assignment.objects.filter(**named).delete()
            messages.success(request, "Nobody is assigned now.")
            return back
        people = {str(person.pk): person for person in self.colleagues_of(request)}
        assignee = me if chosen == "me" else people.get(chosen)
        if assignee is None:
            messages.error(request, "That person does not review these.")
            return back
        Assignment.objects.update_or_create(
            **named, defaults={"assignee": assignee, "assigned_by": me, "assigned_at": timezone.now()}
        )
        self.log_change(request, record, f"Assigned to {assignee}.")
        messages.success(request, f"Assigned to {'you' if chosen == 'me' else assignee}.")
        return back

    # --- Four eyes ----------------------------------------------------------------------------------------------

    def show_proposal(self, request: HttpRequest, record: Any, proposal: Proposal) -> dict[str, Any]:
        """Return what the page says about a proposal, and why this person cannot confirm it ("" when they can)."""
        address = {
            verb: within_list(self.address_of("proposal", record.pk, proposal.pk, verb), request)
            for verb in ("confirm", "close")
        }
        is_void = proposal.seen != self.seen_state(self.unmasked(record))
        is_own = proposal.proposed_by_id == request.user.pk
        refusal = self.refusal_of(record, proposal.to, self.actor_of(request))
        why = "Somebody else has to confirm it." if is_own else str(refusal) if refusal else ""
        return {
            "row": proposal,
            "chip": chip(proposal.to),
            "label": self.label_of(proposal.to),
            "is_void": is_void,
            "why": why,
            "close_label": "Withdraw" if is_own else "Clear away" if is_void else "Decline",
            "address": address,
        }

    def unmasked(self, record: Any) -> Any:
        """Return the record as it is stored, where this one was masked for its page."""
        return self.model._default_manager.get(pk=record.pk) if getattr(record, "is_masked", False) else record

    def propose(self, request: HttpRequest, record: Any, form: MoveForm) -> str:
        """Keep a decision for somebody else to confirm; return what to say. Raises ApiError."""
        propose(
            record,
            form.to,
            seen=self.seen_state(record),
            by=request.user,
            now=timezone.now(),
            reason=form.reason_given(),
            metadata=form.metadata(),
        )
        self.log_change(request, record, f"Proposed: {form.to}.")
        return f"Proposed: {words(form.to)}. Somebody else has to confirm it."

    def proposal_view(self, request: HttpRequest, object_id: str, proposal_id: UUID, verb: str) -> HttpResponse:
        """Confirm a proposal, or end it without deciding (GET asks, POST does)."""
        record = self.find_record(request, object_id)
        if record is None:
            return self.lead_back(request, object_id)
        if not self.may_review(request, record) or verb not in {"confirm", "close"}:
            raise PermissionDenied
        named = {"kind": self.record_kind, "record_id": str(record.pk)}
        proposal = Proposal.objects.filter(pk=proposal_id, closed_at__isnull=True, **named).first()
        back = HttpResponseRedirect(self.record_address(record, request))
        if proposal is None:
            messages.warning(request, "That proposal has ended already.")
            return back
        is_confirmation = verb == "confirm"
        if is_confirmation and proposal.proposed_by_id == request.user.pk:
            messages.error(request, "Whoever proposed it cannot confirm it.")
            return back
        posted = request.POST if request.method == "POST" else None
        form = SeenForm(posted, initial={"seen": self.seen_state(record)})
        if posted is None or not form.is_valid():
            label = f"{'Confirm' if is_confirmation else 'End'}: {self.label_of(proposal.to)}"
            return self.confirm(
                request,
                record,
                form,
                label=label,
                consequences=self.consequences_of_proposal(record, proposal, is_confirmation=is_confirmation),
                from_chip=chip(record.status),
                to_chip=chip(proposal.to) if is_confirmation else None,
            )
        if is_confirmation:
            self.confirm_proposal(request, record.pk, proposal, form.cleaned_data["seen"])
        else:
            own = proposal.proposed_by_id == request.user.pk
            proposal.close(Proposal.WITHDRAWN if own else Proposal.DECLINED, by=request.user, now=timezone.now())
            self.log_change(request, record, f"Proposal ended: {proposal.to}.")
            messages.success(request, "The proposal has ended; nothing was decided.")
        return back

    def consequences_of_proposal(self, record: Any, proposal: Proposal, *, is_confirmation: bool) -> list[str]:
        """Return what confirming, or ending, a proposal does."""
        lines = [
            f"{proposal.proposed_by} proposed “{words(proposal.to)}” on {proposal.proposed_at:%Y-%m-%d at %H:%M}.",
            f"The reason given: {proposal.reason or 'none'}",
        ]
        if not is_confirmation:
            return [*lines, "The proposal ends and the status stays."]
        return [*lines, f"The status changes from “{words(record.status)}” to “{words(proposal.to)}”, in both names."]

    def confirm_proposal(self, request: HttpRequest, pk: Any, proposal: Proposal, seen: str) -> None:
        """Make the proposed move, unless the record is no longer what either of the two saw; tell the outcome."""
        now = timezone.now()
        try:
            with transaction.atomic():
                record = self.model._default_manager.select_for_update().get(pk=pk)
                is_void = not proposal.seen == seen == self.seen_state(record)
                outcome = Proposal.VOID if is_void else Proposal.CONFIRMED
                if not proposal.close(outcome, by=request.user, now=now):
                    messages.warning(request, "That proposal has ended already.")
                    return
                if is_void:
                    messages.warning(request, "The record changed since it was proposed: the proposal is void.")
                    return
                self.move(
                    record,
                    proposal.to,
                    actor=self.actor_of(request),
                    reason=proposal.reason,
                    metadata=confirmed_metadata(proposal, by=request.user),
                )
                self.end_work(record)
                self.log_change(request, record, f"Confirmed: {proposal.to}.")
        except ApiError as refusal:
            messages.error(request, str(refusal))
        else:
            messages.success(request, f"Confirmed: the {self.kind} is now {words(proposal.to)}.")
