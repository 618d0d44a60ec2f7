"""Return applications to review: assign a reopened case, and wait for the requested documents."""

from collections.abc import Iterable
from dataclasses import replace

from django.http import HttpRequest
from django.utils import timezone

from config.backoffice.bases import ReviewAdmin, TransitionForm
from config.backoffice.records import Button
from config.core.casework import Assignment, named
from credit.console.documents import missing_documents
from credit.core import machine as states
from credit.models import Application


def reopens(record: Application, to: str) -> bool:
    return record.status in states.DECIDED and to == states.UNDER_REVIEW


class ReopeningConsole(ReviewAdmin):
    """Assign a reopened case to the reviewer who reopened it, if this reviewer can decide it again."""

    def bar_of(self, record: Application, transitions: Iterable[Button]) -> tuple[list[Button], list[Button]]:
        """Make *Return to review* a plain button while a requested document has no file."""
        actions, rare = super().bar_of(record, transitions)
        if record.status == states.PENDING_DOCUMENTS and missing_documents(record):
            actions = [replace(button, is_plain=button.name == states.UNDER_REVIEW) for button in actions]
        return actions, rare

    def consequences_of(self, record: Application, to: str) -> list[str]:
        lines = super().consequences_of(record, to)
        if reopens(record, to) and record.open_review_request is None:
            lines.append("The case is assigned to you.")
        if (record.status, to) == (states.PENDING_DOCUMENTS, states.UNDER_REVIEW):
            lines += [f"The applicant has not uploaded “{name}” yet." for name in missing_documents(record)]
        return lines

    def decide_locked(self, request: HttpRequest, record: Application, form: TransitionForm) -> str:
        is_reopening = reopens(record, form.to)
        message = super().decide_locked(request, record, form)
        asked = record.open_review_request if is_reopening else None
        if not is_reopening or (asked is not None and asked.refusal_for(self.actor_of(request)) is not None):
            return message
        facts = {"assignee": request.user, "assigned_by": request.user, "assigned_at": timezone.now()}
        Assignment.objects.update_or_create(**named(record), provider=self.side_of(request, record), defaults=facts)
        self.log_change(request, record, f"Assigned to {request.user}.")
        return f"{message} It is assigned to you."
