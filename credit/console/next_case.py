"""Assign the oldest unassigned case to a reviewer, and open the next case after a decision."""

from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import path
from django.utils import timezone
from django.utils.http import urlencode

from config.backoffice.bases import ReviewAdmin, TransitionForm
from config.backoffice.consoles import console_of, may, narrowed
from config.backoffice.html import words
from config.backoffice.records import LIST_FILTERS
from config.core.casework import Assignment
from config.core.errors import ApiError
from credit.console.queues import TO_REVIEW
from credit.core import machine as states
from credit.models import Application


class NextCase(ReviewAdmin):
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
        """Assign the unassigned case that has waited longest to the user, and start its review (POST)."""
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
            named = {"kind": self.opts.label_lower, "record_id": str(pk), "provider": side}
            Assignment.objects.filter(**named).exclude(pk__in=in_force.values("pk")).delete()
            # If a concurrent request has just assigned this case to another reviewer, try the next case.
            if Assignment.objects.get_or_create(**named, defaults=facts)[0].assignee_id == me.pk:
                self.start_review(request, pk)
                if still_open:
                    messages.info(request, f"You took the next case. You still have {cases}, assigned to you before.")
                address = f"{self.address_of('change', pk)}?{urlencode({LIST_FILTERS: 'queue=review'})}"
                return HttpResponseRedirect(address)
        if still_open:
            messages.success(request, f"No unassigned case is waiting. You still have {cases}.")
            return HttpResponseRedirect(self.list_of_work(work="mine"))
        messages.success(request, "No unassigned case is waiting.")
        return HttpResponseRedirect(self.list_of_work())

    @transaction.atomic
    def start_review(self, request: HttpRequest, pk: Any) -> None:
        """Log the assignment. Move a submitted application to `under_review`, if the user can make this transition."""
        record, actor = Application.objects.select_for_update().get(pk=pk), self.actor_of(request)
        to = states.UNDER_REVIEW
        self.log_change(request, record, f"Assigned to {request.user}.")
        if record.status != states.SUBMITTED or record.check_transition(to, actor) is not None:
            return
        try:
            with transaction.atomic():
                self.make_transition(record, to, actor=actor, reason=None, metadata=None)
                self.log_change(request, record, f"Transition to {words(to)}.")
        except ApiError as refusal:
            messages.warning(request, str(refusal))
