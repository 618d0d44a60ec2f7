"""The facts about an applicant's identity, bank, applications, and reports that scorecards can read.

Each `read` function costs a query. Balances and transactions must come from the bank, never from a client's claims.
"""

from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth import get_user_model

from config.core.credentials import FIRST_PARTY
from config.core.prepared import PreparedSelect
from credit.core.facts import BANK, PERSON, PLATFORM, REPORT, SHAREABLE, Fact, Read
from credit.models import Application, Report, person_figures
from identity.bank.figures import BankFigures
from identity.bank.models import BOOKINGS_DAYS, BankItem
from identity.kyc.machine import DECISIONS, VERIFIED
from identity.kyc.models import KycVerification

APPLICATIONS_DAYS = 90
# This returns status, time, and name match of the newest completed verification. The query is prepared, because nearly
# every scorecard reads the result.
_last_decided = PreparedSelect(
    lambda user_id: KycVerification.objects.filter(user_id=user_id, status__in=DECISIONS).order_by("-attempt")[:1],
    ("status", "completed_at", "name_match"),
).first


def is_verified(user_id: int, now: datetime) -> bool:  # noqa: ARG001
    """Return whether the identity is verified. Before the first check, return False."""
    last = _last_decided(user_id=user_id)
    return last is not None and last[0] == VERIFIED


def verified_days_ago(user_id: int, now: datetime) -> int | None:
    """Return the whole days since the identity was verified, or None if it isn't verified."""
    last = _last_decided(user_id=user_id)
    return None if last is None or last[0] != VERIFIED or last[1] is None else _days(last[1], now)


def name_match(user_id: int, now: datetime) -> str | None:  # noqa: ARG001
    """Return the vendor's result for the name (match, partial, no_match, or unknown), or None before a result."""
    last = _last_decided(user_id=user_id)
    return None if last is None else last[2]


def has_linked_bank(user_id: int, now: datetime) -> bool:  # noqa: ARG001
    return BankItem.objects.linked().filter(user_id=user_id).exists()


def bank_figures(user_id: int, now: datetime, currency: str) -> BankFigures:  # noqa: ARG001
    return BankFigures(user_id, currency=currency)


def account_age_days(user_id: int, now: datetime) -> int | None:
    joined = get_user_model().objects.filter(pk=user_id).values_list("date_joined", flat=True).first()
    return None if joined is None else _days(joined, now)


def applications_lately(user_id: int, now: datetime, application: Application | None = None) -> int:
    """Count the applications that the account submitted in the last 90 days, without `application`."""
    since = now - timedelta(days=APPLICATIONS_DAYS)
    lately = Application.objects.filter(consumer_id=user_id, submitted_at__gte=since, submitted_at__lt=now)
    return (lately if application is None else lately.exclude(pk=application.pk)).count()


def _days(since: datetime, now: datetime) -> int:
    return max(0, (now - since).days)


_CENTS, _DAYS = "cents", "days"
_WINDOW = "the complete calendar months with all transactions"
_LAST_DAYS = f"the {BOOKINGS_DAYS} days up to `bank.as_of`"


def _identity(name: str, kind: str, read: Read, meaning: str, unit: str | None = None) -> Fact:
    return Fact(f"identity.{name}", kind, read, SHAREABLE["identity"], PLATFORM, meaning, unit)


def _bank(name: str, kind: str, part: str, meaning: str, *, unit: str | None = None, dated: str = "as_of") -> Fact:
    about: dict[str, Any] = {"unit": unit, "part": part, "dated": dated, "in_currency": True}
    return Fact(f"bank.{name}", kind, bank_figures, SHAREABLE["bank"], BANK, meaning, **about)


def _person(part: str, meaning: str, unit: str) -> Fact:
    about: dict[str, Any] = {"read": person_figures, "scope": FIRST_PARTY, "part": part, "of_application": True}
    return Fact(f"{PERSON}{part}", "number", meaning=meaning, unit=unit, **about)


