"""Start, reopen, and continue reviews: assign the case, and wait for the requested documents."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, cast

from django.http import HttpRequest

from config.backoffice.bases import ReviewAdmin, TransitionForm
from config.backoffice.people import person_name
from config.backoffice.records import Button
from config.core.casework import Assignment, named
from credit.console.documents import missing_documents
from credit.core import machine as states
from credit.models import Application


def reopens(record: Application, to: str) -> bool:
    return record.status in states.DECIDED and to == states.UNDER_REVIEW


class ReopeningConsole(ReviewAdmin):
    """Assign a case to the reviewer who starts its review or reopens it, if this reviewer can decide it.

    A case that is assigned to another reviewer stays assigned to that reviewer.
    """

    def bar_of(self, record: Application, transitions: Iterable[Button]) -> tuple[list[Button], list[Button]]:
        """Show *Return to review* as a plain button while a requested document has no file."""
        actions, rare = super().bar_of(record, transitions)
        if record.status == states.PENDING_DOCUMENTS and missing_documents(record):
            actions = [replace(button, is_plain=button.name == states.UNDER_REVIEW) for button in actions]
        return actions, rare

    def consequences_of(self, record: Application, to: str) -> list[str]:
        lines = super().consequences_of(record, to)
        if (record.status, to) == (states.PENDING_DOCUMENTS, states.UNDER_REVIEW):
            lines += [f"The applicant has not uploaded “{name}” yet." for name in missing_documents(record)]
        return lines

    def effects_for(self, request: HttpRequest, record: Application, to: str) -> list[str]:
        if not self.is_assigned_at(request, record, to):
            return super().effects_for(request, record, to)
        other = self.other_assignee(request, record)
        text = "The case is assigned to you." if other is None else f"The case stays assigned to {person_name(other)}."
        return [*super().effects_for(request, record, to), text]

    def is_assigned_at(self, request: HttpRequest, record: Application, to: str) -> bool:
        """Check whether a transition assigns the record to the viewer, who starts or reopens the review."""
        if to != states.UNDER_REVIEW or record.status not in {states.SUBMITTED, *states.DECIDED}:
            return False
        asked = record.open_review_request
        return asked is None or asked.refusal_for(self.actor_of(request)) is None

    def other_assignee(self, request: HttpRequest, record: Application) -> Any:
        """Return another assignee of the record on the viewer's side (the platform or the lender), or None."""
        side = self.side_of(request, record)
        work = Assignment.in_force(self.review_permission, **named(record), provider=side).exclude(
            assignee=cast("Any", request.user)
        )
        assignment = work.select_related("assignee").first()
        return None if assignment is None else assignment.assignee

    def decide_locked(self, request: HttpRequest, record: Application, form: TransitionForm) -> str:
        is_assigned = self.is_assigned_at(request, record, form.to)
        message = super().decide_locked(request, record, form)
        if not is_assigned:
            return message
        if (other := self.other_assignee(request, record)) is not None:
            return f"{message} It stays assigned to {person_name(other)}."
        self.assign(request, record, request.user)
        return f"{message} It is assigned to you."
