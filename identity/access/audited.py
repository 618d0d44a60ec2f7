"""Write audit lines of log-ins, log-outs, and changes of groups and credentials, from signals."""

from typing import Any

from allauth.account.signals import password_changed, password_reset, password_set
from allauth.mfa.signals import authenticator_added, authenticator_removed
from django.contrib.auth.models import Group
from django.contrib.auth.signals import user_logged_in, user_logged_out
from django.db.models.signals import m2m_changed
from django.utils import timezone

from config.core import audit
from config.core.lifecycle import Actor
from identity.access.models import AccountHistory, User

_SESSION = "session"
_GROUP_KINDS = {"post_add": "group.added", "post_remove": "group.removed", "pre_clear": "group.removed"}
_ACCOUNT_KINDS = {
    password_set: "account.password_changed",
    password_changed: "account.password_changed",
    password_reset: "account.password_changed",
    authenticator_added: "account.second_factor_added",
    authenticator_removed: "account.second_factor_removed",
}


def follow() -> None:
    """Connect the signal receivers. The AppConfig's `ready` calls this function once."""
    user_logged_in.connect(_log_in, dispatch_uid="audit-log-in")
    user_logged_out.connect(_log_out, dispatch_uid="audit-log-out")
    m2m_changed.connect(_change_groups, sender=User.groups.through, dispatch_uid="audit-groups")
    for signal in _ACCOUNT_KINDS:
        signal.connect(_change_account, dispatch_uid="audit-account")


def _log_in(user: Any, **_signal: Any) -> None:
    audit.emit("log_in", user=audit.ocsf_user(user.pk, _SESSION))


def _log_out(user: Any, **_signal: Any) -> None:
    if user is not None:
        audit.emit("log_out", user=audit.ocsf_user(user.pk, _SESSION))


def _change_account(signal: Any, user: Any, **_signal: Any) -> None:
    """Write an audit line and an account history entry for a change that the owner made on a page."""
    credential = "password_reset" if signal is password_reset else _SESSION
    AccountHistory.note(_ACCOUNT_KINDS[signal], Actor(user, credential), now=timezone.now())


def _change_groups(*, instance: Any, action: str, reverse: bool, pk_set: set[int] | None, **_signal: Any) -> None:
    """Write an audit line for each account and each group that the account joined or left.

    The back office writes another line, with the actor.
    """
    kind = _GROUP_KINDS.get(action)
    if kind is None:
        return
    if reverse:
        users = instance.user_set.values_list("pk", flat=True) if pk_set is None else pk_set
        pairs = [(user_id, instance.name) for user_id in users]
    else:
        groups = instance.groups.all() if pk_set is None else Group.objects.filter(pk__in=pk_set)
        pairs = [(instance.pk, name) for name in groups.order_by("name").values_list("name", flat=True)]
    for user_id, name in pairs:
        audit.emit(kind, user=audit.ocsf_user(user_id), group={"name": name})
