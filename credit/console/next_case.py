"""The next case of a reviewer: the unassigned application with the longest wait."""

from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db.models import Exists, OuterRef
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import path
from django.utils import timezone
from django.utils.http import urlencode

from config.backoffice.bases import ReviewAdmin, TransitionForm
from config.backoffice.consoles import console_of, may, narrowed
from config.backoffice.records import LIST_FILTERS
from config.core.casework import Assignment
from credit.core import machine as states
from credit.models import Application, Counteroffer, Proposal


class NextCase(ReviewAdmin):
    """Assigns the oldest case to a reviewer, and opens the next case after a decision."""

    def get_urls(self) -> list[Any]:
        oldest = path("oldest/", self.admin_site.admin_view(self.oldest_view), name="credit_application_oldest")
        return [oldest, *super().get_urls()]

    def transition_view(self, request: HttpRequest, record: Application, to: str) -> HttpResponse:
        """Open the next case after a transition, if the form requests it."""
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
        """Assign the unassigned case with the longest wait to the user (POST)."""
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
        waiting = waiting.exclude(Exists(mine) | Exists(offered))  # these wait for another reviewer or the applicant
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
            # If two reviewers open the next case at the same time, only one gets this case. The other gets the next
            # one.
            if Assignment.objects.get_or_create(**named, defaults=facts)[0].assignee_id == me.pk:
                address = f"{self.address_of('change', pk)}?{urlencode({LIST_FILTERS: 'queue=review'})}"
                return HttpResponseRedirect(address)
        messages.success(request, "No unassigned case is waiting.")
        return HttpResponseRedirect(self.list_of_work())
