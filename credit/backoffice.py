"""What this app adds to the back office beside its lists and pages: the form of transitions, queues, charts."""

from collections.abc import Iterable
from datetime import date, datetime, timedelta
from typing import Any
from uuid import UUID

from django import forms
from django.db.models import Avg, Count, DurationField, ExpressionWrapper, F
from django.db.models.functions import TruncDate
from django.utils import timezone

from config.backoffice import charts
from config.backoffice.admin import TransitionForm
from config.backoffice.html import duration
from config.backoffice.models import ReplyTemplate
from config.backoffice.queues import Queue, register
from credit.document_models import DOCUMENT_NAME_MAX_LENGTH, DOCUMENTS_MAX
from credit.machine import APPROVED, DECIDED, IN_REVIEW, PENDING_DOCUMENTS, REJECTED
from credit.models import Application, ApplicationHistory, DecisionAnchor
from credit.reasons import OTHER, OTHER_TEXT_MAX, REASONS, Reason, in_words, text_of

# Regulation B gives a creditor thirty days from a completed application to its answer (12 CFR 1002.9(a)(1)(i)).
REVIEW_DAYS = 30
UNDECIDED = (*IN_REVIEW, PENDING_DOCUMENTS)  # asking for documents does not stop the clock
TEMPLATES_MAX = 100
_LIST = "/admin/credit/application/"
_CODES = {"code_1": "First", "code_2": "Second", "code_3": "Third", "code_4": "Fourth"}


class ApplicationTransitionForm(TransitionForm):
    """The reason; for a rejection its principal reasons, for a request of documents their names."""

    documents = forms.CharField(
        widget=forms.Textarea(attrs={"rows": 4}),
        max_length=DOCUMENTS_MAX * (DOCUMENT_NAME_MAX_LENGTH + 2),
        label="Documents",
        help_text=f"One in each line, at most {DOCUMENTS_MAX}. The person reads this checklist.",
    )

    def __init__(self, *args: Any, to: str, **options: Any) -> None:
        super().__init__(*args, to=to, **options)
        self.reason_is_required = self.fields["reason"].required
        self.templates = {str(one.pk): one for one in ReplyTemplate.objects.all()[:TEMPLATES_MAX]}
        self.offer_templates(ReplyTemplate.REASON, "reason_template", "Or a reason that is used often")
        if to == PENDING_DOCUMENTS:
            self.offer_templates(ReplyTemplate.DOCUMENTS, "documents_template", "Or a list that is used often")
            self.fields["reason"].help_text = "What the person reads above the checklist."
            self.order_fields(["documents", "reason", "seen"])
        else:
            del self.fields["documents"]
        if to == REJECTED:
            choices = [("", "—"), *REASONS.items(), (OTHER, "Another reason, in your words")]
            for name, ordinal in _CODES.items():
                self.fields[name] = forms.ChoiceField(
                    choices=choices, required=ordinal == "First", label=f"{ordinal} principal reason"
                )
            self.fields["other"] = forms.CharField(
                required=False, max_length=OTHER_TEXT_MAX, label="The other reason, in your words"
            )
            self.fields["reason"].required = False
            self.fields["reason"].help_text = "What the person reads. Left empty, it is the principal reasons in words."
            self.order_fields([*_CODES, "other", "reason", "seen"])

    def offer_templates(self, use: str, field: str, label: str) -> None:
        """Offer the kept texts of a use in place of what is typed, where there are any."""
        choices = [(pk, one.name) for pk, one in self.templates.items() if one.use == use]
        if choices:
            self.fields[field] = forms.ChoiceField(choices=[("", "—"), *choices], required=False, label=label)
            self.fields[use].required = False

    def template_text(self, field: str) -> str:
        chosen = self.templates.get(self.cleaned_data.get(field) or "")
        return chosen.text if chosen else ""

    def read_documents(self) -> list[str]:
        """Return the names, one per line, without repetition."""
        text = f"{self.cleaned_data['documents']}\n{self.template_text('documents_template')}"
        lines = [" ".join(line.split()) for line in text.splitlines()]
        names = list(dict.fromkeys(line for line in lines if line))
        if not names:
            raise forms.ValidationError("Name at least one document.")
        if len(names) > DOCUMENTS_MAX or any(len(name) > DOCUMENT_NAME_MAX_LENGTH for name in names):
            raise forms.ValidationError(f"At most {DOCUMENTS_MAX} documents of {DOCUMENT_NAME_MAX_LENGTH} characters.")
        return names

    def clean(self) -> dict[str, Any]:
        """Read the list of documents; refuse a principal reason that is given twice, or another that is not told."""
        cleaned = super().clean() or self.cleaned_data
        if "documents" in cleaned:
            cleaned["documents"] = self.read_documents()
        cleaned["reason"] = cleaned.get("reason") or self.template_text("reason_template")
        if self.reason_is_required and not cleaned["reason"]:
            raise forms.ValidationError("Give a reason, or choose one.")
        if (OTHER in map(cleaned.get, _CODES)) != bool(cleaned.get("other")):
            raise forms.ValidationError("Say the other reason in your words, and choose it among the principal ones.")
        if len(told := [text_of(reason) for reason in self.reasons()]) != len(set(told)):
            raise forms.ValidationError("Give each principal reason once.")
        return cleaned

    def reasons(self) -> list[Reason]:
        """Return the principal reasons chosen, most important first."""
        chosen = map(self.cleaned_data.get, _CODES)
        other = {"code": OTHER, "text": self.cleaned_data.get("other", "")}
        return [other if code == OTHER else code for code in chosen if code]

    def reason_given(self) -> str | None:
        """Return the reason; a rejection's principal reasons speak for themselves."""
        return super().reason_given() or in_words(self.reasons())

    def metadata(self) -> Any:
        if reasons := self.reasons():
            return {"reasons": reasons}
        if documents := self.cleaned_data.get("documents"):
            return {"documents": documents}
        return None


