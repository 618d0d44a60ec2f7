"""Changes of a record's status: a button for each that is possible now, a page that repeats what will happen and asks
for a reason, and proposals, which one person makes and another confirms.

Whatever is decided calls the model's own `transition_to`, so that the rules are those of the API.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, ClassVar
from uuid import UUID

from django.contrib import messages
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils import timezone

from config.backoffice import second_factor
from config.backoffice.forms import SeenForm, TransitionForm
from config.backoffice.html import chip, words
from config.backoffice.models import Assignment, Proposal, named
from config.backoffice.owned import OwnedRecords
from config.backoffice.personal import mask
from config.backoffice.proposals import AlreadyProposed, confirmed_metadata, open_proposal, propose
from config.backoffice.records import Button, within_list
from config.backoffice.timeline import ENTRIES_MAX, TimelineEntry, history_entries, latest_first
from config.core.errors import ApiError
from config.core.lifecycle import Actor, Machine, Role

CREDENTIAL = "admin"  # what history rows name as the credential of a transition made here


class ChangedMeanwhile(ApiError):
    message = "The record changed since you opened the page. Look at it again, then decide."


class TransitionAdmin(OwnedRecords):
    """Transitions and proposals of one record; `config.backoffice.admin.ReviewAdmin` is what apps use."""

    machine: ClassVar[Machine]
    review_permission: ClassVar[str] = ""
    transition_labels: ClassVar[Mapping[str, str]] = {}
    transition_form: ClassVar[type[TransitionForm]] = TransitionForm
    reason_required: ClassVar[frozenset[str]] = frozenset()
    # Statuses with which somebody's work on a record is done: the assignment ends.
    ends_work: ClassVar[frozenset[str]] = frozenset()

    def may_review(self, request: HttpRequest, record: Any) -> bool:  # noqa: ARG002
        """Say whether this person decides about this record at all; who may not sees no buttons."""
        return bool(request.user.has_perm(self.review_permission))

    def needs_second(self, record: Any, to: str) -> bool:  # noqa: ARG002
        """Say whether this transition is proposed by one person and confirmed by another."""
        return False

    def make_transition(self, record: Any, to: str, *, actor: Actor, reason: str | None, metadata: Any) -> None:
        changed_by, now = actor.user.get_username(), timezone.now()
        record.transition_to(to, actor=actor, changed_by=changed_by, now=now, reason=reason, metadata=metadata)

    def own_entries(self, record: Any) -> Iterable[TimelineEntry]:
        return history_entries(record.history.select_related("principal").order_by("-position")[:ENTRIES_MAX])

    def consequences_of(self, record: Any, to: str) -> list[str]:
        return [
            f"The status changes from “{words(record.status)}” to “{words(to)}”.",
            "The transition is entered in the history with your name and cannot be taken out of it.",
        ]

    def seen_state(self, record: Any) -> str:
        """Return what a confirmation is bound to: when it differs at the POST, nothing changes."""
        return f"{record.status}:{record.moves}"

    def label_of(self, to: str, record: Any = None) -> str:  # noqa: ARG002  an app may name it by where it begins
        return self.transition_labels.get(to) or f"Transition to {words(to)}"

    def get_ordering(self, request: HttpRequest) -> Any:
        return ("updated_at", "id") if request.GET.get("queue") else ("-id",)

    def knows_person(self, request: HttpRequest, record: Any) -> bool:
        return self.may_review(request, record)

    def actor_of(self, request: HttpRequest) -> Actor:
        return Actor(user=request.user, credential=CREDENTIAL, second_factor=second_factor.is_given(request))

    def review_path(self, suffix: str, view: Callable[..., HttpResponse], name: str) -> Any:

        def for_reviewers(request: HttpRequest, record: Any, **options: Any) -> HttpResponse:
            if not self.may_review(request, record):
                raise PermissionDenied
            return view(request, record, **options)

        return self.record_path(suffix, for_reviewers, name)

    def get_urls(self) -> list[Any]:
        return [
            self.review_path("move/<slug:to>/", self.transition_view, "move"),
            self.review_path("proposal/<uuid:proposal_id>/<slug:verb>/", self.proposal_view, "proposal"),
            *super().get_urls(),
        ]

    def page_of(self, request: HttpRequest, record: Any) -> dict[str, Any]:
        reviews = self.may_review(request, record)
        timeline = latest_first(self.own_entries(record))
        if getattr(record, "is_masked", False):
            timeline = [replace(entry, details=mask(entry.details)) for entry in timeline]
        page = {
            **super().page_of(request, record),
            "chip": chip(record.status),
            "has_lifecycle": True,
            "may_review": reviews,
            "is_final": not record.requestable(),
            "timeline": timeline,
        }
        if reviews:
            proposal = open_proposal(record)
            page["proposal"] = proposal and self.show_proposal(request, record, proposal)
            waits = proposal is not None and not page["proposal"]["is_void"]
            page["transitions"] = self.transitions_of(request, record, waits=waits)
        return page

    def proposing(self, record: Any, to: str) -> str:
        label = self.label_of(to, record)
        return f"Propose: {label}" if self.needs_second(record, to) else label

    def transitions_of(self, request: HttpRequest, record: Any, *, waits: bool) -> list[Button]:
        """Return what a request may ask for, the possible first; `waits`: another decision is proposed already."""
        actor, following = self.actor_of(request), self.machine.moves_from(record.status)
        buttons = []
        for to in record.requestable():
            refusal: Any = record.check_transition(to, actor)
            takes_two = self.needs_second(record, to)
            if refusal is None and takes_two and waits:
                refusal = AlreadyProposed.message
            hint = " This is the owner's own transition." if following[to] is Role.OWNER else ""
            hint += " Somebody else confirms it." if takes_two else ""
            address = within_list(self.address_of("move", record.pk, to), request)
            hint = f"Leads to “{words(to)}”.{hint}"
            buttons.append(Button(to, self.proposing(record, to), address, str(refusal or ""), hint))
        return sorted(buttons, key=lambda button: (bool(button.refusal), following[button.name] is Role.OWNER))

    def transition_view(self, request: HttpRequest, record: Any, to: str) -> HttpResponse:
        """Ask for the reason of a transition and repeat what it does (GET); make it, or propose to (POST)."""
        refusal = record.check_transition(to, self.actor_of(request))
        if refusal is not None:
            messages.error(request, str(refusal))
            return HttpResponseRedirect(self.record_address(record, request))
        posted = request.POST if request.method == "POST" else None
        initial = {"seen": self.seen_state(record)}
        form = self.transition_form(posted, to=to, reason_required=self.reason_required, initial=initial)
        consequences = self.consequences_of(record, to)
        if self.needs_second(record, to):
            bound = "It is void as soon as the record, its data included, is no longer what you see now."
            consequences = ["Your decision is kept until somebody else confirms it. Then:", *consequences, bound]
        return self.confirmed(
            request,
            record,
            form,
            lambda: self.decide(request, record.pk, form, form.cleaned_data["seen"]),
            label=self.proposing(record, to),
            consequences=consequences,
            from_chip=chip(record.status),
            to_chip=chip(to),
        )

    def decide(self, request: HttpRequest, pk: Any, form: TransitionForm, seen: str) -> str:
        """Decide about one record, or propose to, if it is what was seen; return what happened. Raises ApiError."""
        given = {"reason": form.reason_given(), "metadata": form.metadata()}
        with transaction.atomic():
            # The row is locked, so that what was seen is what is decided about.
            record = self.model._default_manager.select_for_update().get(pk=pk)
            if seen != self.seen_state(record):
                raise ChangedMeanwhile
            if self.needs_second(record, form.to):
                record.require_reasons(form.to, **given)
                propose(record, form.to, seen=seen, by=self.actor_of(request), now=timezone.now(), **given)
                self.log_change(request, record, f"Proposed: {form.to}.")
                return f"Proposed: {words(form.to)}. Somebody else has to confirm it."
            self.make_transition(record, form.to, actor=self.actor_of(request), **given)
            self.end_work(record)
            self.log_change(request, record, f"Transition to {form.to}.")
        return f"{self.kind[:1].upper()}{self.kind[1:]} {record} is now {words(form.to)}."

    def end_work(self, record: Any) -> None:
        """Take the record off its assignee's list, when its status says that the work is done."""
        if record.status in self.ends_work:
            Assignment.objects.filter(**named(record)).delete()

    def show_proposal(self, request: HttpRequest, record: Any, proposal: Proposal) -> dict[str, Any]:
        """Return what the page says about a proposal, and why this person cannot confirm it ("" when they can)."""
        is_masked = getattr(record, "is_masked", False)
        stored = self.model._default_manager.get(pk=record.pk) if is_masked else record
        is_void = proposal.seen != self.seen_state(stored)
        is_own = proposal.proposed_by_id == request.user.pk
        refusal = record.check_transition(proposal.to, self.actor_of(request))
        return {
            "row": proposal,
            "chip": chip(proposal.to),
            "label": self.label_of(proposal.to),
            "is_void": is_void,
            "why": "Somebody else has to confirm it." if is_own else str(refusal or ""),
            "close_label": "Withdraw" if is_own else "Clear away" if is_void else "Decline",
            "address": {
                verb: within_list(self.address_of("proposal", record.pk, proposal.pk, verb), request)
                for verb in ("confirm", "close")
            },
        }

    def proposal_view(self, request: HttpRequest, record: Any, proposal_id: UUID, verb: str) -> HttpResponse:
        """Confirm a proposal, or end it without deciding (GET asks, POST does)."""
        if verb not in {"confirm", "close"}:
            raise PermissionDenied
        proposal, is_confirmation = open_proposal(record), verb == "confirm"
        back = HttpResponseRedirect(self.record_address(record, request))
        if proposal is None or proposal.pk != proposal_id:
            messages.warning(request, "That proposal has ended already.")
            return back
        if is_confirmation and proposal.proposed_by_id == request.user.pk:
            messages.error(request, "Whoever proposed it cannot confirm it.")
            return back
        to, when = proposal.to, f"{proposal.proposed_at:%Y-%m-%d at %H:%M}"
        change = f"The status changes from “{words(record.status)}” to “{words(to)}”, in both names."
        posted = request.POST if request.method == "POST" else None
        form = SeenForm(posted, initial={"seen": self.seen_state(record)})
        decide = self.confirm_proposal if is_confirmation else self.close_proposal
        return self.confirmed(
            request,
            record,
            form,
            lambda: decide(request, record, proposal, form.cleaned_data["seen"]),
            label=f"{'Confirm' if is_confirmation else 'End'}: {self.label_of(to)}",
            consequences=[
                f"{proposal.proposer} proposed “{words(to)}” on {when}.",
                f"The reason given: {proposal.reason or 'none'}",
                change if is_confirmation else "The proposal ends and the status stays.",
            ],
            from_chip=chip(record.status),
            to_chip=chip(to) if is_confirmation else None,
        )

    def close_proposal(self, request: HttpRequest, record: Any, proposal: Proposal, _seen: str) -> str:
        is_own = proposal.proposed_by_id == request.user.pk
        proposal.close(Proposal.WITHDRAWN if is_own else Proposal.DECLINED, by=request.user, now=timezone.now())
        self.log_change(request, record, f"Proposal ended: {proposal.to}.")
        return "The proposal has ended; nothing was decided."

    def confirm_proposal(self, request: HttpRequest, record: Any, proposal: Proposal, seen: str) -> str:
        """Do what was proposed, unless the record is no longer what either of the two saw; return what happened."""
        actor, by = self.actor_of(request), request.user
        with transaction.atomic():
            record = self.model._default_manager.select_for_update().get(pk=record.pk)
            is_void = not proposal.seen == seen == self.seen_state(record)
            if not proposal.close(Proposal.VOID if is_void else Proposal.CONFIRMED, by=by, now=timezone.now()):
                raise ValidationError("That proposal has ended already.")
            if not is_void:
                metadata = confirmed_metadata(proposal, by=by)
                self.make_transition(record, proposal.to, actor=actor, reason=proposal.reason, metadata=metadata)
                self.end_work(record)
                self.log_change(request, record, f"Confirmed: {proposal.to}.")
        if is_void:
            raise ValidationError("The record changed since it was proposed: the proposal is void.")
        return f"Confirmed: the {self.kind} is now {words(proposal.to)}."
