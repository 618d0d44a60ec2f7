"""The facts that identity and credit know about a person, for scorecards to ask for; one statement each.

A client's claim is not a fact here: balances count if the bank reported them.
"""

from datetime import datetime, timedelta

from django.contrib.auth import get_user_model
from django.db.models import Count, Q

from config.core.credentials import FIRST_PARTY
from config.core.prepared import PreparedSelect
from credit.core.facts import SHAREABLE, Fact
from credit.models import Application
from identity.bank.models import BankAccount, BankItem, sum_if_known
from identity.kyc.machine import DECISIONS, VERIFIED
from identity.kyc.models import KycVerification

APPLICATIONS_DAYS = 90
CURRENCY = "USD"  # required by every offer


# The status of the newest verification that came to an end, and when it did: nearly every card asks.
_last_decided = PreparedSelect(
    lambda user_id: KycVerification.objects.filter(user_id=user_id, status__in=DECISIONS).order_by("-attempt")[:1],
    ("status", "completed_at", "name_match"),
).first


def is_verified(user_id: int, now: datetime) -> bool:  # noqa: ARG001
    """Return whether the person's identity is verified; an unchecked one is not."""
    last = _last_decided(user_id=user_id)
    return last is not None and last[0] == VERIFIED


def verified_days_ago(user_id: int, now: datetime) -> int | None:
    """Return the whole days since the person's identity was verified, None where it is not."""
    last = _last_decided(user_id=user_id)
    return None if last is None or last[0] != VERIFIED or last[1] is None else _days(last[1], now)


def name_match(user_id: int, now: datetime) -> str | None:  # noqa: ARG001
    """Return the identity provider's word on the name: match, partial, no_match, unknown; None before a check ended."""
    last = _last_decided(user_id=user_id)
    return None if last is None else last[2]


def has_linked_bank(user_id: int, now: datetime) -> bool:  # noqa: ARG001
    return BankItem.objects.linked().filter(user_id=user_id).exists()


def accounts_balance_cents(user_id: int, now: datetime) -> int | None:  # noqa: ARG001
    """Return what is on the approved accounts together, as the bank told it; what is owed on cards and loans is not.

    None without such an account, if a balance is unknown, and if an account is in another currency than offers are.
    """
    owned = BankAccount.objects.reported_by_provider().owned().filter(user_id=user_id)
    figures = owned.aggregate(total=sum_if_known("current_cents"), foreign=Count("pk", filter=~Q(currency=CURRENCY)))
    return None if figures["total"] is None or figures["foreign"] else int(figures["total"])


def account_age_days(user_id: int, now: datetime) -> int | None:
    joined = get_user_model().objects.filter(pk=user_id).values_list("date_joined", flat=True).first()
    return None if joined is None else _days(joined, now)


def applications_lately(user_id: int, now: datetime) -> int:
    """Return how many applications the person submitted in the last 90 days, without one that is submitted now."""
    since = now - timedelta(days=APPLICATIONS_DAYS)
    return Application.objects.filter(consumer_id=user_id, submitted_at__gte=since, submitted_at__lt=now).count()


def _days(since: datetime, now: datetime) -> int:
    return max(0, (now - since).days)


FACTS = (
    Fact("identity.verified", "boolean", is_verified, SHAREABLE["identity"]),
    Fact("identity.verified_days_ago", "number", verified_days_ago, SHAREABLE["identity"]),
    Fact("identity.name_match", "text", name_match, SHAREABLE["identity"]),
    Fact("bank.linked", "boolean", has_linked_bank, SHAREABLE["bank"]),
    Fact("bank.accounts_balance_cents", "number", accounts_balance_cents, SHAREABLE["bank"]),
    Fact("account.age_days", "number", account_age_days, FIRST_PARTY),
    Fact("applications.in_90_days", "number", applications_lately, "applications:read"),
)