def _report(part: str, kind: str, meaning: str, unit: str | None = None, dated: str = "day") -> Fact:
    about: dict[str, Any] = {"read": Report.figures_of, "part": part, "dated": dated, "of_application": True}
    return Fact(f"report.{part}", kind, scope=FIRST_PARTY, source=REPORT, meaning=meaning, unit=unit, **about)


FACTS = (
    _identity("verified", "boolean", is_verified, "Whether the person's identity is verified."),
    _identity(
        "verified_days_ago", "number", verified_days_ago, "Whole days since the verification of the identity.", _DAYS
    ),
    _identity(
        "name_match", "text", name_match, "The identity vendor's comparison of the name: `match`, `partial`, "
        "`no_match`, or `unknown`.",
    ),
    Fact("bank.linked", "boolean", has_linked_bank, SHAREABLE["bank"], PLATFORM, "Whether a bank is linked."),
    _bank(
        "accounts_balance_cents", "number", "balance_cents",
        "The total balance of the owned accounts, as reported by the banks.", unit=_CENTS, dated="balance_on",
    ),
    _bank(
        "income_monthly_cents", "number", "income_monthly_cents",
        f"Money in per month: the average over {_WINDOW}, without internal transfers.", unit=_CENTS,
    ),
    _bank(
        "spending_monthly_cents", "number", "spending_monthly_cents",
        f"Money out per month: the average over {_WINDOW}, without internal transfers.", unit=_CENTS,
    ),
    _bank(
        "months_covered", "number", "months_covered",
        "How many complete calendar months the transactions cover, at most 3.", unit="months",
    ),
    _bank(
        "lowest_balance_cents", "number", "lowest_balance_cents",
        f"The lowest end-of-day balance of all owned accounts together, in {_LAST_DAYS}.", unit=_CENTS,
    ),
    _bank(
        "overdrawn_days_90", "number", "overdrawn_days",
        f"The number of days with a negative end-of-day balance of an owned account, in {_LAST_DAYS}.", unit=_DAYS,
    ),
    _bank(
        "as_of", "text", "as_of_text", "The last day that all linked banks reported completely, such as `2026-01-31`."
    ),
    Fact(
        "account.age_days", "number", account_age_days, FIRST_PARTY, PLATFORM,
        "Whole days since the account was created.", _DAYS,
    ),
    Fact(
        "applications.in_90_days", "number", applications_lately, "applications:read", PLATFORM,
        f"How many other applications the account submitted in the last {APPLICATIONS_DAYS} days.",
        "applications",
        excludes_application=True,
    ),
    _person(
        "open_applications",
        "How many other applications of the same person to the lender have the status `submitted`, `under_review`, or "
        "`pending_documents`.",
        "applications",
    ),
    _person(
        "days_since_rejection",
        "Whole days since the newest rejection of another application of the same person to the lender. Only "
        "applications that have the status `rejected` count.",
        _DAYS,
    ),
    _report("status", "text", "The status of the newest credit report: `requested`, `received`, `no_file`, `frozen`, "
            "`failed`."),
    _report("score", "number", "The score of the newest credit report.", "points"),
    _report(
        "obligations_monthly_cents", "number", "Payments due per month, according to the newest credit report.",
        _CENTS,
    ),
    _report(
        "delinquencies_24_months", "number",
        "Delinquencies in the last 24 months, according to the newest credit report.", "times",
    ),
    _report(
        "inquiries_6_months", "number", "Inquiries in the last 6 months, according to the newest credit report.",
        "times",
    ),
    _report(
        "oldest_account_months", "number", "Age of the oldest account, according to the newest credit report.",
        "months",
    ),
    _report("as_of", "text", "The day of the data in the newest credit report, such as `2026-01-31`."),
    _report(
        "income_monthly_cents", "number", "Income per month, according to the newest income report.",
        _CENTS, "income_day",
    ),
    _person(
        "accounts",
        "The number of accounts from which the same person applied to the lender, including this account.",
        "accounts",
    ),
)  # fmt: skip
