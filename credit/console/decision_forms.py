"""The forms of an application's transitions: a form for each new status."""

from collections.abc import Collection
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, ClassVar

from django import forms
from django.utils import timezone

from config.backoffice.bases import TransitionForm
from config.backoffice.forms import ReasonField, TemplateSelect
from config.backoffice.html import day_in_words
from config.core.casework import ReplyTemplate
from config.core.names import clean_words
from credit.console.forms import (
    API_NAMES,
    CODES,
    COUNTERED,
    DAY,
    LOAN_FIELDS,
    OTHER_LABEL,
    REASON_CHOICES,
    UNCHANGED,
    add_language,
    chosen_in,
    loan_fields,
    terms_of,
)
from credit.core import apr
from credit.core.figures import money
from credit.core.loan_words import display, months_in_words
from credit.core.machine import APPROVED, COUNTEROFFER, PENDING_DOCUMENTS, REJECTED, UNDER_REVIEW
from credit.core.quotes import FIRST_PAYMENT_MAX_MONTHS
from credit.core.reasons import (
    APPROVED_TEXT,
    OF_A_REPORT,
    OTHER,
    OTHER_TEXT_MAX,
    REASONS,
    Reason,
    in_words,
    names_no_factor,
    text_of,
)
from credit.models.documents import DOCUMENT_NAME_MAX_LENGTH, DOCUMENTS_MAX
from credit.terms.counteroffers import OPEN_MAX_DAYS

TEMPLATES_MAX = 100
UNSPECIFIC = "This is no specific reason. Enter what was insufficient, such as income, employment, or collateral."
WITHOUT_REPORT = (
    "This reason refers to a credit report. Select a report that the decision uses, or another reason, such as "
    f"“{REASONS['inquiries_stated']}”."
)


class ApplicationTransitionForm(TransitionForm):
    """The form of a transition. The reviewer can insert reply templates into its text fields.

    If the applicant's language differs from the offer's language, the form has a field for the language of the text. If
    the score proposes another decision, the form requires an internal reason.
    """

    # The reason field offers the reply templates with this use, and the templates for all transitions.
    reason_use: ClassVar[str] = ReplyTemplate.REASON

    def __init__(self, *args: Any, to: str, **options: Any) -> None:
        super().__init__(*args, to=to, **options)
        self.currency = self.initial.get("currency")
        self.templates = list(ReplyTemplate.objects.filter(provider__in=self.sides)[:TEMPLATES_MAX])
        self.add_fields()
        if self.initial.get("against_score"):
            self.add_score_reason()
        if reports := self.initial.get("reports"):
            self.fields["report_ids"] = forms.MultipleChoiceField(
                choices=reports, required=False, widget=forms.CheckboxSelectMultiple,
                label="Reports that the decision uses",
                help_text="The notice contains the agency, score, and factors of each selected report. If you select "
                "none, the notice contains those of the reports that the score read.",
            )  # fmt: skip
        if not self.fields["reason"].widget.is_hidden:
            add_language(self)
        self.insert_templates()

    def add_fields(self) -> None:
        self.offer_templates({ReplyTemplate.REASON, self.reason_use}, "reason", label="Common reason")

    def offer_templates(self, uses: Collection[str], field: str, *, label: str) -> None:
        """Add a select of the templates with these uses. The reviewer can insert a template's text into `field`."""
        offered = [template for template in self.templates if template.use in uses]
        if offered:
            texts = {str(template.pk): template.text for template in offered}
            self.fields[f"{field}_template"] = forms.ChoiceField(
                choices=[("", "—"), *((str(template.pk), template.name) for template in offered)],
                required=False,
                label=label,
                help_text="You can change the inserted text.",
                widget=TemplateSelect(field, texts),
            )

    def insert_templates(self) -> None:
        """Insert the texts of the selected templates into the submitted data. The page then shows the form again."""
        widgets = {name: field.widget for name, field in self.fields.items()}
        selects = {name: widget for name, widget in widgets.items() if isinstance(widget, TemplateSelect)}
        data: Any = self.data
        for name, select in selects.items():
            if not (text := select.texts.get(data.get(name, ""))):
                continue
            if not self.inserted:
                self.data = data = data.copy()
                self.inserted = True
            typed = data.get(select.field, "").replace("\r\n", "\n").rstrip()
            data[select.field] = typed if text in typed else "\n".join(filter(None, [typed, text]))
            data[name] = ""

    def add_score_reason(self) -> None:
        """Add a field for the internal reason against the score's proposal.

        The field is above the reason for the applicant.
        """
        names = [*self.fields]
        self.fields["score_reason"] = _internal_reason()
        self.order_fields([*names[: names.index("reason")], "score_reason"])

    def score_reason(self) -> str:
        """Return the internal reason for a decision against the score's proposal, or "" without such a field."""
        return str(self.cleaned_data.get("score_reason", ""))

    def members(self) -> dict[str, Any]:
        """Return the transition's metadata without the selected reports and the language."""
        return {}

    def metadata(self) -> Any:
        reports = self.cleaned_data.get("report_ids")
        language = chosen_in(self)
        return {
            **self.members(),
            **({"report_ids": reports} if reports else {}),
            **({"language": language} if language else {}),
        } or None


