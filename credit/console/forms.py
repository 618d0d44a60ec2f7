"""The form of a transition, with the reviewer's reasons and the loan in units of the offer's currency."""

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, date, datetime, time
from decimal import Decimal
from hashlib import sha256
from typing import Any

from django import forms

from config.backoffice.bases import TransitionForm
from config.backoffice.forms import ReasonField
from config.core.casework import ReplyTemplate
from config.core.currencies import separators, to_minor_units, to_units
from config.core.errors import ApiError
from config.core.figure_fields import AmountField, FigureField
from config.core.names import clean_words
from credit.core.apr import PLACES, RATE_MAX_PERCENT, TERM_MAX_MONTHS
from credit.core.figures import money
from credit.core.loan_words import display, months_in_words
from credit.core.machine import APPROVED, COUNTEROFFER, PENDING_DOCUMENTS, REJECTED, UNDER_REVIEW
from credit.core.quotes import AMOUNT_MAX_CENTS
from credit.core.reasons import APPROVED_TEXT, OTHER, OTHER_TEXT_MAX, REASONS, Reason, faults_of, in_words, text_of
from credit.models.documents import DOCUMENT_NAME_MAX_LENGTH, DOCUMENTS_MAX
from credit.models.terms import number

LOAN_FIELDS = ("amount", "rate_percent", "term_months", "fee", "first_payment_on")
# A counteroffer must change one of these figures. The applicant requests no day of the first payment.
COUNTERED = ("amount_cents", "rate_percent", "term_months", "fee_cents")
UNCHANGED = (
    "Enter at least one figure that differs from the requested loan. To agree to the requested loan, approve the "
    "application instead."
)
_AMOUNTS = {"amount": "amount_cents", "fee": "fee_cents"}
DAY = forms.DateInput({"type": "date"}, format="%Y-%m-%d")


class GroupedAmountField(AmountField):
    """An amount whose initial value has separators of thousands."""

    def prepare_value(self, value: Any) -> Any:
        if type(value) not in {Decimal, int, float}:
            return value
        group, point = separators(self.currency)
        return f"{Decimal(str(value)):,f}".translate({ord(","): group, ord("."): point})


def loan_fields(currency: str | None) -> dict[str, forms.Field]:
    """Return the form fields of a loan. Values of empty fields come from the application and the offer.

    `currency` is `Conventions.shown_currency`, which is None for dollars.
    """
    empty = "If empty: the amount of the application, and the rate of the offer."
    unit, most = currency or "dollars", to_units(AMOUNT_MAX_CENTS, currency)
    return {
        "amount": GroupedAmountField(
            currency, label=f"Amount in {unit}", min_value=to_units(1, currency), max_value=most, required=False,
            help_text=empty,
        ),
        "rate_percent": FigureField(
            label="Interest rate", sign="%", currency=currency, min_value=0, max_value=RATE_MAX_PERCENT,
            decimal_places=PLACES, required=False,
        ),
        "term_months": FigureField(
            label="Term in months", min_value=1, max_value=TERM_MAX_MONTHS, decimal_places=0, required=False,
            help_text="Leave this empty for a line of credit.",
        ),
        "fee": GroupedAmountField(
            currency, label=f"Prepaid fee in {unit}", min_value=0, max_value=most, required=False
        ),
        "first_payment_on": forms.DateField(
            label="First payment on", required=False, widget=DAY, help_text="Default: one month after the acceptance."
        ),
    }  # fmt: skip


def initial_terms(terms: Mapping[str, Any], currency: str | None) -> dict[str, Any]:
    """Return the initial values of the loan's fields."""
    amounts = {field: to_units(terms.get(name), currency) for field, name in _AMOUNTS.items()}
    return {**amounts, "rate_percent": terms.get("rate_percent"), "term_months": terms.get("term_months")}


