"""The facts about a person that scorecards may ask for and that identity and this app know; one statement each.

What a client only claims is no fact here: balances count where the bank told them.
"""

from datetime import datetime, timedelta

from django.contrib.auth import get_user_model
from django.db.models import Count, Q, Sum

from config.api.prepared import PreparedSelect
from credit.models import Application
from credit.scoring.facts import register
from identity.bank.models import BankAccount, BankItem
from identity.kyc.machine import DECISIONS, VERIFIED
from identity.kyc.models import KycVerification

APPLICATIONS_DAYS = 90
# What of these kinds is on the account is owed, not owned.
_DEBTS = ("credit", "loan")


def register_facts() -> None:
    register("identity.verified", "boolean", is_verified)
    register("identity.verified_days_ago", "number", verified_days_ago)
    register("bank.linked", "boolean", has_linked_bank)
    register("bank.accounts_balance_cents", "number", accounts_balance_cents)
    register("account.age_days", "number", account_age_days)
    register("applications.in_90_days", "number", applications_lately)


# The status of the newest verification that came to an end, and when it did: nearly every card asks.
_last_decided = PreparedSelect(
    lambda user_id: KycVerification.objects.filter(user_id=user_id, status__in=DECISIONS).order_by("-attempt")[:1],
    ("status", "completed_at"),
).first


def is_verified(user_id: int, now: datetime) -> bool:  # noqa: ARG001
    """Say whether the person's identity is verified; who was never checked is not."""
    last = _last_decided(user_id=user_id)
    return last is not None and last[0] == VERIFIED


def verified_days_ago(user_id: int, now: datetime) -> int | None:
    """Return the whole days since the person's identity was verified, None where it is not."""
    last = _last_decided(user_id=user_id)
    return None if last is None or last[0] != VERIFIED or last[1] is None else _days(last[1], now)


def has_linked_bank(user_id: int, now: datetime) -> bool:  # noqa: ARG001
    return BankItem.objects.filter(user_id=user_id).exists()


def accounts_balance_cents(user_id: int, now: datetime) -> int | None:  # noqa: ARG001
    """Return what is on the approved accounts together, as the bank told it; what is owed on cards and loans is not.

    None without such an account, where a balance is unknown, and where currencies would be mixed.
    """
    owned = BankAccount.objects.filter(user_id=user_id, from_provider=True).exclude(type__in=_DEBTS)
    found = owned.aggregate(
        total=Sum("current_cents"),
        unknown=Count("pk", filter=Q(current_cents__isnull=True)),
        currencies=Count("currency", distinct=True),
        nameless=Count("pk", filter=Q(currency__isnull=True)),
    )
    if found["unknown"] or found["currencies"] + bool(found["nameless"]) > 1:
        return None
    return None if found["total"] is None else int(found["total"])


def account_age_days(user_id: int, now: datetime) -> int | None:
    joined = get_user_model().objects.filter(pk=user_id).values_list("date_joined", flat=True).first()
    return None if joined is None else _days(joined, now)


def applications_lately(user_id: int, now: datetime) -> int:
    """Return how many applications the person submitted in the last 90 days, without one that is submitted now."""
    since = now - timedelta(days=APPLICATIONS_DAYS)
    return Application.objects.filter(consumer_id=user_id, submitted_at__gte=since, submitted_at__lt=now).count()


def _days(since: datetime, now: datetime) -> int:
    return max(0, (now - since).days)
