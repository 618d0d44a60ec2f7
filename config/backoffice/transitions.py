"""Status changes in the back office: a button for each transition, and a page to confirm a transition.

Every decision calls the model's `transition_to`, so that the rules of the API apply.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, ClassVar

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils import timezone
from django.utils.text import capfirst

from config.backoffice.consoles import may, sides_of
from config.backoffice.forms import TransitionForm
from config.backoffice.html import chip, error_in_words, time_in_words, words
from config.backoffice.people import person_name
from config.backoffice.personal import mask
from config.backoffice.records import Button, OwnedRecords, within_list
from config.backoffice.timeline import ENTRIES_MAX, TimelineEntry, history_entries, latest_first
from config.core.casework import Assignment, named
from config.core.errors import ApiError
from config.core.lifecycle import Actor, InvalidTransition, Machine, Role
from config.core.log_in import gave_second_factor

CREDENTIAL = "admin"  # the credential in histories of back office transitions


def actor_of(request: HttpRequest) -> Actor:
    return Actor(user=request.user, credential=CREDENTIAL, second_factor=gave_second_factor(request))


class ChangedMeanwhile(ApiError):
    message = "The record changed after you opened the page. Review it again, then decide."


class Transitions(OwnedRecords):
    """Admin with transitions of single records. Apps use the subclass `ReviewAdmin`."""

    machine: ClassVar[Machine]
    review_permission: ClassVar[str] = ""
    transition_labels: ClassVar[Mapping[str, str]] = {}
    transition_form: ClassVar[type[TransitionForm]] = TransitionForm
    transition_forms: ClassVar[Mapping[str, type[TransitionForm]]] = {}
    reason_required: ClassVar[frozenset[str]] = frozenset()
    # In these statuses, no work on the record remains, so its assignment is deleted.
    ends_work: ClassVar[frozenset[str]] = frozenset()

    def may_review(self, request: HttpRequest, record: Any) -> bool:  # noqa: ARG002
        """Check whether the viewer may decide about the record. Otherwise, the page has no buttons."""
        return may(request.user, self.review_permission)

    def make_transition(self, record: Any, to: str, *, actor: Actor, reason: str | None, metadata: Any) -> None:
        changed_by, now = actor.user.get_username(), timezone.now()
        record.transition_to(to, actor=actor, changed_by=changed_by, now=now, reason=reason, metadata=metadata)

    def own_entries(self, request: HttpRequest, record: Any) -> Iterable[TimelineEntry]:  # noqa: ARG002
        return history_entries(record.history.select_related("principal").order_by("-position")[:ENTRIES_MAX])

    def consequences_of(self, record: Any, to: str) -> list[str]:
        return [
            f"The status changes from “{words(record.status)}” to “{words(to)}”.",
            "The history records the transition with your name permanently.",
        ]

    def effects_for(self, request: HttpRequest, record: Any, to: str) -> list[str]:  # noqa: ARG002
        """Return the consequences of a transition, including consequences that depend on the viewer."""
        return self.consequences_of(record, to)

    def seen_state(self, record: Any) -> str:
        """Return the record's state for a confirmation.

        If the state differs at the POST, the status does not change.
        """
        return f"{record.status}:{record.moves}"

    def label_of(self, to: str, record: Any = None) -> str:  # noqa: ARG002  in an override, the label can depend on the record
        return self.transition_labels.get(to) or f"Transition to {words(to)}"

    def get_ordering(self, request: HttpRequest) -> Any:
        return ("updated_at", "id") if request.GET.get("queue") else ("-id",)

    def works_on_record(self, request: HttpRequest, record: Any) -> bool:
        return self.may_review(request, record)

    def actor_of(self, request: HttpRequest) -> Actor:
        return actor_of(request)

    def review_path(self, suffix: str, view: Callable[..., HttpResponse], name: str) -> Any:

        def for_reviewers(request: HttpRequest, record: Any, **options: Any) -> HttpResponse:
            if not self.may_review(request, record):
                raise PermissionDenied
            return view(request, record, **options)

        return self.record_path(suffix, for_reviewers, name)

    def get_urls(self) -> list[Any]:
        return [self.review_path("move/<slug:to>/", self.transition_view, "move"), *super().get_urls()]

    def page_of(self, request: HttpRequest, record: Any) -> dict[str, Any]:
        reviews = self.may_review(request, record)
        timeline = latest_first(self.own_entries(request, record))
        if getattr(record, "is_masked", False):
            timeline = [replace(entry, text=mask(entry.text), details=mask(entry.details)) for entry in timeline]
        page = super().page_of(request, record)
        transitions = self.transitions_of(request, record) if reviews else []
        actions, rare = self.bar_of(record, transitions)
        return {
            **page,
            "status": chip(record.status),
            "has_lifecycle": True,
            "may_review": reviews,
            "is_final": not record.requestable(),
            "timeline": timeline,
            "transitions": transitions,
            "actions": actions if reviews else page["buttons"],
            "rare": [*rare, *page["buttons"]] if reviews else [],
        }

    def bar_of(self, record: Any, transitions: Iterable[Button]) -> tuple[list[Button], list[Button]]:
        """Return the buttons of the toolbar and of its menu.

        The menu contains blocked transitions and transitions of owners.
        """
        following = self.machine.moves_from(record.status)
        actions: list[Button] = []
        rare: list[Button] = []
        for button in transitions:
            is_rare = button.refusal or following.get(button.name) is Role.OWNER
            (rare if is_rare else actions).append(button)
        return actions, rare

    def refusal_of(self, record: Any, to: str, actor: Actor) -> ApiError | None:
        error: ApiError | None = record.check_transition(to, actor)
        return error

    def button_label(self, to: str, record: Any) -> str:
        return self.label_of(to, record)

    def button_hint(self, to: str, record: Any) -> str:
        own = (
            " Usually the owner of the record makes this transition."
            if self.machine.moves_from(record.status)[to] is Role.OWNER
            else ""
        )
        return f"Changes the status to “{words(to)}”.{own}"

    def reference_of(self, record: Any) -> str:  # noqa: ARG002
        """Return the subject of a sentence about a record, without personal data."""
        return f"The {self.kind}"

    def refusal_in_words(self, record: Any, to: str, refusal: object) -> str:
        """Return a refusal for reviewers, without the IDs and quoted statuses of the API's message.

        If the record's status blocks the transition, the text contains the statuses that allow the transition.
        """
        if not refusal:
            return ""
        before = [words(status) for status in self.machine.statuses if to in self.machine.moves_from(status)]
        if before and isinstance(refusal, InvalidTransition) and words(record.status) not in before:
            if record.status == to:
                return f"{self.reference_of(record)} is already {words(to)}."
            if not record.requestable():
                return f"{self.reference_of(record)} is {words(record.status)}, which is final."
            return f"{self.reference_of(record)} must be {' or '.join(before)} first."
        text = str(refusal).replace(f"{capfirst(self.kind)} {record.pk}", self.reference_of(record))
        text = text.replace(f"{self.kind} {record.pk}", self.reference_of(record))
        for status in self.machine.statuses:
            text = text.replace(f"`{status}`", f"“{words(status)}”")
        return error_in_words(text)

    def transitions_of(self, request: HttpRequest, record: Any) -> list[Button]:
        actor, following = self.actor_of(request), self.machine.moves_from(record.status)
        buttons = [
            Button(
                to,
                self.button_label(to, record),
                within_list(self.address_of("move", record.pk, to), request),
                self.refusal_in_words(record, to, self.refusal_of(record, to, actor)),
                self.button_hint(to, record),
            )
            for to in record.requestable()
        ]
        return sorted(buttons, key=lambda button: (bool(button.refusal), following[button.name] is Role.OWNER))

    def transition_view(self, request: HttpRequest, record: Any, to: str) -> HttpResponse:
        """Display a transition's form and consequences (GET), or execute it (POST)."""
        refusal = self.refusal_of(record, to, self.actor_of(request))
        why = refusal and " ".join([self.refusal_in_words(record, to, refusal), *_newest_move(record, to, refusal)])
        if why and request.method != "POST":
            messages.error(request, why)
            return HttpResponseRedirect(self.record_address(record, request))
        posted = request.POST if request.method == "POST" else None
        initial = {"seen": self.seen_state(record), **self.initial_of(record, to)}
        form = self.form_of(request, to, posted, initial=initial)
        if why:
            form.add_error(None, why)
        return self.confirmed(
            request,
            record,
            form,
            lambda: self.decide(request, record.pk, form, form.cleaned_data["seen"]),
            label=self.button_label(to, record),
            consequences=self.effects_for(request, record, to),
            from_chip=chip(record.status),
            to_chip=chip(to),
            to=to,
            case=self.case_of(request, record),
            **self.beside_form(record, form),
        )

    def case_of(self, request: HttpRequest, record: Any) -> list[dict[str, Any]]:  # noqa: ARG002
        """Return facts about the record for the page of a decision.

        Each fact has `name`, `value`, and the error `wrong`.
        """
        return []

    def form_of(self, request: HttpRequest, to: str, data: Any = None, **options: Any) -> TransitionForm:
        """Return the form of a transition, with the reply templates of the viewer's organization."""
        sides = sides_of(request.user)
        form_class = self.transition_forms.get(to, self.transition_form)
        return form_class(data, to=to, reason_required=self.reason_required, sides=sides, **options)

    def initial_of(self, record: Any, to: str) -> dict[str, Any]:  # noqa: ARG002  an override can use the arguments
        return {}

    def beside_form(self, record: Any, form: TransitionForm) -> dict[str, Any]:  # noqa: ARG002
        """Return the content of a confirmation page next to its form.

        `figures` are values, and the button `preview` computes them again. The second button `next_label` also opens
        the next record. `warning` is a sentence above the form.
        """
        return {}

    def decide(self, request: HttpRequest, pk: Any, form: TransitionForm, seen: str) -> str:
        """Execute a transition, and return its outcome.

        Raises ChangedMeanwhile if the displayed record has changed, and ApiError.
        """
        with transaction.atomic():
            # With the lock, the decision applies to the version that the viewer has seen.
            record = self.model._default_manager.select_for_update().get(pk=pk)
            if seen != self.seen_state(record):
                raise ChangedMeanwhile
            return self.decide_locked(request, record, form)

    def decide_locked(self, request: HttpRequest, record: Any, form: TransitionForm) -> str:
        fields = {"reason": form.reason_given(), "metadata": form.metadata()}
        self.make_transition(record, form.to, actor=self.actor_of(request), **fields)
        self.end_work(record)
        self.log_change(request, record, f"Transition to {words(form.to)}.")
        return f"{capfirst(self.kind)} {self.name_of(request, record)} is now {words(form.to)}."

    def end_work(self, record: Any) -> None:
        """Delete the record's assignment if no work on the record remains."""
        if record.status in self.ends_work:
            Assignment.objects.filter(**named(record)).delete()


def _newest_move(record: Any, to: str, refusal: ApiError) -> Iterator[str]:
    """Yield a sentence about the newest status change if the record's status blocks the transition."""
    if not isinstance(refusal, InvalidTransition) or to in record.requestable():
        return
    move = record.history.select_related("principal").order_by("-position").first()
    if move is not None:
        by = "The system" if move.principal is None else person_name(move.principal)
        yield f"{by} changed the status to “{words(move.status)}” at {time_in_words(move.changed_at)} UTC."
