"""The facts on an application's page: claimed, sourced, and confirmed figures next to each other."""

from typing import Any

from django import forms
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Q
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.safestring import SafeString

from config.backoffice.bases import ReviewAdmin
from config.backoffice.forms import SeenForm
from config.backoffice.html import NOTHING, chip, column, link, moment, record_link
from config.backoffice.lists import ConditionFilter
from config.backoffice.personal import MASK
from config.backoffice.queues import Queue
from config.backoffice.records import RecordAction
from config.backoffice.transitions import actor_of
from config.core.currencies import exponent_of, to_minor_units
from config.core.figure_fields import AmountField
from credit.console.forms import add_language, chosen_in, languages_between
from credit.console.names import legal_names, person_cell
from credit.console.notices import days_left
from credit.console.records import OfApplication
from credit.console.score_words import value_in_words, verdict_of
from credit.core.facts import Known, name_of, path_of, pointer_of, read_facts
from credit.core.figures import money, reference_of
from credit.core.machine import DRAFT, FROZEN, JUDGEMENTS
from credit.core.profile import title_of
from credit.models import Application, Correction, DocumentFile, Report
from credit.models.applications import REVIEW_PERMISSION
from credit.models.reports import RECEIVED
from credit.reports.services import request_report
from credit.requirements.services import requirements_of
from credit.review.confirmations import confirm
from credit.review.report_ids import ended_reports, read_by_score
from credit.scoring.corrections import STATEMENT_MAX, answer_correction
from credit.scoring.facts_of import about_application, comparisons, score_again


class OpenFilter(ConditionFilter):
    title, parameter_name = "state", "state"
    conditions = {"open": ("Open", Q(closed_at__isnull=True)), "answered": ("Answered", Q(closed_at__isnull=False))}


class AnswerForm(SeenForm):
    status = forms.ChoiceField(
        label="Answer", choices=[(Correction.CORRECTED, "Correct the value"), (Correction.REFUSED, "Refuse")]
    )
    reason = forms.CharField(widget=forms.Textarea, max_length=STATEMENT_MAX, help_text="The applicant can read it.")

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        add_language(self)


def _answer(request: HttpRequest, correction: Correction, form: Any) -> str:
    answer = {name: form.cleaned_data[name] for name in ("status", "reason")}
    about = {**answer, "language": chosen_in(form), "actor": actor_of(request), "now": timezone.now()}
    with transaction.atomic():
        answered = answer_correction(str(correction.application_id), str(correction.pk), **about)
    if answered.score is None:
        return "You answered the correction."
    return (
        f"You answered the correction. The new score is {answered.score.total}: {verdict_of(answered.score.outcome)}."
    )


def fact_title(fact: str) -> str:
    """Return the title of a fact in words: `application_data.monthly_income_cents` is "Monthly income"."""
    return title_of((path_of(fact) or fact.split("."))[-1].removesuffix("_cents"), {})


def _value_in_words(correction: Correction, value: Any) -> str:
    if value is None:
        return NOTHING
    if correction.fact.endswith("_cents") and isinstance(value, int):
        return money(value, correction.application.shown_currency)
    return value_in_words(value)


def _stored_in_words(correction: Correction) -> str:
    """Return the value that the correction reports as wrong, in words."""
    earlier = Correction.known_of(correction.application_id).get(correction.fact)
    about = about_application(correction.application)
    known = earlier or read_facts({correction.fact}, now=timezone.now(), **about)[correction.fact]
    return _value_in_words(correction, known.value)


def _case_of(correction: Correction, _form: Any) -> dict[str, Any]:
    """Return the rows of the page that answers a correction: both values, the applicant's statement, and the file."""
    application = correction.application
    reference = record_link("credit_application", application.pk, reference_of(application.pk))
    claimed = _value_in_words(correction, correction.parsed_claim)
    rows = [
        ("Application", person_cell(legal_names(application), reference)),
        (fact_title(correction.fact), f"{_stored_in_words(correction)} → {claimed}"),
        ("Statement", correction.statement or NOTHING),
        ("File", _file_of(correction)),
    ]
    return {"case": [{"name": name, "value": value} for name, value in rows]}


def _file_of(correction: Correction) -> SafeString | str:
    if correction.file is None:
        return NOTHING
    address = reverse("admin:credit_application_file", args=(correction.application_id, correction.file_id))
    return link(address, f"Open {correction.file.name}")


