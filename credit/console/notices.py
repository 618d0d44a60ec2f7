"""Notices in the back office: their deadlines with the remaining days, and each notice next to its source data."""

import re
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, cast

from django import forms
from django.conf import settings
from django.contrib import admin
from django.db import transaction
from django.db.models import Prefetch, Q, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from config.backoffice.bases import RecordAction, SeenForm
from config.backoffice.html import (
    NOTHING,
    chip,
    code,
    column,
    details,
    duration,
    grid,
    moment,
    record_link,
    title_of,
    words,
)
from config.backoffice.lists import ConditionFilter
from config.backoffice.personal import MASK, mask
from config.backoffice.queues import Queue
from config.backoffice.records import Button
from config.backoffice.transitions import actor_of
from credit.console.records import OfApplication, WithCase
from credit.core.applicant_words import translated_language
from credit.core.figures import reference_of
from credit.models import Application, Clock, Notice, ReviewRequest
from credit.models.notices import UNDELIVERED
from credit.notices.services import RECORDED, REFERENCE_MAX, record_delivery

if TYPE_CHECKING:
    from credit.console.reconsideration import ReconsiderationConsole

# A deadline of 30 days is yellow from day 20 and red from day 28. A deadline of 90 days changes color when the same
# number of days is left.
LATE, OVER = timedelta(days=10), timedelta(days=2)


def days_left(due_at: datetime, *, now: datetime) -> SafeString:
    """Display the time until a deadline: yellow for at most 10 days, red for at most 2 days."""
    left = due_at - now
    tone = "over" if left <= OVER else "late" if left <= LATE else "fine"
    text = f"{duration(left)} left" if left > timedelta() else f"overdue by {duration(-left)}"
    return format_html('<span class="clock clock-{}">{}</span>', tone, text)


class RunningFilter(ConditionFilter):
    title, parameter_name = "state", "state"
    conditions = {
        "running": ("Running", Q(stopped_at__isnull=True)),
        "overdue": ("Overdue", lambda _request: Q(stopped_at__isnull=True, due_at__lte=timezone.now())),
        "stopped": ("Stopped", Q(stopped_at__isnull=False)),
    }


class DutyFilter(ConditionFilter):
    title, parameter_name = "deadline for", "duty"
    conditions = {
        "notice": ("Notices", Q(kind__in=Clock.TO_NOTIFY)),
        "answer": ("Answers to requests for reconsideration", Q(kind=Clock.REVIEW)),
    }


# The queue and the list have the same title.
DEADLINES = "Deadlines for notices"
_DUTIES = {
    Clock.APPLICATION: "Notice of the decision on the application",
    Clock.ACTION: "Notice of the action taken",
    Clock.COUNTEROFFER: "Notice of denial after the counteroffer",
    Clock.REVIEW: "Answer to the request for reconsideration",
}
_NEXT_STEP = {
    "due": "the creation of the notice ({})",
    "ready": "the delivery of the notice ({})",
    "failed": "a new delivery of the notice ({}): the delivery failed",
}
_ENDS = {
    Clock.TOLD: "The notice was delivered",
    Clock.TOLD_WHAT_IS_MISSING: "The notice of missing documents was delivered",
    Clock.TAKEN_UP: "The applicant accepted the loan",
    Clock.WITHDRAWN: "The application was withdrawn",
    Clock.NOT_COMPLETED: "The application was not completed",
    Clock.ANSWERED: "The request was answered",
    Clock.ENDED: "The counteroffer ended",
}


