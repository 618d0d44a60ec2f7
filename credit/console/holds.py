"""The litigation hold on an application's page."""

from typing import Any

from django import forms
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone

from config.backoffice.bases import RecordAction, ReviewAdmin, SeenForm
from config.backoffice.consoles import console_of, may
from config.backoffice.html import day_in_words
from config.backoffice.transitions import actor_of
from credit.console.lender_console import sent
from credit.core.figures import reference_of
from credit.models import Application, RetentionHold
from credit.notices.retention import HOLD_PERMISSION, set_hold

_RETAINED = sent(with_erased=True)


class RetainedFiles(ReviewAdmin):
    """Allow a lender's members to open the masked page of a retained application by its URL.

    Lists, searches, and exports exclude retained applications.
    """

    def viewable(self, request: HttpRequest, rows: QuerySet[Any]) -> QuerySet[Any]:
        console, match = console_of(request.user), request.resolver_match
        pages = f"{self.opts.app_label}_{self.opts.model_name}_"
        is_page = match is not None and str(match.url_name).startswith(pages) and "object_id" in match.kwargs
        return super().viewable(request, rows) if console is None or not is_page else rows.filter(_RETAINED(console))


class HoldForm(SeenForm):
    reason = forms.CharField(max_length=500, help_text="The platform stores it with your name.")


def hold_in_words(application_id: Any, *, is_on: bool) -> str:
    """Return the message after the start or the end of a hold."""
    return f"The litigation hold of {reference_of(application_id)} is {'on' if is_on else 'off'}."


def _is_on(application: Application) -> bool:
    hold = RetentionHold.newest_of(application)
    return hold is not None and hold.is_on


def _change(request: HttpRequest, application: Application, form: Any) -> str:
    reason, on = form.cleaned_data["reason"], not _is_on(application)
    set_hold(str(application.pk), on=on, reason=reason, actor=actor_of(request), now=timezone.now())
    return hold_in_words(application.pk, is_on=on)


def _consequences(application: Application) -> list[str]:
    if _is_on(application):
        return [
            "This ends the hold. The platform can erase the application's records when no other retention rule applies."
        ]
    return ["This starts the hold. The platform erases no record of the application while the hold is active."]


_HOLD = RecordAction(
    name="hold",
    label="Start or end a litigation hold",
    permission=HOLD_PERMISSION,
    run=_change,
    form=HoldForm,
    seen=lambda application: f"{application.pk}:{_is_on(application)}",
    consequences=_consequences,
)


class HoldConsole(RetainedFiles):
    """Display a litigation hold to viewers with the permission for holds, which a lender's members lack."""

    def page_of(self, request: HttpRequest, record: Any) -> dict[str, Any]:
        page = super().page_of(request, record)
        if may(request.user, "credit.view_retentionhold"):
            hold = RetentionHold.newest_of(record)
            if hold is not None and hold.is_on:
                page["notices"].append(f"Litigation hold since {day_in_words(hold.at)}: {hold.reason}")
        return page

    def actions_of(self, request: HttpRequest, record: Any) -> list[RecordAction]:
        actions = super().actions_of(request, record)
        return [*actions, _HOLD] if may(request.user, HOLD_PERMISSION) else actions
