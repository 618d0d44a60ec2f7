"""Litigation holds on an application's page."""

from typing import Any

from django import forms
from django.http import HttpRequest
from django.utils import timezone

from config.backoffice.bases import RecordAction, SeenForm
from config.backoffice.consoles import may
from config.backoffice.transitions import CREDENTIAL
from config.core.lifecycle import Actor
from config.core.log_in import gave_second_factor
from credit.console.retained import RetainedFiles
from credit.models import Application, RetentionHold
from credit.notices.retention import HOLD_PERMISSION, set_hold


class HoldForm(SeenForm):
    reason = forms.CharField(max_length=500, help_text="The platform stores it with your name.")


def _is_on(application: Application) -> bool:
    hold = RetentionHold.newest_of(application)
    return hold is not None and hold.is_on


def _change(request: HttpRequest, application: Application, form: Any) -> str:
    actor = Actor(user=request.user, credential=CREDENTIAL, second_factor=gave_second_factor(request))
    reason, on = form.cleaned_data["reason"], not _is_on(application)
    set_hold(str(application.pk), on=on, reason=reason, actor=actor, now=timezone.now())
    return "The litigation hold is on." if on else "The litigation hold is off."


def _consequences(application: Application) -> list[str]:
    if _is_on(application):
        return [
            ("This ends the hold. The platform erases the application's records when no other retention rule applies.")
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
    """Shows a litigation hold to viewers with its permission, which a lender's members don't have."""

    def page_of(self, request: HttpRequest, record: Any) -> dict[str, Any]:
        page = super().page_of(request, record)
        if may(request.user, "credit.view_retentionhold"):
            hold = RetentionHold.newest_of(record)
            if hold is not None and hold.is_on:
                page["notices"].append(f"Litigation hold since {hold.at:%Y-%m-%d}: {hold.reason}")
        return page

    def actions_of(self, request: HttpRequest, record: Any) -> list[RecordAction]:
        actions = super().actions_of(request, record)
        return [*actions, _HOLD] if may(request.user, HOLD_PERMISSION) else actions