@admin.register(Clock)
class ClockAdmin(OfApplication):
    """The admin of deadlines for notices and for answers to requests, earliest deadline first."""

    list_title = DEADLINES
    list_display = ("duty", "about", "left", "waits", "started", "due", "end")
    list_filter = (RunningFilter, DutyFilter)
    ordering = ("due_at", "id")
    fields = ("about", "duty", "started", "due", "left", "waits", "stopped", "end", "announced")

    duty = column(_DUTIES.__getitem__, "kind", "deadline for")
    end = column(lambda why: _ENDS.get(why, NOTHING), "why", "end")
    started = column(moment, "started_at", "started")
    due = column(moment, "due_at", "due", ordering="due_at")
    stopped = column(moment, "stopped_at", "stopped")
    announced = column(moment, "overdue_told_at", "overdue event sent")

    @property
    def kind(self) -> str:
        return "deadline"

    def page_of(self, request: HttpRequest, record: Clock) -> dict[str, Any]:
        return {**super().page_of(request, record), "title": self.title_of(record)}

    def title_of(self, record: Clock) -> str:
        return f"{_DUTIES[record.kind]}: {reference_of(record.application_id)}"

    @admin.display(description="deadline", ordering="due_at")
    def left(self, record: Clock) -> SafeString | str:
        return NOTHING if record.stopped_at else days_left(record.due_at, now=timezone.now())

    def get_queryset(self, request: HttpRequest) -> QuerySet[Clock]:
        notices = Notice.objects.filter(status__in=UNDELIVERED).defer("content", "html").order_by("id")
        return super().get_queryset(request).prefetch_related(Prefetch("application__notices", notices))

    @admin.display(description="waits for")
    def waits(self, record: Any) -> SafeString | str:
        """Return the step that meets the deadline: a decision, or the next step of the notice."""
        if record.stopped_at:
            return NOTHING
        notices = record.application.notices.all()
        notice = notices[len(notices) - 1] if notices else None
        if record.kind == Clock.REVIEW or notice is None:
            return "a decision"
        return record_link(
            "credit_notice", notice.pk, notice.waiting_reason or _NEXT_STEP[notice.status].format(words(notice.kind))
        )


class DeliveryForm(SeenForm):
    channel = forms.ChoiceField(
        choices=lambda: [(channel, words(channel)) for channel in RECORDED if channel in settings.NOTICE_CHANNELS],
        help_text="By post, or by the lender's own channel.",
    )
    at = forms.DateTimeField(label="When", initial=timezone.now, help_text="In UTC, after the notice was created.")
    reference = forms.CharField(
        max_length=REFERENCE_MAX, help_text="Evidence, such as the number of the registered letter."
    )


def _deliver(request: HttpRequest, notice: Notice, form: Any) -> str:
    facts = {name: form.cleaned_data[name] for name in ("channel", "at", "reference")}
    with transaction.atomic():
        about = {**facts, "actor": actor_of(request), "now": timezone.now()}
        record_delivery(str(notice.application_id), str(notice.pk), **about)
    return "The delivery is recorded."


def _not_delivered(notice: Notice) -> str:
    if not {*RECORDED} & {*settings.NOTICE_CHANNELS}:
        return "NOTICE_CHANNELS includes neither `post` nor `provider`."
    return {"due": "The notice is not created yet.", "cancelled": "The notice was canceled."}.get(notice.status, "")


@admin.register(Notice)
class NoticeAdmin(OfApplication):
    """The admin of notices.

    As in the API, reviewers can record that a notice was delivered by post or by the lender.
    """

    record_actions = (
        RecordAction(
            name="deliver",
            label="Record a delivery",
            permission="credit.review_application",
            run=_deliver,
            form=DeliveryForm,
            refusal=_not_delivered,
            seen=lambda notice: f"{notice.status}:{notice.moves}",
            consequences=lambda _notice: [
                "The notice counts as delivered at that time. The deadlines of its application end then.",
                "The platform stores the delivery with your name permanently.",
            ],
        ),
    )
    change_form_template = "credit/backoffice_notice.html"
    list_display = ("__str__", "about", "applicant", "state", "left", "due", "delivered", "rules", "language_name")
    list_filter = ("status", "kind")
    list_defer = ("content", "html")
    ordering = ("-id",)
    fields = (
        "about", "applicant", "kind", "state", "waits", "due", "left", "made", "delivered", "reached", "rules",
        "language_name", "digest",
    )  # fmt: skip

    state = column(chip, "status", "status")
    due = column(moment, "due_at", "due")
    made = column(moment, "made_at", "created")
    delivered = column(moment, "delivered_at", "delivered")
    digest = column(code, "sha256", "SHA-256")
    language_name = column(translated_language, "language", "language")
    rules = column(title_of, "profile", "rules")
    waits = column(lambda reason: reason or NOTHING, "waiting_reason", "waits for")

    @admin.display(description="deadline")
    def left(self, record: Notice) -> SafeString | str:
        is_over = record.status in {"delivered", "cancelled"}
        return NOTHING if is_over else days_left(record.due_at, now=timezone.now())

    @admin.display(description="delivered by")
    def reached(self, record: Notice) -> SafeString | str:
        is_erased = getattr(record, "is_of_erased", False)
        rows = ((row, mask(row.evidence) if is_erased else row.evidence) for row in record.deliveries.all())
        return grid((words(row.channel), moment(row.at), details(evidence)) for row, evidence in rows)

    def page_of(self, request: HttpRequest, record: Any) -> dict[str, Any]:
        """Display the notice as the applicant sees it, next to its source data.

        If the record is masked, the notice and the data are masked.
        """
        if getattr(record, "is_masked", False):
            return {**super().page_of(request, record), "as_read": MASK, "made_from": MASK}
        shown = _inner(record.html) if record.html else "The notice is not created yet, or its retention has ended."
        return {**super().page_of(request, record), "as_read": shown, "made_from": details(record.made_from)}