@admin.register(Correction)
class CorrectionAdmin(OfApplication):
    """The admin of corrections that applicants request, sorted by deadline."""

    record_actions = (
        RecordAction(
            name="answer",
            label="Answer",
            permission=REVIEW_PERMISSION,
            run=_answer,
            form=AnswerForm,
            initial=lambda correction: languages_between(correction.application),
            beside=_case_of,
            refusal=lambda correction: "The correction is already answered." if correction.closed_at else "",
            seen=lambda correction: correction.status,
            consequences=lambda _correction: [
                (
                    "A corrected value creates a new score, which replaces the earlier score."
                    " The earlier score stays visible."
                ),
                "The applicant reads the answer and your reason. If the score changes, decide the application again.",
            ],
        ),
    )
    list_display = ("fact_in_words", "about", "left", "requested", "state")
    list_filter = (OpenFilter,)
    list_defer = ("claimed", "statement", "reason")
    ordering = ("due_at", "id")
    fields = (
        "about", "stored", "claim", "statement", "shown_file", "requested", "left", "state", "reason", "closed_by",
    )  # fmt: skip

    fact_in_words = column(fact_title, "fact", "value", ordering="fact")
    requested = column(moment, "requested_at", "reported")
    state = column(chip, "status", "status")

    def title_of(self, record: Correction) -> str:
        return f"of {fact_title(record.fact)}"

    @admin.display(description="stored")
    def stored(self, record: Correction) -> str:
        if record.closed_at or getattr(record, "is_masked", False):
            return NOTHING if record.closed_at else MASK
        return _stored_in_words(record)

    @admin.display(description="claimed")
    def claim(self, record: Correction) -> str:
        return MASK if getattr(record, "is_masked", False) else _value_in_words(record, record.parsed_claim)

    @admin.display(description="file")
    def shown_file(self, record: Correction) -> SafeString | str:
        return _file_of(record)

    @admin.display(description="deadline")
    def left(self, record: Correction) -> SafeString | str:
        return NOTHING if record.closed_at else days_left(record.due_at, now=timezone.now())


def open_corrections(application: Application) -> list[tuple[SafeString | str, Any]]:
    """Return a link and the remaining time for each open correction of an application."""
    rows = Correction.objects.filter(application=application, closed_at__isnull=True).only("fact", "due_at")
    now = timezone.now()
    return [
        (record_link("credit_correction", row.pk, fact_title(row.fact)), days_left(row.due_at, now=now)) for row in rows
    ]


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


_CLOSED = "Facts can be added only after submission and before the decision."


class ReportForm(SeenForm):
    """The form to request a report. The choices of `applicant` depend on the application."""

    kind = forms.ChoiceField(choices=[("credit", "Credit report"), ("income", "Income report")], label="Kind")
    purpose = forms.ChoiceField(
        choices=[
            ("credit_transaction", "Credit transaction (15 USC 1681b(a)(3)(A))"),
            ("written_instructions", "Written instructions of the applicant (15 USC 1681b(a)(2))"),
        ],
        label="Purpose",
    )


def facts_shown(application: Any) -> list[dict[str, Any]]:
    """Return the rows of claimed, sourced, confirmed, and corrected figures, unless the record is masked."""
    if getattr(application, "is_masked", False):
        return []
    members, currency = requirements_of(application).members, application.shown_currency
    return [
        {
            "name": title_of(
                row.path[-1].removesuffix("_cents"), members.get(row.path[-1], {}) if len(row.path) == 1 else {}
            ),
            "claimed": _figure(row.path[-1], row.claimed, currency),
            "sourced": _figure(row.path[-1], row.sourced, currency),
            "confirmed": _figure(row.path[-1], row.confirmed, currency),
            "corrected": _figure(row.path[-1], row.corrected, currency),
            "differs": row.differs,
        }
        for row in comparisons(application, now=timezone.now())
    ]


def _figure(member: str, known: Known | None, currency: str | None) -> str:
    """Format a value. If the source is not the applicant, append the date of the value."""
    if known is None or known.value is None:
        return NOTHING
    value = known.value
    if isinstance(value, bool):
        text = "yes" if value else "no"
    else:
        text = money(value, currency) if member.endswith("_cents") and isinstance(value, int) else str(value)
    return text if known.source == "applicant" or known.as_of is None else f"{text} ({known.as_of})"


class FactsConsole(ReviewAdmin):
    """The facts panel and its actions for reviewers: confirm a figure, request a report, and score again."""

    def page_of(self, request: HttpRequest, record: Any) -> dict[str, Any]:
        return {
            **super().page_of(request, record),
            "facts": facts_shown(record),
            "corrections": open_corrections(record) if record.has_open_correction else [],
        }

    def initial_of(self, record: Any, to: str) -> dict[str, Any]:
        """Add the stored reports to which a decision can refer. Select the reports that the score read."""
        initial = super().initial_of(record, to)
        if to not in JUDGEMENTS:
            return initial
        reports = [(str(report.pk), _report_title(report)) for report in ended_reports(record)]
        return {**initial, "reports": reports, "report_ids": read_by_score(record)}

    def actions_of(self, request: HttpRequest, record: Any) -> list[RecordAction]:
        actions = super().actions_of(request, record)
        is_masked = getattr(record, "is_masked", False)
        if is_masked or not self.may_review(request, record) or record.consumer_id == request.user.pk:
            return actions
        about: tuple[Any, ...]
        if record.names_scoring_model:
            about = (REVIEW_PERMISSION, _score_again, _effects_of_score, _refusal, _seen)
            actions.append(RecordAction("score-again", "Score again", *about))
        if form := _form_of(record):
            effects = _effects_of_confirmation
            about = (REVIEW_PERMISSION, _confirm, effects, _refusal, _seen)
            actions.append(RecordAction("confirm-figure", "Confirm a figure", *about, form))
        if persons := list(record.readable_applicants or ()):
            about = (REVIEW_PERMISSION, _request_report, _effects_of_report, _refusal, _seen)
            choices = [(number, person["legal_name"]) for number, person in enumerate(persons, start=1)]
            applicant = forms.TypedChoiceField(choices=choices, coerce=int, label="Applicant")
            form = type("ReportForm", (ReportForm,), {"applicant": applicant})
            actions.append(RecordAction("request-report", "Request report", *about, form))
        return actions