def _internal_reason() -> ReasonField:
    return ReasonField(
        max_length=4_000, widget=forms.Textarea(attrs={"rows": 3}), label="Why you deviate from the score",
        help_text="Colleagues read your reason on the case. The applicant's pages don't show the reason, but a copy of "
        "the applicant's data contains it.",
    )  # fmt: skip


class ReviewForm(ApplicationTransitionForm):
    reason_use = ReplyTemplate.REVIEW


class DocumentsForm(ApplicationTransitionForm):
    """The request for documents, with a checklist of one document per line."""

    reason_use = ReplyTemplate.REQUEST
    documents = forms.CharField(
        widget=forms.Textarea(attrs={"rows": 4}),
        max_length=DOCUMENTS_MAX * (DOCUMENT_NAME_MAX_LENGTH + 2),
        label="Documents",
        help_text=f"One document per line, at most {DOCUMENTS_MAX}. The applicant reads this checklist.",
    )

    def add_fields(self) -> None:
        super().add_fields()
        self.offer_templates({ReplyTemplate.DOCUMENTS}, "documents", label="Common list")
        self.fields["reason"].help_text = "The applicant reads this above the checklist."
        self.order_fields(["documents", "documents_template", "reason", "reason_template", "seen"])

    def clean_documents(self) -> list[str]:
        """Return the document names without duplicates. Each line of the input is a name."""
        lines = self.cleaned_data["documents"].splitlines()
        try:
            names = list(dict.fromkeys(clean_words(line) for line in lines if line.strip()))
        except ValueError as error:
            raise forms.ValidationError(str(error)) from error
        if len(names) > DOCUMENTS_MAX or any(len(name) > DOCUMENT_NAME_MAX_LENGTH for name in names):
            raise forms.ValidationError(f"At most {DOCUMENTS_MAX} documents of {DOCUMENT_NAME_MAX_LENGTH} characters.")
        return names

    def members(self) -> dict[str, Any]:
        return {"documents": self.cleaned_data["documents"]}


class LoanForm(ApplicationTransitionForm):
    """A form with the terms of a loan."""

    def add_fields(self) -> None:
        super().add_fields()
        self.fields.update(loan_fields(self.currency))
        if self.initial.get("term_months"):
            self.fields["term_months"].help_text = ""

    def field_of(self, path: str) -> str:
        name = super().field_of(path)
        return API_NAMES.get(name, name)

    def clean_first_payment_on(self) -> date | None:
        day, today = self.cleaned_data["first_payment_on"], timezone.now().date()
        latest = apr.in_month(apr.month_of(today) + FIRST_PAYMENT_MAX_MONTHS, today.day)
        return day and _day_by(day, latest, today=today)

    def terms(self) -> dict[str, Any]:
        """Return the submitted terms."""
        return terms_of(self.cleaned_data, self.currency)


def _day_by(day: date, last: date, *, today: date) -> date:
    """Return `day`. Raises ValidationError unless `day` is after today and not after `last`."""
    first = today + timedelta(days=1)
    if not first <= day <= last:
        raise forms.ValidationError(f"Enter a day from {day_in_words(first)} to {day_in_words(last)} (UTC).")
    return day


class ReasonsForm(ApplicationTransitionForm):
    """A form with up to four principal reasons."""

    def add_fields(self) -> None:
        super().add_fields()
        for name, ordinal in CODES.items():
            self.fields[name] = forms.ChoiceField(
                choices=REASON_CHOICES,
                required=ordinal == "First",
                label=f"{ordinal} principal reason",
                error_messages={"required": "Select the principal reason."},
            )
        self.fields["other"] = forms.CharField(
            required=False, max_length=OTHER_TEXT_MAX, label="The other reason, in your words"
        )
        reason = self.fields["reason"]
        reason.required, reason.label = False, "Reason in your words"
        reason.help_text = (
            "Optional. The applicant reads it. If it is empty, the applicant reads the principal reasons."
        )
        self.order_fields([*LOAN_FIELDS, "expires_on", *CODES, "other", "reason", "seen"])

    def clean(self) -> dict[str, Any]:
        """Add an error to the field of an invalid principal reason."""
        cleaned = super().clean() or self.cleaned_data
        has_other = OTHER in map(cleaned.get, CODES)
        if has_other and not cleaned.get("other"):
            self.add_error("other", "Enter the other reason.")
        elif cleaned.get("other") and not has_other:
            self.add_error("other", f"Select “{OTHER_LABEL}” as a principal reason, or empty this field.")
        texts = [text_of(reason) for reason in self.reasons()]
        if len(texts) != len(set(texts)):
            twice = next(position for position, text in enumerate(texts) if text in texts[:position])
            self.add_error([*CODES][twice], "Select each principal reason only once.")
        if has_other and cleaned.get("other") and names_no_factor(cleaned["other"]):
            self.add_error("other", UNSPECIFIC)
        for name in CODES:
            if cleaned.get(name) in OF_A_REPORT and not cleaned.get("report_ids"):
                self.add_error(name, WITHOUT_REPORT)
        return cleaned

    def reasons(self) -> list[Reason]:
        chosen = map(self.cleaned_data.get, CODES)
        other = {"code": OTHER, "text": self.cleaned_data.get("other", "")}
        return [other if code == OTHER else code for code in chosen if code]

    def reason_given(self) -> str | None:
        """Return the reason, which applicants read. The default is the text of the principal reasons."""
        return super().reason_given() or in_words(self.reasons())

    def members(self) -> dict[str, Any]:
        return {"reasons": self.reasons()}