def _inner(html: str) -> SafeString:
    """Return the body of a notice's page, with headings two levels lower.

    The HTML is safe, because the notice's template escaped all values.
    """
    body = html.partition("<main>")[2].partition("</main>")[0]
    return mark_safe(re.sub(r"(</?h)([12])>", lambda at: f"{at[1]}{int(at[2]) + 2}>", body))  # noqa: S308


VIEW_REQUESTS = "credit.view_reviewrequest"
STATEMENT = "Statement of the applicant"


class AnsweredFilter(ConditionFilter):
    title, parameter_name = "state", "state"
    conditions = {"open": ("Open", Q(answered_at__isnull=True)), "answered": ("Answered", Q(answered_at__isnull=False))}


@admin.register(ReviewRequest)
class ReviewRequestAdmin(WithCase):
    """The admin of requests for reconsideration. A new decision on the application closes a request.

    The page has the same actions as the page of the application.
    """

    list_display = ("number", "about", "left", "requested", "answered", "outcome")
    list_filter = (AnsweredFilter,)
    list_defer = ("statement",)
    ordering = ("due_at", "id")

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:  # noqa: ARG002
        is_open = obj is not None and obj.answered_at is None
        return ("about", "statement", "requested", *(("left",) if is_open else ("answered", "answered_by", "outcome")))

    number = column(reference_of, "application_id", "request for reconsideration")
    requested = column(moment, "requested_at", "requested")
    answered = column(moment, "answered_at", "answered")

    def page_of(self, request: HttpRequest, record: Any) -> dict[str, Any]:
        page = super().page_of(request, record)
        if record.answered_at is not None:
            return page
        who = cast("ReconsiderationConsole", self.admin_site.get_model_admin(Application)).who_answers(request, record)
        return {**page, "notices": [*page["notices"], who]}

    def case_rows(self, request: HttpRequest, record: Any, rows: list[Any], case: Any) -> list[Any]:  # noqa: ARG002
        """Add the earlier decision to an answered request.

        While the request is open, `rows` already contains this decision.
        """
        if record.answered_at is None:  # another field of the page displays the statement
            return [row for row in rows if row["name"] != STATEMENT]
        cases = cast("ReconsiderationConsole", self.admin_site.get_model_admin(Application))
        return [*rows, *cases.earlier_decision(case, record)]

    def buttons_of(self, request: HttpRequest, row: ReviewRequest) -> list[Button]:
        buttons = super().buttons_of(request, row)
        cases = cast("ReconsiderationConsole", self.admin_site.get_model_admin(Application))
        case = cases.get_object(request, str(row.application_id)) if row.answered_at is None else None
        if case is None or not cases.may_review(request, case):
            return buttons
        # The filters of this list do not apply to the list of applications.
        answers = [
            replace(answer, address=answer.address.partition("?")[0]) for answer in cases.answers_of(request, case)
        ]
        return [*answers, *buttons]

    @admin.display(description="deadline")
    def left(self, record: ReviewRequest) -> SafeString | str:
        return NOTHING if record.answered_at else days_left(record.due_at, now=timezone.now())


NOTICE_DEADLINES = Queue(
    name="notices",
    title=DEADLINES,
    permission="credit.view_clock",
    rows=lambda _user: Clock.objects.filter(stopped_at__isnull=True, kind__in=Clock.TO_NOTIFY),
    waiting_since="due_at",
    ends=True,
    address="/admin/credit/clock/?state=running&duty=notice",
    calm="No notices are waiting.",
    urgent_days=OVER.days,
    rank=12,
)
RECONSIDERATIONS = Queue(
    name="review-requests",
    title="Requests for reconsideration",
    permission=VIEW_REQUESTS,
    rows=lambda _user: ReviewRequest.objects.filter(answered_at__isnull=True),
    waiting_since="requested_at",
    address="/admin/credit/reviewrequest/?state=open",
    calm="No requests for reconsideration.",
    urgent_days=20,
    rank=14,
)