def _report_title(report: Report) -> str:
    return f"{report.kind.capitalize()} report about applicant {report.applicant}, {report.as_of}"


def _form_of(application: Application) -> type[SeenForm] | None:
    """Return the form that confirms a figure from a file, or None if the application has no figure."""
    data: Any = application.application_data
    members = requirements_of(application).members if isinstance(data, dict) else {}
    names = [name for name, value in data.items() if type(value) in {int, float}] if isinstance(data, dict) else []
    figures = [
        (pointer_of(path), title_of(name, members.get(name, {}))) for name in names if (path := path_of(name_of(name)))
    ]
    if not figures:
        return None

    currency = application.shown_currency
    limits: dict[str, Any] = {"max_digits": 15, "decimal_places": max(2, exponent_of(currency))}
    fields = {
        "value": AmountField(
            currency,
            label="The file shows",
            **limits,
            help_text=f"An amount in {currency or 'dollars'}, or another number.",
        ),
        "figure": forms.ChoiceField(choices=figures, label="Figure"),
        "file_id": forms.ChoiceField(
            choices=lambda: _uploaded(application), label="File", help_text="A file that the applicant uploaded."
        ),
    }
    return type("ConfirmForm", (SeenForm,), fields)


def _uploaded(application: Application) -> list[tuple[str, str]]:
    return [(str(pk), name) for pk, name in DocumentFile.uploaded_for(application).values_list("pk", "name")]


def _confirm(request: HttpRequest, application: Application, form: Any) -> str:
    pointer, shown = form.cleaned_data["figure"], form.cleaned_data["value"]
    number = shown
    if pointer.endswith("_cents"):
        number = to_minor_units(shown, application.shown_currency)
        if number % 1:
            raise ValidationError(f"{application.shown_currency} has no decimal places.")
    value = int(number) if number == int(number) else float(number)
    about = {"pointer": pointer, "value": value, "file_id": form.cleaned_data["file_id"]}
    with transaction.atomic():
        confirm(str(application.pk), **about, actor=actor_of(request), now=timezone.now())
    return "The figure is confirmed. Score the application again to use it."


def _score_again(request: HttpRequest, application: Application, _form: Any) -> str:
    with transaction.atomic():
        score = score_again(str(application.pk), actor=actor_of(request), now=timezone.now())
    return f"The new score is {score.total}: {verdict_of(score.outcome)}."


def _request_report(request: HttpRequest, application: Application, form: Any) -> str:
    about = {name: form.cleaned_data[name] for name in ("kind", "purpose", "applicant")}
    report, is_reused = request_report(str(application.pk), **about, actor=actor_of(request), now=timezone.now())
    if is_reused:
        return f"The report of {report.as_of} is still current, so the platform reuses it."
    return f"Status of the report: {report.get_status_display()}. Score the application again to use it."


def _effects_of_report(application: Application) -> list[str]:
    current = Report.objects.filter(application=application, status=RECEIVED, expires_at__gt=timezone.now())
    return [
        "The vendor receives the applicant's name, birth date, and address. The applicant can read the report.",
        "The platform reuses a current report at no cost.",
        *(f"Current: {_report_title(report)}." for report in current if report.is_about(application)),
    ]


def _refusal(application: Application) -> str:
    return _CLOSED if application.status == DRAFT or application.status in FROZEN else ""


def _seen(application: Application) -> str:
    return application.reviewed_state


def _effects_of_score(_application: Application) -> list[str]:
    return [
        "The champion of the model scores the application with its current facts.",
        "The new score replaces the earlier score, which stays visible. Reviewers decide the application.",
    ]


def _effects_of_confirmation(application: Application) -> list[str]:
    files = (
        link(reverse("admin:credit_application_file", args=(application.pk, pk)), f"Open {name}")
        for pk, name in _uploaded(application)
    )
    return [
        *files,
        "The platform stores the figure with your name and the file. The applicant can read it.",
        "The newest confirmation of a figure applies. Earlier confirmations stay visible.",
    ]
