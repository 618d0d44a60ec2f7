"""Loans in the back office: the loan of an approval, counteroffers, and withdrawals from contracts."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import timedelta
from typing import Any, ClassVar
from uuid import UUID

from django import forms
from django.contrib import admin, messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils import timezone

from config.backoffice.bases import RecordAction, ReviewAdmin, SeenForm, TransitionForm
from config.backoffice.html import NOTHING, column, day_in_words, moment, spelled, time_in_words, words
from config.backoffice.people import person_name
from config.backoffice.personal import MASK
from config.backoffice.records import Button, within_list
from config.backoffice.timeline import ENTRIES_MAX, TimelineEntry, claimed_name
from config.backoffice.transitions import actor_of
from config.core.currencies import amount_in_words
from config.core.errors import ApiError
from credit.applications import withdrawal_right
from credit.console.decision_forms import ApplicationTransitionForm, LoanForm
from credit.console.decision_words import reasons_without_value
from credit.console.forms import (
    LOAN_FIELDS,
    chosen_reasons,
    initial_terms,
    languages_between,
    preview,
    terms_of,
)
from credit.console.records import OfApplication
from credit.console.timeline import anchor_entries
from credit.core import withdrawal
from credit.core.card import APPROVE
from credit.core.errors import CounterofferOpen
from credit.core.eu_credit import follows_directive
from credit.core.jurisdictions import Conventions
from credit.core.loan_words import in_words, rows_of, with_costs_of_line
from credit.core.machine import APPROVED, COUNTEROFFER, REJECTED, UNDER_REVIEW
from credit.models import Application, ContractWithdrawal, LoanTerms
from credit.models.applications import REVIEW_PERMISSION
from credit.review.services import takes_two
from credit.terms import counteroffers, withdrawals
from credit.terms.loans import compute, loan_of, proposed_terms, requested_terms

_FACTS = (
    ("complete_since", "All terms of the contract, and the required information"),
    ("told_of_right_at", "The information about the right of withdrawal"),
)


class InformationForm(SeenForm):
    fact = forms.ChoiceField(label="Which information", choices=_FACTS)
    reason = forms.CharField(max_length=500, help_text="The platform logs it with your name.")


class ProvidedForm(InformationForm):
    at = forms.DateTimeField(label="When it was provided", initial=timezone.now, help_text="In UTC.")


class DeclarationForm(SeenForm):
    channel = forms.ChoiceField(choices=[(channel, channel.replace("_", " ")) for channel in withdrawals.RECORDED])
    declared_at = forms.DateTimeField(
        label="When it was sent", initial=timezone.now, help_text="In UTC. For a letter: the day of posting."
    )


def _state(request: HttpRequest, application: Application, form: Any) -> str:
    fact, at = form.cleaned_data["fact"], form.cleaned_data.get("at")
    withdrawals.state_fact(application.pk, fact, at=at, actor=actor_of(request), now=timezone.now())
    return _in_words(form)


def _in_words(form: Any) -> str:
    about = form.cleaned_data
    state = f"provided at {time_in_words(about['at'])}" if "at" in about else "missing"
    return f"{dict(_FACTS)[about['fact']]}: {state}. {about['reason']}"


def _record(request: HttpRequest, application: Application, form: Any) -> str:
    facts = {name: form.cleaned_data[name] for name in ("channel", "declared_at")}
    with transaction.atomic():
        withdrawals.declare(str(application.pk), **facts, actor=actor_of(request), now=timezone.now())
    return "The withdrawal is recorded."


def _seen(application: Application) -> str:
    return f"{application.told_of_right_at}:{application.complete_since}:{application.withdrawn_from_at}"


def _refusal(application: Application) -> str:
    return "" if application.withdrawn_from_at is None else "A borrower has withdrawn from the agreement."


def _without_information(application: Application) -> list[str]:
    """Return the effects of missing information on the withdrawal period."""
    at: Any = application.accepted_at
    countries = withdrawal_right.countries_of(application)
    end = withdrawal.period_end(countries, concluded_at=at, complete_since=None, told_of_right_at=at)
    if end is None:
        return ["The withdrawal period then does not end."]
    last_day = day_in_words(withdrawal.last_day_of(end, countries))
    return [
        f"If terms or other information are missing, the withdrawal period lasts until the end of {last_day}.",
        "If the information about the right of withdrawal is missing, the period does not end.",
    ]


_ACTIONS = (
    RecordAction(
        name="information-missing", label="Information was missing", permission=REVIEW_PERMISSION, run=_state,
        form=InformationForm, refusal=_refusal, seen=_seen, logged=_in_words,
        consequences=_without_information,
    ),
    RecordAction(
        name="information-provided", label="Information provided", permission=REVIEW_PERMISSION, run=_state,
        form=ProvidedForm, refusal=_refusal, seen=_seen, logged=_in_words,
        consequences=lambda _application: ["The platform computes the withdrawal period again, from that time."],
    ),
    RecordAction(
        name="contract-withdrawal", label="Record a withdrawal from the contract", permission=REVIEW_PERMISSION,
        run=_record, form=DeclarationForm, refusal=_refusal, seen=_seen,
        consequences=lambda _application: [
            "The agreement ends for all borrowers, and each borrower gets a receipt by mail.",
            "The platform stores the withdrawal with your name permanently.",
        ],
    ),
)  # fmt: skip


def period_rows(application: Application) -> list[tuple[str, str]]:
    """Return the rows of the loan's panel about the right of withdrawal. Without this right, the list is empty."""
    if not withdrawal_right.is_withdrawable(application):
        return []
    right = withdrawal_right.describe(application)
    last_day = withdrawal_right.last_day_of(application, right)
    if right.declared_at is not None:
        return [("Withdrawn from", day_in_words(right.declared_at)), ("Repayment due", spelled(str(right.repay_by)))]
    return [("Withdrawal possible", "without end" if last_day is None else f"by the end of {day_in_words(last_day)}")]


