"""Closes the open proposals of an account whose right to review ends."""

from typing import Any

from django.contrib.auth import get_user_model
from django.db.models.signals import m2m_changed, post_delete, post_save
from django.utils import timezone

from credit.models import Proposal, ProviderMember

_RIGHTS = {"is_active", "is_superuser"}  # the account's columns that determine its rights


def close_on_change() -> None:
    """Register signal handlers for changes of accounts, groups, permissions, and members of lenders."""
    account: Any = get_user_model()
    post_save.connect(_account_saved, sender=account)
    for relation in (account.groups.through, account.user_permissions.through):
        m2m_changed.connect(_groups_changed, sender=relation)
    for signal in (post_save, post_delete):
        signal.connect(_member_changed, sender=ProviderMember)


def _account_saved(instance: Any, created: bool, update_fields: Any, **_signal: Any) -> None:
    if not created and (update_fields is None or not _RIGHTS.isdisjoint(update_fields)):
        Proposal.close_lapsed(instance.pk, now=timezone.now())


def _groups_changed(instance: Any, action: str, reverse: bool, pk_set: Any, **_signal: Any) -> None:
    if action in {"post_remove", "post_clear"}:
        for account_id in (pk_set or ()) if reverse else (instance.pk,):
            Proposal.close_lapsed(account_id, now=timezone.now())


def _member_changed(instance: ProviderMember, created: bool = False, **_signal: Any) -> None:
    if not created:
        Proposal.close_lapsed(instance.user_id, now=timezone.now())
