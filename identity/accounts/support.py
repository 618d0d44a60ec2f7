"""Help of staff for the owner of an account. Each step writes an entry of the account history, with its reason."""

from datetime import datetime

from allauth.usersessions.models import UserSession
from django.contrib.sessions.models import Session
from django.db import transaction

from config.core.lifecycle import Actor
from config.mail.outbox import queue_requested_mail
from identity.access.models import AccountHistory, TokenFamily, User
from identity.accounts.forms import FORGOTTEN_TEMPLATE


def end_log_ins(user: User, *, by: Actor, reason: str, now: datetime) -> None:
    """End an account's sessions and the tokens of its log-ins. API keys and authorized apps stay valid."""
    with transaction.atomic():
        keys = UserSession.objects.filter(user=user).values("session_key")
        Session.objects.filter(session_key__in=keys).delete()
        TokenFamily.objects.filter(user=user, client__isnull=True, actor__isnull=True).revoke(now=now)
        AccountHistory.note("account.logged_out", by, account_id=user.pk, details={"reason": reason}, now=now)


def mail_reset(user: User, *, by: Actor, reason: str, now: datetime) -> bool:
    """Mail the account's owner a link for a new password, like the page for a forgotten password.

    Returns False if the address has reached the hourly limit of mails. Raises RateLimited if `by` has caused too many
    mails.
    """
    with transaction.atomic():
        sent = queue_requested_mail(user.email, FORGOTTEN_TEMPLATE, {}, named_by=by.user.pk, now=now)
        if sent is not None:
            AccountHistory.note("account.reset_mailed", by, account_id=user.pk, details={"reason": reason}, now=now)
    return sent is not None


def remove_second_factors(user: User, *, by: Actor, reason: str, now: datetime) -> None:
    with transaction.atomic():
        user.authenticator_set.all().delete()  # type: ignore[attr-defined]
        AccountHistory.note(
            "account.second_factor_removed", by, account_id=user.pk, details={"reason": reason}, now=now
        )