def set_errors(form: forms.Form, refusal: ApiError) -> list[tuple[str, str]]:
    """Set the errors of a loan on the form's fields. For an unsubmitted form, return the errors as rows instead."""
    fields = {name: field for field, name in _AMOUNTS.items()}
    details: Any = refusal.details or ()
    members = [(detail["field"].rpartition(".")[2], detail["message"]) for detail in details]
    errors = [(fields.get(member, member), message) for member, message in members]
    if not form.is_bound:
        return [(str(form.fields[field].label), message) for field, message in errors]
    for field, message in errors:
        form.add_error(field, message)
    return []


def terms_of(cleaned: Mapping[str, Any], currency: str | None) -> dict[str, Any]:
    """Return the submitted terms in the format of the API."""
    terms: dict[str, Any] = {}
    for field in LOAN_FIELDS:
        value = cleaned.get(field)
        if value is None:
            continue
        if field in _AMOUNTS:
            terms[_AMOUNTS[field]] = int(to_minor_units(value, currency))
        elif field == "term_months":
            terms[field] = int(value)
        elif isinstance(value, date):
            terms[field] = value.isoformat()
        else:
            terms[field] = number(value) if isinstance(value, Decimal) else value
    return terms


def preview(form: forms.Form, figures: list[tuple[str, str]], fields: Sequence[str], button: str) -> dict[str, Any]:
    """Return the context of a form with computed figures. `unseen` is true until the form has displayed the figures."""
    digest = sha256(repr(figures).encode()).hexdigest()[:16] if figures else ""
    unseen = bool(form.is_bound and figures and form.data.get("terms_seen") != digest)
    return {"figures": figures, "figure_fields": fields, "preview": button, "terms_seen": digest, "unseen": unseen}


TEMPLATES_MAX = 100
# The uses of the reply templates that the form of a transition offers, besides the reasons for every decision.
_USES = {
    APPROVED: ReplyTemplate.APPROVAL,
    REJECTED: ReplyTemplate.REJECTION,
    PENDING_DOCUMENTS: ReplyTemplate.REQUEST,
    UNDER_REVIEW: ReplyTemplate.REVIEW,
}
_CODES = {"code_1": "First", "code_2": "Second", "code_3": "Third", "code_4": "Fourth"}


_REASON_GROUPS = {
    "Income and employment": ("income", "employment", "obligations_excessive"),
    "Credit history": (
        "no_credit_file", "credit", "performance", "obligations_delinquent", "collection", "garnishment", "foreclosure",
        "bankruptcy", "inquiries", "references",
    ),
    "Residence and identity": ("residence", "identity"),
    "The application": ("application", "collateral"),
}  # fmt: skip
REASON_CHOICES: list[Any] = [
    ("", "—"),
    (OTHER, "Another reason, in your words"),
    *(
        (group, [(code, text) for code, text in REASONS.items() if code.startswith(prefixes)])
        for group, prefixes in _REASON_GROUPS.items()
    ),
]


def chosen_reasons(reasons: Sequence[Reason]) -> dict[str, str]:
    """Return the initial values of the reason fields. The form has a single field for a reason without a code."""
    chosen: dict[str, str] = {}
    for reason in reasons:
        code = reason if isinstance(reason, str) else OTHER
        if len(chosen) < len(_CODES) and code not in chosen.values() and code in {*REASONS, OTHER}:
            chosen[[*_CODES][len(chosen)]] = code
    own = next((reason for reason in reasons if not isinstance(reason, str)), None)
    return {**chosen, "other": text_of(own)} if own is not None and OTHER in chosen.values() else chosen