def withdrawal_entries(application: Application) -> Iterator[TimelineEntry]:
    if application.withdrawn_from_at is None:
        return
    row = application.contract_withdrawal
    yield TimelineEntry(
        at=row.declared_at,
        title="Withdrawn from the contract",
        actor=person_name(row.principal),
        credential=row.credential,
        facts=(
            ("by", words(row.channel)),
            ("recorded", time_in_words(row.received_at)),
            ("repay by", day_in_words(row.repay_by)),
        ),
        id=str(row.pk),
    )
    yield from anchor_entries(row.proof, "Withdrawal")


@admin.register(ContractWithdrawal)
class ContractWithdrawalAdmin(OfApplication):
    """The admin of withdrawals from contracts, latest first, with the amounts due."""

    list_display = ("__str__", "about", "declared", "channel", "repay_by", "capital", "interest_a_day", "fee_back")
    list_filter = ("channel",)
    list_select_related = ("application__loan_terms",)
    ordering = ("-id",)
    fields = (
        "about", "declared", "received", "channel", "period_ends", "repay_by", "capital", "interest_a_day", "fee_back",
        "principal", "credential",
    )  # fmt: skip

    declared = column(moment, "declared_at", "sent", ordering="declared_at")
    received = column(moment, "received_at", "recorded")
    period_ends = column(moment, "period_ends_at", "end of the period")
    fee_back = column(lambda loan: withdrawal_right.fee_in_words(loan) or NOTHING, "application", "fee to return")
    capital = column(lambda loan: withdrawal_right.capital_in_words(loan) or NOTHING, "application", "capital")

    @admin.display(description="interest per day")
    def interest_a_day(self, record: Any) -> str:
        amount, currency = record.interest_a_day_cents, Conventions.of(record.application.offer_snapshot).currency
        return NOTHING if amount is None else amount_in_words(amount, currency)


_NOUNS = {APPROVED: "Approval", REJECTED: "Rejection", COUNTEROFFER: "Counteroffer"}
WITHDRAW = "Withdraw the counteroffer"
COUNTEROFFER_DAYS = 14  # the default time to accept a counteroffer


