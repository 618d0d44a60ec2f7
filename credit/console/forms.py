"""The form of a transition: what a reviewer has to say with it."""

from datetime import UTC, datetime, time
from typing import Any

from django import forms

from config.backoffice.bases import TransitionForm
from config.core.casework import ReplyTemplate
from config.core.names import clean_words
from credit.console.terms_forms import DAY, LOAN_FIELDS, loan_fields, terms_of
from credit.core.machine import APPROVED, COUNTEROFFER, PENDING_DOCUMENTS, REJECTED
from credit.core.reasons import OTHER, OTHER_TEXT_MAX, REASONS, Reason, faults_of, in_words, text_of
from credit.models.documents import DOCUMENT_NAME_MAX_LENGTH, DOCUMENTS_MAX

TEMPLATES_MAX = 100
_CODES = {"code_1": "First", "code_2": "Second", "code_3": "Third", "code_4": "Fourth"}


class ApplicationTransitionForm(TransitionForm):
    """The reason; for a rejection its principal reasons, for an approval the loan, for documents their names."""

    documents = forms.CharField(
        widget=forms.Textarea(attrs={"rows": 4}),
        max_length=DOCUMENTS_MAX * (DOCUMENT_NAME_MAX_LENGTH + 2),
        label="Documents",
        help_text=f"One in each line, at most {DOCUMENTS_MAX}. The person reads this checklist.",
    )

    def __init__(self, *args: Any, to: str, **options: Any) -> None:
        super().__init__(*args, to=to, **options)
        self.reason_is_required = self.fields["reason"].required
        self.templates = {
            str(one.pk): one for one in ReplyTemplate.objects.filter(provider__in=self.sides)[:TEMPLATES_MAX]
        }
        self.offer_templates(ReplyTemplate.REASON, "reason_template", "Or a reason that is used often")
        if to == PENDING_DOCUMENTS:
            self.offer_templates(ReplyTemplate.DOCUMENTS, "documents_template", "Or a list that is used often")
            self.fields["reason"].help_text = "The applicant reads this above the checklist."
            self.order_fields(["documents", "reason", "seen"])
        else:
            del self.fields["documents"]
        if to in {APPROVED, COUNTEROFFER}:
            self.fields.update(loan_fields(is_needed=to == COUNTEROFFER))
        if to == COUNTEROFFER:
            self.fields["reason"].widget = forms.HiddenInput()
            self.fields["expires_on"] = forms.DateField(
                label="The last day for accepting it", widget=DAY, help_text="A day, at most 90 days on (UTC)."
            )
        if to in {REJECTED, COUNTEROFFER}:
            choices = [("", "—"), *REASONS.items(), (OTHER, "Another reason, in your words")]
            for name, ordinal in _CODES.items():
                self.fields[name] = forms.ChoiceField(
                    choices=choices, required=ordinal == "First", label=f"{ordinal} principal reason"
                )
            self.fields["other"] = forms.CharField(
                required=False, max_length=OTHER_TEXT_MAX, label="The other reason, in your words"
            )
            self.fields["reason"].required = False
            self.fields[
                "reason"
            ].help_text = "The applicant reads this. If it is empty, they read the principal reasons in words."
            self.order_fields([*LOAN_FIELDS, "expires_on", *_CODES, "other", "reason", "seen"])
        if to == APPROVED:
            self.order_fields([*LOAN_FIELDS, "reason", "seen"])

    def offer_templates(self, use: str, field: str, label: str) -> None:
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
        try:
            names = list(dict.fromkeys(clean_words(line) for line in text.splitlines() if line.strip()))
        except ValueError as error:
            raise forms.ValidationError(str(error)) from error
        if not names:
            raise forms.ValidationError("Name at least one document.")
        if len(names) > DOCUMENTS_MAX or any(len(name) > DOCUMENT_NAME_MAX_LENGTH for name in names):
            raise forms.ValidationError(f"At most {DOCUMENTS_MAX} documents of {DOCUMENT_NAME_MAX_LENGTH} characters.")
        return names

    def clean(self) -> dict[str, Any]:
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
        if faults := faults_of(self.reasons(), has_report=False):
            raise forms.ValidationError(faults)
        return cleaned

    def reasons(self) -> list[Reason]:
        chosen = map(self.cleaned_data.get, _CODES)
        other = {"code": OTHER, "text": self.cleaned_data.get("other", "")}
        return [other if code == OTHER else code for code in chosen if code]

    def reason_given(self) -> str | None:
        """Return the reason; a rejection's principal reasons speak for themselves."""
        return super().reason_given() or in_words(self.reasons())

    def metadata(self) -> Any:
        if self.to in {APPROVED, COUNTEROFFER}:
            terms = terms_of(self.cleaned_data)
            if self.to == APPROVED:
                return {"terms": terms} if terms else None
            until = datetime.combine(self.cleaned_data["expires_on"], time.max, UTC)
            return {"terms": terms, "reasons": self.reasons(), "expires_at": until.isoformat()}
        if reasons := self.reasons():
            return {"reasons": reasons}
        if documents := self.cleaned_data.get("documents"):
            return {"documents": documents}
        return None