class ApplicationTransitionForm(TransitionForm):
    """The form of a transition. The fields for principal reasons, loan, and documents depend on the new status."""

    documents = forms.CharField(
        widget=forms.Textarea(attrs={"rows": 4}),
        max_length=DOCUMENTS_MAX * (DOCUMENT_NAME_MAX_LENGTH + 2),
        label="Documents",
        help_text=f"One document per line, at most {DOCUMENTS_MAX}. The applicant reads this checklist.",
    )

    def __init__(self, *args: Any, to: str, **options: Any) -> None:
        super().__init__(*args, to=to, **options)
        self.currency = self.initial.get("currency")
        self.reason_is_required = self.fields["reason"].required
        self.templates = {
            str(template.pk): template
            for template in ReplyTemplate.objects.filter(provider__in=self.sides)[:TEMPLATES_MAX]
        }
        # Counteroffers have only principal reasons.
        if to != COUNTEROFFER:
            uses = {ReplyTemplate.REASON, _USES.get(to, ReplyTemplate.REASON)}
            self.offer_templates(uses, "reason", label="Or a common reason")
        if to == PENDING_DOCUMENTS:
            self.offer_templates({ReplyTemplate.DOCUMENTS}, "documents", label="Or a common list")
            self.fields["reason"].help_text = "The applicant reads this above the checklist."
            self.order_fields(["documents", "documents_template", "reason", "reason_template", "seen"])
        else:
            del self.fields["documents"]
        if to in {APPROVED, COUNTEROFFER}:
            self.fields.update(loan_fields(self.currency))
        if to == COUNTEROFFER:
            self.describe_request()
            self.fields["reason"].widget = forms.HiddenInput()
            self.fields["expires_on"] = forms.DateField(
                label="Last day to accept", widget=DAY, help_text="At most 90 days from now (UTC)."
            )
        if to in {REJECTED, COUNTEROFFER}:
            for name, ordinal in _CODES.items():
                self.fields[name] = forms.ChoiceField(
                    choices=REASON_CHOICES,
                    required=ordinal == "First",
                    label=f"{ordinal} principal reason",
                    error_messages={"required": "Select the principal reason."},
                )
            self.fields["other"] = forms.CharField(
                required=False, max_length=OTHER_TEXT_MAX, label="The other reason, in your words"
            )
            self.fields["reason"].required = False
            self.fields["reason"].label = "Reason in your words"
            self.fields[
                "reason"
            ].help_text = "Optional. The applicant reads it. If it is empty, the applicant reads the principal reasons."
            self.order_fields([*LOAN_FIELDS, "expires_on", *_CODES, "other", "reason", "seen"])
        if to == APPROVED:
            self.order_fields([*LOAN_FIELDS, "reason", "seen"])
        if self.initial.get("against_score"):
            self.add_score_reason()
        if reports := self.initial.get("reports"):
            self.fields["report_ids"] = forms.MultipleChoiceField(
                choices=reports, required=False, widget=forms.CheckboxSelectMultiple,
                label="Reports that the decision uses",
                help_text="The notice contains the agency, score, and factors of each. If you select none, it contains "
                "those that the score read.",
            )  # fmt: skip

    def add_score_reason(self) -> None:
        """Require an internal reason against the score's proposal. Counteroffers have no reason for the applicant."""
        internal = ReasonField(
            max_length=4_000, widget=forms.Textarea(attrs={"rows": 3}), label="Why you deviate from the score",
            help_text="Colleagues read it on the case. The applicant's pages don't show it.",
        )  # fmt: skip
        if self.to == COUNTEROFFER:
            self.fields["reason"] = internal
            return
        if self.to == APPROVED:
            self.fields["reason"].label = "Reason in your words"
            self.fields[
                "reason"
            ].help_text = f"Optional. The applicant reads it. If it is empty, the applicant reads “{APPROVED_TEXT}”"
        names = [*self.fields]
        self.fields["score_reason"] = internal
        self.order_fields([*names[: names.index("reason")], "score_reason"])

    def offer_templates(self, uses: Collection[str], field: str, *, label: str) -> None:
        """Add a choice of the templates for these uses, which can replace the text of `field`."""
        choices = [(pk, template.name) for pk, template in self.templates.items() if template.use in uses]
        if choices:
            options: dict[str, Any] = {"choices": [("", "—"), *choices], "required": False, "label": label}
            self.fields[f"{field}_template"] = forms.ChoiceField(**options)
            self.fields[field].required = False

    def template_text(self, field: str) -> str:
        chosen = self.templates.get(self.cleaned_data.get(field) or "")
        return chosen.text if chosen else ""

    def read_documents(self) -> list[str]:
        """Return the document names, which are separate lines of the input, without duplicates."""
        text = f"{self.cleaned_data['documents']}\n{self.template_text('documents_template')}"
        try:
            names = list(dict.fromkeys(clean_words(line) for line in text.splitlines() if line.strip()))
        except ValueError as error:
            raise forms.ValidationError(str(error)) from error
        if not names:
            raise forms.ValidationError("Enter at least one document.")
        if len(names) > DOCUMENTS_MAX or any(len(name) > DOCUMENT_NAME_MAX_LENGTH for name in names):
            raise forms.ValidationError(f"At most {DOCUMENTS_MAX} documents of {DOCUMENT_NAME_MAX_LENGTH} characters.")
        return names

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        if "documents" in cleaned:
            try:
                cleaned["documents"] = self.read_documents()
            except forms.ValidationError as error:
                self.add_error("documents", error)
        cleaned["reason"] = cleaned.get("reason") or self.template_text("reason_template")
        if self.reason_is_required and not cleaned["reason"] and "reason" not in self.errors:
            self.add_error("reason", "Enter a reason.")
        if "code_1" in self.fields:
            self.check_reasons(cleaned)
        if self.to == COUNTEROFFER and self.errors.keys().isdisjoint(LOAN_FIELDS) and not self.changes_request():
            self.add_error("amount", UNCHANGED)
        return cleaned

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

    def terms(self) -> dict[str, Any]:
        """Return the submitted terms. The figures that a counteroffer doesn't change are those of the request."""
        terms = terms_of(self.cleaned_data, self.currency)
        return {**(self.initial.get("requested") or {}), **terms} if self.to == COUNTEROFFER else terms

    def changes_request(self) -> bool:
        """Check whether a counteroffer differs from the requested loan in its amount, rate, term, or fee."""
        requested = {"fee_cents": 0, **self.initial.get("requested", {})}
        return any(self.terms().get(name, requested.get(name)) != requested.get(name) for name in COUNTERED)

    def check_reasons(self, cleaned: dict[str, Any]) -> None:
        """Add an error to the field of an invalid principal reason."""
        if (OTHER in map(cleaned.get, _CODES)) != bool(cleaned.get("other")):
            self.add_error("other", "Enter the other reason, and select it as a principal reason.")
        texts = [text_of(reason) for reason in self.reasons()]
        if len(texts) != len(set(texts)):
            twice = next(position for position, text in enumerate(texts) if text in texts[:position])
            self.add_error([*_CODES][twice], "Select each principal reason only once.")
        elif faults := faults_of(self.reasons(), has_report=bool(cleaned.get("report_ids"))):
            self.add_error("other" if OTHER in map(cleaned.get, _CODES) else "code_1", faults)

    def reasons(self) -> list[Reason]:
        chosen = map(self.cleaned_data.get, _CODES)
        other = {"code": OTHER, "text": self.cleaned_data.get("other", "")}
        return [other if code == OTHER else code for code in chosen if code]

    def reason_given(self) -> str | None:
        """Return the reason, which applicants read, except for a counteroffer.

        The default of a rejection is the text of the principal reasons. The default of an approval against the score's
        proposal is a sentence without the internal reason, because the API requires a reason.
        """
        default = APPROVED_TEXT if self.to == APPROVED and self.score_reason() else in_words(self.reasons())
        return super().reason_given() or default

    def score_reason(self) -> str:
        """Return the internal reason against the score's proposal, or "" if the form does not require one."""
        if self.to == COUNTEROFFER and self.initial.get("against_score"):
            return str(self.cleaned_data["reason"])
        return str(self.cleaned_data.get("score_reason", ""))

    def metadata(self) -> Any:
        reports = self.cleaned_data.get("report_ids")
        members = {**self._members(), **({"report_ids": reports} if reports else {})}
        return members or None

    def _members(self) -> dict[str, Any]:
        if self.to in {APPROVED, COUNTEROFFER}:
            terms = self.terms()
            if self.to == APPROVED:
                return {"terms": terms} if terms else {}
            until = datetime.combine(self.cleaned_data["expires_on"], time.max, UTC)
            return {"terms": terms, "reasons": self.reasons(), "expires_at": until.isoformat()}
        if reasons := self.reasons():
            return {"reasons": reasons}
        if documents := self.cleaned_data.get("documents"):
            return {"documents": documents}
        return {}