class LoanConsole(ReviewAdmin):
    """The forms and the panel of loans on an application's page."""

    record_actions: ClassVar[tuple[RecordAction, ...]] = _ACTIONS

    def get_urls(self) -> list[Any]:
        way = "counteroffer/<uuid:counteroffer_id>/withdraw/"
        return [self.review_path(way, self.withdraw_view, "withdraw_counteroffer"), *super().get_urls()]

    def actions_of(self, request: HttpRequest, record: Any) -> list[RecordAction]:
        """Omit the actions about the right of withdrawal if the viewer can't record facts about this right."""
        actions = super().actions_of(request, record)
        is_own = record.consumer_id == request.user.pk
        if withdrawal_right.is_withdrawable(record) and self.may_review(request, record) and not is_own:
            return actions
        return [action for action in actions if action not in _ACTIONS]

    def initial_of(self, record: Application, to: str) -> dict[str, Any]:
        """Add the initial values of the loan or of the reasons.

        For an approval, add the requested loan, at the score's price or the offer's lowest rate. For a rejection or a
        counteroffer, add the score's reasons. The loan's fields in the form of a counteroffer are empty, because a
        counteroffer changes the requested loan.
        """
        initial = {**super().initial_of(record, to), "currency": record.shown_currency}
        initial["against_score"] = record.goes_against_score(to)
        initial |= languages_between(record)
        if to == COUNTEROFFER:
            initial["expires_on"] = timezone.now().date() + timedelta(days=COUNTEROFFER_DAYS)
        if to in {REJECTED, COUNTEROFFER} and (score := record.decision_score) and score.outcome != APPROVE:
            missing = reasons_without_value(score)
            initial |= chosen_reasons([reason for reason in score.reasons if reason not in missing])
        if to == COUNTEROFFER:
            return {**initial, "requested": requested_terms(record)}
        if to != APPROVED or record.offer_snapshot is None:
            return initial
        return {**initial, **initial_terms(proposed_terms(record), record.shown_currency)}

    def beside_form(self, record: Application, form: TransitionForm) -> dict[str, Any]:
        """Show the cost of the loan. If the loan isn't allowed, set errors on the form's fields."""
        beside = super().beside_form(record, form)
        if not isinstance(form, LoanForm):
            return beside
        figures: list[tuple[str, str]] = []
        is_wrong = not {*form.errors}.isdisjoint(LOAN_FIELDS)
        if not is_wrong:
            terms = form.terms() if form.is_bound else terms_of(form.initial, record.shown_currency)
            try:
                figures = _cost_of(record, form.to, terms)
            except ApiError as refusal:
                is_wrong = form.is_bound
                if is_wrong:
                    form.set_errors(refusal)
                else:
                    errors = form.errors_of(refusal)
                    figures = [(str(form.fields[field].label) if field else "Loan", text) for field, text in errors]
        if not is_wrong:
            return {**beside, **preview(form, figures, LOAN_FIELDS, "Show terms")}
        # While a figure is invalid, the page shows the costs of the initial terms.
        with suppress(ApiError):
            figures = _cost_of(record, form.to, terms_of(form.initial, record.shown_currency))
        shown = preview(form, figures, LOAN_FIELDS, "Show terms")
        return {**beside, **shown, "unseen": False, "stale": bool(figures)}

    def bulk_form(self, request: HttpRequest, to: str, data: Any = None) -> TransitionForm:
        """Remove the loan's fields, because bulk approvals approve the requested loans."""
        form = super().bulk_form(request, to, data)
        for name in LOAN_FIELDS:
            form.fields.pop(name, None)
        return form

    def transitions_of(self, request: HttpRequest, record: Application) -> list[Button]:
        buttons = super().transitions_of(request, record)
        if record.status != UNDER_REVIEW:
            return buttons
        refusal = self.refusal_of(record, COUNTEROFFER, self.actor_of(request))
        if refusal is None and counteroffers.open_of(record) is not None:
            refusal = CounterofferOpen()
        label = self.button_label(COUNTEROFFER, record)
        address = within_list(self.address_of("move", record.pk, COUNTEROFFER), request)
        why = self.refusal_in_words(record, COUNTEROFFER, refusal)
        return [*buttons, Button(COUNTEROFFER, label, address, why, "Makes a counteroffer.")]

    def button_hint(self, to: str, record: Application) -> str:
        return "" if to == COUNTEROFFER else super().button_hint(to, record)

    def decide_locked(self, request: HttpRequest, record: Application, form: TransitionForm) -> str:
        message = super().decide_locked(request, record, form)
        if takes_two(form.to):
            return message
        if isinstance(form, ApplicationTransitionForm) and (reason := form.score_reason()):
            self.add_note(request, record, f"{_NOUNS[form.to]} against the score's proposal: {reason}")
        return "The counteroffer was sent to the applicant." if form.to == COUNTEROFFER else message

    def consequences_of(self, record: Application, to: str) -> list[str]:
        if to != COUNTEROFFER:
            return super().consequences_of(record, to)
        return [
            "The application stays under review, and the applicant gets these terms.",
            "If the applicant accepts, the application is approved and accepted.",
            "If the applicant declines, the application stays under review without these terms.",
            "Without an answer by the deadline, the application is rejected with these reasons.",
        ]

    def loan_panel(self, request: HttpRequest, record: Application) -> dict[str, Any] | None:
        """Return the context of an application's loan or open counteroffer, or None if it has neither."""
        offered = counteroffers.open_of(record)
        terms = record.loan_terms if offered is None else offered.loan_terms
        if terms is None:
            return None
        is_masked = getattr(record, "is_masked", False)
        panel: dict[str, Any] = {"title": "The loan" if offered is None else "Counteroffer", "until": None}
        panel["rows"] = (
            [("Terms", MASK)]
            if is_masked
            else [*_figures(record, terms), *_form_rows(record, terms), *period_rows(record)]
        )
        if offered is not None:
            panel["until"] = offered.expires_at
            panel["withdraw"] = within_list(self.address_of("withdraw_counteroffer", record.pk, offered.pk), request)
        return panel

    def counteroffer_buttons(self, page: dict[str, Any], panel: dict[str, Any] | None) -> list[Button]:
        """Return the button that withdraws the open counteroffer of a case page, if the viewer reviews the case."""
        if panel is None or "withdraw" not in panel or not page["may_review"]:
            return []
        return [Button("withdraw-counteroffer", WITHDRAW, panel["withdraw"], "", is_plain=True)]

    def withdraw_view(self, request: HttpRequest, record: Application, counteroffer_id: UUID) -> HttpResponse:
        """Display the effect of the withdrawal of a counteroffer (GET), or withdraw it (POST)."""
        offered = counteroffers.open_of(record)
        if offered is None or offered.pk != counteroffer_id:
            messages.warning(request, "The counteroffer has already ended.")
            return HttpResponseRedirect(self.record_address(record, request))
        form = SeenForm(request.POST if request.method == "POST" else None, initial={"seen": str(offered.pk)})

        def withdraw() -> str:
            actor = self.actor_of(request)
            counteroffers.withdraw(str(record.pk), str(counteroffer_id), actor=actor, now=timezone.now())
            self.log_change(request, record, "Counteroffer withdrawn.")
            return "The counteroffer is withdrawn."

        effects = ["The applicant can no longer accept the counteroffer.", "The application stays under review."]
        page = {"label": WITHDRAW, "to": "other", "consequences": effects, "case": self.case_of(request, record)}
        return self.confirmed(request, record, form, withdraw, **page)


