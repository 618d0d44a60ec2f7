"""The bases of every app's admin.

`ReadOnlyAdmin` is for what only grows or is written elsewhere: it may be looked at, never added to, changed, deleted;
`RecordAction` gives it buttons that do one thing each (see `config.backoffice.records`).

`ReviewAdmin` is for a model with a lifecycle (`config.core.lifecycle`). Its page shows facts on one side and, on the
other, the moves that are possible now and a timeline. A move is a button that leads to a page which repeats what will
happen and asks for a reason; its POST calls the model's own method, so that the rules are those of the API. A whole
admin:

    @admin.register(Claim)
    class ClaimAdmin(ReviewAdmin):
        machine = MACHINE
        review_permission = "claims.review_claim"
        move_labels = {"approved": "Approve", "revoked": "Revoke"}
        reason_required = frozenset({"revoked", "disputed"})
        list_display = ("id", "status_chip", "user", "claim_type", "created_at")
        list_filter = ("status",)
        list_select_related = ("user",)
        fieldsets = ((None, {"fields": ("id", "status_chip", "user", …)}),)

It needs a `StatefulModel`, or what is called of one here (`history_relation = None` where there is no history).
Override `move` where the method is called differently, `notices_of` for remarks above the facts, `own_entries` for
more of the timeline, `consequences_of` for what the confirmation says, `move_form` for more fields, `seen_state` for
what a move is bound to.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, ClassVar

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import path
from django.utils import timezone
from django.utils.safestring import SafeString

from config.backoffice import audit, second_factor, unreadable
from config.backoffice.bulk import BulkAdmin
from config.backoffice.forms import MoveForm, SeenForm
from config.backoffice.html import chip, words
from config.backoffice.personal import mask
from config.backoffice.proposals import AlreadyProposed
from config.backoffice.records import Button, ReadOnlyAdmin, RecordAction, show_secret, within_list
from config.backoffice.timeline import ENTRIES_MAX, TimelineEntry, history_entries, latest_first
from config.core.errors import ApiError
from config.core.lifecycle import Actor, Machine, Role

__all__ = [
    "CREDENTIAL",
    "MoveForm",
    "ReadOnlyAdmin",
    "RecordAction",
    "ReviewAdmin",
    "SeenForm",
    "audit",
    "show_secret",
    "unreadable",
]

CREDENTIAL = "admin"  # what history rows name as the credential of a move made here


class ChangedMeanwhile(ApiError):
    """The record is no longer what the person saw who decided about it."""

    message = "The record changed since you opened the page. Look at it again, then decide."


class ReviewAdmin(BulkAdmin):
    """An admin for records with a lifecycle; see the module for how an app uses it."""

    machine: ClassVar[Machine]
    history_relation: ClassVar[str | None] = "history"
    move_labels: ClassVar[Mapping[str, str]] = {}

    # --- What an app says ---------------------------------------------------------------------------------------

    def refusal_of(self, record: Any, to: str, actor: Actor) -> ApiError | None:
        """Return the error that this move would meet now, None when it may be made."""
        refusal: ApiError | None = record.check_transition(to, actor)
        return refusal

    def may_review(self, request: HttpRequest, record: Any) -> bool:
        """Say whether this person decides about this record at all; who may not sees no buttons."""
        del record
        return bool(request.user.has_perm(self.review_permission))

    def move(self, record: Any, to: str, *, actor: Actor, reason: str | None, metadata: Any) -> None:
        """Make the move, inside a transaction; raises ApiError."""
        extra = {} if metadata is None else {"metadata": metadata}
        record.transition_to(
            to, actor=actor, changed_by=actor.user.get_username(), now=timezone.now(), reason=reason, **extra
        )

    def own_entries(self, record: Any) -> Iterable[TimelineEntry]:
        """Return what this app knows for the timeline: the moves."""
        if self.history_relation is None:
            return []
        rows = getattr(record, self.history_relation).select_related("principal").order_by("-position")
        return history_entries(rows[:ENTRIES_MAX])

    def consequences_of(self, record: Any, to: str) -> list[str]:
        """Return what the move does, for its confirmation."""
        return [
            f"The status changes from “{words(record.status)}” to “{words(to)}”.",
            "The move is entered in the history with your name and cannot be taken out of it.",
        ]

    def seen_state(self, record: Any) -> str:
        """Return what a confirmation is bound to: when it differs at the POST, the move is not made."""
        return f"{record.status}:{getattr(record, 'moves', '')}"

    # --- Pages --------------------------------------------------------------------------------------------------

    @admin.display(description="status", ordering="status")
    def status_chip(self, record: Any) -> SafeString:
        """Show the status."""
        return chip(record.status)

    def actor_of(self, request: HttpRequest) -> Actor:
        """Return the person at the back office as the actor of a change."""
        return Actor(user=request.user, credential=CREDENTIAL, second_factor=second_factor.is_given(request))

    def get_urls(self) -> list[Any]:
        """Add the page on which a move is confirmed and made."""
        name = f"{self.opts.app_label}_{self.opts.model_name}_move"
        view = self.admin_site.admin_view(self.move_view)
        return [path("<path:object_id>/move/<slug:to>/", view, name=name), *super().get_urls()]

    def label_of(self, to: str, record: Any = None) -> str:  # noqa: ARG002  an app may call a move by where it begins
        """Return the word on a move's button; `record` is what moves, None for several at once."""
        return self.move_labels.get(to) or f"Move to {words(to)}"

    def moves_of(self, request: HttpRequest, record: Any, *, waits: bool) -> list[Button]:
        """Return every move out of the record's status that a request may ask for, those that can be made first.

        `waits` says that a decision has been proposed and not confirmed, so that no other can be.
        """
        actor, following = self.actor_of(request), self.machine.moves_from(record.status)
        buttons = []
        for to in self.machine.requestable_from(record.status):
            refusal = self.refusal_of(record, to, actor)
            takes_two = self.needs_second(record, to)
            hint = " This is the owner's own move." if following[to] is Role.OWNER else ""
            hint += " Somebody else confirms it." if takes_two else ""
            buttons.append(
                Button(
                    name=to,
                    label=f"Propose: {self.label_of(to, record)}" if takes_two else self.label_of(to, record),
                    address=within_list(self.address_of("move", record.pk, to), request),
                    refusal=str(refusal) if refusal else AlreadyProposed.message if takes_two and waits else "",
                    hint=f"Leads to “{words(to)}”.{hint}",
                )
            )
        return sorted(buttons, key=lambda button: (bool(button.refusal), following[button.name] is Role.OWNER))

    def page_of(self, request: HttpRequest, record: Any) -> dict[str, Any]:
        """Add the status, the moves and the timeline."""
        reviews = self.may_review(request, record)
        page = super().page_of(request, record)
        proposal = page.get("proposal")
        waits = proposal is not None and not proposal["is_void"]
        timeline = latest_first(self.own_entries(record))
        if getattr(record, "is_masked", False):
            timeline = [replace(entry, details=mask(entry.details)) for entry in timeline]
        return {
            **page,
            "chip": chip(record.status),
            "has_lifecycle": True,
            "may_review": reviews,
            "moves": self.moves_of(request, record, waits=waits) if reviews else [],
            "is_final": not self.machine.requestable_from(record.status),
            "timeline": timeline,
        }

    def move_view(self, request: HttpRequest, object_id: str, to: str) -> HttpResponse:
        """Ask for the reason of a move and repeat what it does (GET); make it (POST)."""
        record = self.find_record(request, object_id)
        if record is None:
            return self.lead_back(request, object_id)
        if not self.may_review(request, record):
            raise PermissionDenied
        refusal = self.refusal_of(record, to, self.actor_of(request))
        if refusal is not None:
            messages.error(request, str(refusal))
            return HttpResponseRedirect(self.record_address(record, request))
        posted = request.POST if request.method == "POST" else None
        form = self.move_form(
            posted,
            record=record,
            to=to,
            reason_required=self.reason_required,
            initial={"seen": self.seen_state(record)},
        )
        if posted is not None and form.is_valid():
            return self.make_move(request, record, form)
        takes_two = self.needs_second(record, to)
        consequences = self.consequences_of(record, to)
        if takes_two:
            bound = "It is void as soon as the record, its data included, is no longer what you see now."
            consequences = ["Your decision is kept until somebody else confirms it. Then:", *consequences, bound]
        return self.confirm(
            request,
            record,
            form,
            label=f"Propose: {self.label_of(to, record)}" if takes_two else self.label_of(to, record),
            consequences=consequences,
            from_chip=chip(record.status),
            to_chip=chip(to),
        )

    def make_move(self, request: HttpRequest, record: Any, form: MoveForm) -> HttpResponse:
        """Move the record, or propose to, and tell the outcome on its page."""
        try:
            outcome = self.decide(request, record.pk, form, form.cleaned_data["seen"])
        except ApiError as refusal:
            messages.error(request, str(refusal))
        else:
            messages.success(request, outcome)
        return HttpResponseRedirect(self.record_address(record, request))

    def decide(self, request: HttpRequest, pk: Any, form: MoveForm, seen: str) -> str:
        """Move one record, or propose to, if it is still what was seen; return what happened. Raises ApiError."""
        with transaction.atomic():
            # The row is locked, so that what was seen is what is decided about.
            record = self.model._default_manager.select_for_update().get(pk=pk)
            if seen != self.seen_state(record):
                raise ChangedMeanwhile
            if self.needs_second(record, form.to):
                return self.propose(request, record, form)
            self.move(
                record, form.to, actor=self.actor_of(request), reason=form.reason_given(), metadata=form.metadata()
            )
            self.end_work(record)
            self.log_change(request, record, f"Moved to {form.to}.")
        return f"{self.kind[:1].upper()}{self.kind[1:]} {record} is now {words(form.to)}."