class RejectionForm(ReasonsForm):
    reason_use = ReplyTemplate.REJECTION


class ApprovalForm(LoanForm):
    reason_use = ReplyTemplate.APPROVAL

    def add_fields(self) -> None:
        super().add_fields()
        self.order_fields([*LOAN_FIELDS, "reason", "seen"])

    def add_score_reason(self) -> None:
        reason = self.fields["reason"]
        reason.label = "Reason in your words"
        reason.help_text = f"Optional. The applicant reads it. If it is empty, the applicant reads “{APPROVED_TEXT}”"
        super().add_score_reason()

    def reason_given(self) -> str | None:
        """Return the reason.

        If the decision contradicts the score, the default reason does not contain the internal reason.
        """
        return super().reason_given() or (APPROVED_TEXT if self.score_reason() else None)

    def members(self) -> dict[str, Any]:
        terms = self.terms()
        return {"terms": terms} if terms else {}


class CounterofferForm(LoanForm, ReasonsForm):
    """The form of a counteroffer. If the decision contradicts the score, the text field is for the internal reason."""

    def add_fields(self) -> None:
        super().add_fields()
        self.describe_request()
        self.fields.pop("reason_template", None)
        self.fields["reason"].widget = forms.HiddenInput()
        self.fields["expires_on"] = forms.DateField(
            label="Last day to accept", widget=DAY, help_text=f"At most {OPEN_MAX_DAYS} days from now (UTC)."
        )
        self.order_fields([*LOAN_FIELDS, "expires_on", *CODES, "other", "reason", "seen"])

    def add_score_reason(self) -> None:
        self.fields["reason"] = _internal_reason()

    def describe_request(self) -> None:
        """Set the help texts of the loan's fields to the figures that apply if the fields are empty."""
        requested, currency = self.initial.get("requested") or {}, self.currency
        amount, rate, term = map(requested.get, ("amount_cents", "rate_percent", "term_months"))
        known = {
            "amount": "" if amount is None else f"{money(amount, currency)}, as requested",
            "rate_percent": "" if rate is None else f"{display('rate_percent', rate, currency)}, as for an approval",
            "term_months": "" if term is None else f"{months_in_words(term)}, as requested",
        }
        for name, text in known.items():
            self.fields[name].help_text = text and f"If empty: {text}."

    def clean_expires_on(self) -> date:
        today = timezone.now().date()
        return _day_by(self.cleaned_data["expires_on"], today + timedelta(days=OPEN_MAX_DAYS), today=today)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        day, first = map(cleaned.get, ("expires_on", "first_payment_on"))
        if day and first and day >= first:
            self.add_error("expires_on", f"Enter a day before the first payment on {day_in_words(first)}.")
        if self.errors.keys().isdisjoint(LOAN_FIELDS) and not self.changes_request():
            self.add_error("amount", UNCHANGED)
        return cleaned

    def terms(self) -> dict[str, Any]:
        """Return the submitted terms. If a figure has no new value, return the figure that the applicant requested."""
        return {**(self.initial.get("requested") or {}), **super().terms()}

    def changes_request(self) -> bool:
        """Check whether the counteroffer differs from the requested loan in its amount, rate, term, or fee."""
        requested = {"fee_cents": 0, **self.initial.get("requested", {})}
        return any(self.terms().get(name, requested.get(name)) != requested.get(name) for name in COUNTERED)

    def score_reason(self) -> str:
        return str(self.cleaned_data["reason"]) if self.initial.get("against_score") else ""

    def members(self) -> dict[str, Any]:
        until = datetime.combine(self.cleaned_data["expires_on"], time.max, UTC)
        return {"terms": self.terms(), "reasons": self.reasons(), "expires_at": until.isoformat()}


FORMS = {
    APPROVED: ApprovalForm,
    REJECTED: RejectionForm,
    COUNTEROFFER: CounterofferForm,
    PENDING_DOCUMENTS: DocumentsForm,
    UNDER_REVIEW: ReviewForm,
}
