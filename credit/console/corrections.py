"""Values that applicants report as wrong, and the reviewers' responses."""

from typing import Any

from django import forms
from django.contrib import admin
from django.db import transaction
from django.db.models import Q
from django.http import HttpRequest
from django.utils import timezone
from django.utils.safestring import SafeString

from config.backoffice.forms import SeenForm
from config.backoffice.html import NOTHING, chip, column, moment, record_link
from config.backoffice.lists import ConditionFilter
from config.backoffice.personal import MASK
from config.backoffice.queues import Queue
from config.backoffice.records import RecordAction
from config.backoffice.transitions import CREDENTIAL
from config.core.lifecycle import Actor
from config.core.log_in import gave_second_factor
from credit.console.notices import days_left
from credit.console.records import OfApplication
from credit.core.figures import money
from credit.models import Application, Correction
from credit.models.applications import REVIEW_PERMISSION
from credit.scoring.corrections import STATEMENT_MAX, answer_correction


class OpenFilter(ConditionFilter):
    title, parameter_name = "state", "state"
    conditions = {"open": ("Open", Q(closed_at__isnull=True)), "answered": ("Answered", Q(closed_at__isnull=False))}


class AnswerForm(SeenForm):
    status = forms.ChoiceField(
        label="Answer", choices=[(Correction.CORRECTED, "Correct the value"), (Correction.REFUSED, "Refuse")]
    )
    reason = forms.CharField(widget=forms.Textarea, max_length=STATEMENT_MAX, help_text="The applicant can read it.")


def _answer(request: HttpRequest, correction: Correction, form: Any) -> str:
    actor = Actor(user=request.user, credential=CREDENTIAL, second_factor=gave_second_factor(request))
    answer = {name: form.cleaned_data[name] for name in ("status", "reason")}
    with transaction.atomic():
        answered = answer_correction(
            str(correction.application_id), str(correction.pk), **answer, actor=actor, now=timezone.now()
        )
    if answered.score is None:
        return "You answered the correction."
    return f"You answered the correction. The new score is {answered.score.total}: {answered.score.outcome}."


@admin.register(Correction)
class CorrectionAdmin(OfApplication):
    """Corrections that applicants request, by deadline."""

    record_actions = (
        RecordAction(
            name="answer",
            label="Answer",
            permission=REVIEW_PERMISSION,
            run=_answer,
            form=AnswerForm,
            refusal=lambda correction: "The correction is already answered." if correction.closed_at else "",
            seen=lambda correction: correction.status,
            consequences=lambda _correction: [
                (
                    "A corrected value creates a new score, which replaces the earlier one."
                    " The earlier score stays visible."
                ),
                "The applicant reads the answer and your reason. If the score changes, decide the application again.",
            ],
        ),
    )
    list_display = ("__str__", "about", "left", "requested", "state")
    list_filter = (OpenFilter,)
    list_defer = ("claimed", "statement", "reason")
    ordering = ("due_at", "id")
    fields = ("about", "fact", "claim", "statement", "file", "requested", "left", "state", "reason", "closed_by")

    requested = column(moment, "requested_at", "reported")
    state = column(chip, "status", "status")

    @admin.display(description="claimed")
    def claim(self, record: Correction) -> str:
        return MASK if getattr(record, "is_masked", False) else _claim_in_words(record)

    @admin.display(description="left")
    def left(self, record: Correction) -> SafeString | str:
        return NOTHING if record.closed_at else days_left(record.due_at, now=timezone.now())


def _claim_in_words(record: Correction) -> str:
    value, name = record.parsed_claim, record.fact
    if not name.endswith("_cents") or not isinstance(value, int):
        return str(value)
    return money(value, record.application.shown_currency)


def open_corrections(application: Application) -> list[tuple[SafeString | str, Any]]:
    """Return a link and the time left for each open correction of an application."""
    rows = Correction.objects.filter(application=application, closed_at__isnull=True).only("fact", "due_at")
    now = timezone.now()
    return [(record_link("credit_correction", row.pk, row.fact), days_left(row.due_at, now=now)) for row in rows]


QUEUE = Queue(
    name="corrections",
    title="Corrections to answer",
    permission="credit.view_correction",
    rows=lambda _user: Correction.objects.filter(closed_at__isnull=True),
    waiting_since="requested_at",
    address="/admin/credit/correction/?state=open",
    calm="No corrections are open.",
    urgent_days=20,
    rank=15,
)
