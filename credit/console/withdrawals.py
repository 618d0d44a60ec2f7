"""Withdrawals from contracts in the back office, with the dates that determine the withdrawal period."""

from collections.abc import Iterator
from typing import Any, ClassVar

from django import forms
from django.contrib import admin
from django.db import transaction
from django.http import HttpRequest
from django.utils import timezone

from config.backoffice.bases import RecordAction, ReviewAdmin, SeenForm
from config.backoffice.html import NOTHING, column, day_in_words, moment, spelled, time_in_words, words
from config.backoffice.people import person_name
from config.backoffice.timeline import TimelineEntry
from config.backoffice.transitions import actor_of
from config.core.currencies import amount_in_words
from credit.applications import withdrawal_right
from credit.console.records import OfApplication
from credit.console.timeline import anchor_entries
from credit.core import withdrawal
from credit.core.jurisdictions import Conventions
from credit.models import Application, ContractWithdrawal
from credit.models.applications import REVIEW_PERMISSION
from credit.terms import withdrawals

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


class WithdrawalConsole(ReviewAdmin):
    """The actions about the right of withdrawal on an application's page."""

    record_actions: ClassVar[tuple[RecordAction, ...]] = _ACTIONS

    def actions_of(self, request: HttpRequest, record: Any) -> list[RecordAction]:
        actions = super().actions_of(request, record)
        is_own = record.consumer_id == request.user.pk
        if withdrawal_right.is_withdrawable(record) and self.may_review(request, record) and not is_own:
            return actions
        return [action for action in actions if action not in _ACTIONS]


def period_rows(application: Application) -> list[tuple[str, str]]:
    """Return the rows about the right of withdrawal for the loan's panel. Without the right, there are none."""
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
