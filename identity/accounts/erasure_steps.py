"""Erasure steps for data that the register can't find by the account's id, and the retention of the audit log."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from allauth.account.models import EmailAddress
from allauth.usersessions.models import UserSession
from django.contrib.sessions.models import Session

from config.core.erasure import Ends
from identity.access.models import User
from identity.accounts.addresses import is_set_by_operator
from identity.accounts.models import ManagedAccount

AUDIT_LOG_LASTS = timedelta(days=5 * 365 + 2)  # 5 years, with the leap days


def kept_audit_log(user_id: int, *, now: datetime) -> Ends:
    """Return when the audit log of accesses to an erased account's data is erased."""
    erased_at = User.objects.values_list("erased_at", flat=True).get(pk=user_id) or now
    return {None: erased_at + AUDIT_LOG_LASTS} if erased_at + AUDIT_LOG_LASTS > now else {}


def end_sessions(user_id: int, *, now: datetime) -> None:  # noqa: ARG001  the signature of erasure steps
    Session.objects.filter(session_key__in=UserSession.objects.filter(user=user_id).values("session_key")).delete()


def end_partner_access(user_id: int, *, now: datetime) -> None:
    ManagedAccount.objects.filter(user=user_id, ended_at__isnull=True).update(ended_at=now)


def addresses_of(user_id: int) -> Iterator[str]:
    """Yield the account's confirmed and operator-set addresses. Others may belong to a different person."""
    yield from EmailAddress.objects.filter(user=user_id, verified=True).values_list("email", flat=True)
    for user in User.objects.filter(pk=user_id):
        if is_set_by_operator(user, user.email):
            yield user.email


GROUNDS = {"audit_log": kept_audit_log}
