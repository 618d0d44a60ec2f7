"""Compute the period and the amounts of the right of withdrawal (Directive (EU) 2023/2225, Art. 26)."""

from dataclasses import dataclass
from datetime import date, datetime
from functools import partial
from typing import Any

from django.utils.translation import gettext

from config.core.currencies import amount_in_words
from config.core.errors import NotFound
from credit.core import withdrawal
from credit.core.eu_credit import follows_directive
from credit.core.figures import date_in_words
from credit.core.jurisdictions import Conventions
from credit.models import Application, ContractWithdrawal, DecisionAnchor, LoanTerms

# The period depends on these columns.
FACTS = ("told_of_right_at", "complete_since")


@dataclass(frozen=True)
class Withdrawable:
    """The right of withdrawal from an agreement.

    `repay_by`, `declared_at`, and `proof` are None before a withdrawal.
    """

    told_of_right_at: datetime | None
    complete_since: datetime | None
    period_ends_at: datetime | None
    declared_at: datetime | None
    repay_by: date | None
    interest_a_day_cents: int | None
    capital_cents: int | None
    fee_back_cents: int | None
    proof: DecisionAnchor | None

    def is_open(self, *, now: datetime) -> bool:
        return self.declared_at is None and (self.period_ends_at is None or now < self.period_ends_at)


def is_withdrawable(application: Application) -> bool:
    """Return whether the application has an accepted agreement with a right of withdrawal under the directive."""
    return application.accepted_at is not None and follows_directive(application.offer_snapshot)


def conclude(application: Application, *, is_informed: bool, is_complete: bool) -> list[str]:
    """Set the times in FACTS to the time of the acceptance.

    If an argument is False, the corresponding time is None. Return the changed columns.
    """
    if not is_withdrawable(application):
        return []
    application.told_of_right_at = application.accepted_at if is_informed else None
    application.complete_since = application.accepted_at if is_complete else None
    return [*FACTS]


def describe(application: Application) -> Withdrawable:
    """Return the right of withdrawal. Raises NotFound before the acceptance, or if another law applies."""
    if not is_withdrawable(application):
        raise NotFound(
            "The application has no right of withdrawal: the terms were not accepted, or another law applies."
        )
    used: ContractWithdrawal | None = getattr(application, "contract_withdrawal", None)
    terms = application.loan_terms
    return Withdrawable(
        told_of_right_at=application.told_of_right_at,
        complete_since=application.complete_since,
        period_ends_at=_period_end(application) if used is None else used.period_ends_at,
        declared_at=None if used is None else used.declared_at,
        repay_by=None if used is None else used.repay_by,
        interest_a_day_cents=interest_a_day(application, terms),
        capital_cents=None if terms is None or terms.term_months is None else terms.amount_cents,
        fee_back_cents=None if terms is None else terms.fee_cents,
        proof=None if used is None else used.proof,
    )


def interest_a_day(application: Application, terms: LoanTerms | None) -> int | None:
    """Return the daily interest on the loan. Returns None for a line of credit, because its drawn amount is unknown."""
    if terms is None or terms.term_months is None:
        return None
    day_count = Conventions.of(application.offer_snapshot).day_count
    return withdrawal.interest(terms.amount_cents, terms.rate_percent, day_count=day_count)


def capital_in_words(application: Application) -> str:
    """Display the credit to repay, without a deducted fee. Return "" for a line of credit."""
    terms, conventions = application.loan_terms, Conventions.of(application.offer_snapshot)
    if terms is None or terms.term_months is None:
        return ""
    show = partial(amount_in_words, currency=conventions.currency)
    if not terms.fee_cents or not conventions.is_fee_kept_back:
        return show(terms.amount_cents)
    parts = {"amount": terms.amount_cents, "fee": terms.fee_cents, "paid_out": terms.amount_cents - terms.fee_cents}
    words = {name: show(cents) for name, cents in parts.items()}
    return gettext("%(amount)s less the fee of %(fee)s: %(paid_out)s") % words


def fee_in_words(application: Application) -> str:
    """Display the fee that the lender refunds. Return "" if there is no fee, or if `capital_in_words` deducts it."""
    terms, conventions = application.loan_terms, Conventions.of(application.offer_snapshot)
    if terms is None or not terms.fee_cents or (terms.term_months is not None and conventions.is_fee_kept_back):
        return ""
    return amount_in_words(terms.fee_cents, conventions.currency)


def rows_of(application: Application, right: Withdrawable) -> list[tuple[str, str]]:
    """Return (name, value) rows of the amounts due after a withdrawal, in the active language."""
    currency, interest = Conventions.of(application.offer_snapshot).currency, right.interest_a_day_cents
    rows = [
        (gettext("Credit to pay back"), capital_in_words(application)),
        (gettext("Interest of each day"), "" if interest is None else amount_in_words(interest, currency)),
        (gettext("Fee that the lender returns"), fee_in_words(application)),
        (gettext("Pay back by"), right.repay_by and date_in_words(right.repay_by)),
    ]
    return [(name, value) for name, value in rows if value]


def countries_of(application: Application) -> list[str]:
    """Return the countries of the borrowers. After the erasure of the borrowers, the list is empty."""
    return [person["address"]["country"] for person in application.applicants or () if person.get("address")]


def _period_end(application: Application) -> datetime | None:
    concluded_at: Any = application.accepted_at
    return withdrawal.period_end(
        countries_of(application),
        concluded_at=concluded_at,
        complete_since=application.complete_since,
        told_of_right_at=application.told_of_right_at,
    )


def last_day_of(application: Application, right: Withdrawable) -> date | None:
    """Return the last day of the period, or None if the period has no end."""
    end = right.period_ends_at
    return None if end is None else withdrawal.last_day_of(end, countries_of(application))