def _cost_of(record: Application, to: str, submitted: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the rows of a loan with its cost, or an empty list without a loan. Raises ApiError."""
    if to == COUNTEROFFER and not submitted:
        return []
    kind = LoanTerms.COUNTEROFFER if to == COUNTEROFFER else LoanTerms.APPROVAL
    loan = loan_of(record, submitted or None)
    terms = None if loan is None else compute(record, loan, kind=kind, now=timezone.now())
    return [] if terms is None else _figures(record, terms)


def _figures(record: Application, terms: LoanTerms) -> list[tuple[str, str]]:
    figures = with_costs_of_line(terms.to_dict(), record.offer_snapshot, start=terms.as_of)
    return [("Loan", in_words(figures)), *rows_of(figures, start=terms.as_of)]


def _form_rows(record: Application, terms: LoanTerms) -> list[tuple[str, str]]:
    """Return a row with the time when the applicant first received the information form of these terms.

    If the directive doesn't apply, the list is empty.
    """
    if not follows_directive(record.offer_snapshot):
        return []
    forms = record.precontracts.filter(terms_sha256=terms.terms_sha256, provided_at__isnull=False)
    first = forms.order_by("provided_at").values_list("provided_at", flat=True).first()
    return [("Information form", "Not yet provided" if first is None else f"Provided at {time_in_words(first)} UTC")]


def counteroffer_entries(record: Application) -> Iterable[TimelineEntry]:
    """Yield timeline entries of counteroffers and their outcomes. If the record is masked, the texts are masked."""
    if not record.counteroffer_moves:
        return
    for counteroffer in record.counteroffers.select_related("loan_terms", "principal").order_by("-id")[:ENTRIES_MAX]:
        yield TimelineEntry(
            at=counteroffer.offered_at,
            title="Counteroffer",
            text=in_words(counteroffer.loan_terms.to_dict()),
            claimed=claimed_name(counteroffer.offered_by, counteroffer.principal),
            actor=person_name(counteroffer.principal),
            credential=counteroffer.credential,
            facts=(("until", time_in_words(counteroffer.expires_at)),),
            id=str(counteroffer.pk),
        )
        if counteroffer.closed_at is not None:
            yield TimelineEntry(
                at=counteroffer.closed_at,
                title="Counteroffer ended",
                status=counteroffer.outcome,
                id=f"{counteroffer.pk}-end",
            )