register(
    Queue(
        name="review",
        title="Applications to review",
        permission="credit.review_application",
        rows=lambda _user: Application.objects.filter(status__in=IN_REVIEW),
        waiting_since="submitted_at",
        address=f"{_LIST}?queue=review",
        take=f"{_LIST}oldest/",
        calm="Nothing waits for a review.",
        urgent_days=REVIEW_DAYS - 9,
        rank=10,
    ),
    Queue(
        name="documents",
        title="Waiting for documents",
        permission="credit.review_application",
        rows=lambda _user: Application.objects.filter(status=PENDING_DOCUMENTS),
        waiting_since="updated_at",
        address=f"{_LIST}?queue=documents",
        calm="Nobody owes documents.",
        rank=20,
    ),
    Queue(
        name="anchors",
        title="Decisions not in the ledger yet",
        permission="credit.view_decisionanchor",
        rows=lambda _user: DecisionAnchor.objects.filter(anchored_at__isnull=True),
        waiting_since="due_at",
        address="/admin/credit/decisionanchor/?anchored_at__isempty=1",
        calm="Every decision is anchored.",
        rank=80,
    ),
)


def _first_id_of(moment: datetime) -> UUID:
    """Return the lowest UUIDv7 of a moment: ids grow with time, so the primary key answers questions about it."""
    return UUID(int=int(moment.timestamp() * 1000) << 80)


def _decided_by_day() -> tuple[list[date], dict[tuple[date, str], tuple[int, timedelta]]]:
    """Return the last days, and for each with decisions their number and mean time since submission."""
    now = timezone.now()
    days = charts.last_days(now.date())
    since = now - timedelta(days=charts.DAYS)
    took = ExpressionWrapper(F("changed_at") - F("application__submitted_at"), output_field=DurationField())
    rows = (
        ApplicationHistory.objects.filter(id__gte=_first_id_of(since), changed_at__gte=since, status__in=DECIDED)
        .annotate(day=TruncDate("changed_at"))
        .values("day", "status")
        .order_by()
        .annotate(decided=Count("id"), took=Avg(took))
    )
    return days, {(row["day"], row["status"]): (row["decided"], row["took"] or timedelta()) for row in rows}


def decisions_per_day() -> charts.Numbers:
    days, found = _decided_by_day()
    approved, rejected = ([found.get((day, status), (0, None))[0] for day in days] for status in (APPROVED, REJECTED))
    mean = _mean(found.values())
    return charts.Numbers(
        days,
        (charts.Series("approved", "good", approved), charts.Series("rejected", "bad", rejected)),
        facts=(("Mean time from submission to decision:", duration(mean)),) if mean is not None else (),
    )


def days_to_decision() -> charts.Numbers:
    days, found = _decided_by_day()
    means = [_mean(entry for (decided, _), entry in found.items() if decided == day) for day in days]
    values = [round(mean / timedelta(days=1), 1) if mean is not None else 0 for mean in means]
    return charts.Numbers(days, (charts.Series("days, on average", "wait", values),))


def _mean(entries: Iterable[tuple[int, timedelta]]) -> timedelta | None:
    """Return the mean of means, each weighted by its number; None of nothing."""
    counted = list(entries)
    total = sum(count for count, _ in counted)
    return sum((took * count for count, took in counted), timedelta()) / total if total else None


charts.register(
    charts.Chart(
        name="decisions",
        title=f"Decisions per day, last {charts.DAYS} days",
        permission="credit.view_application",
        numbers=decisions_per_day,
        calm="No decision in this time. Approvals and rejections will be drawn here.",
    ),
    charts.Chart(
        name="time-to-decision",
        title=f"Days from submission to decision, last {charts.DAYS} days",
        permission="credit.view_application",
        numbers=days_to_decision,
        calm="No decision in this time. How long each took will be drawn here.",
    ),
)
