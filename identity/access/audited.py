"""Write audit lines of log-ins, log-outs, and group changes, from Django's signals."""

from typing import Any

from django.contrib.auth.models import Group
from django.contrib.auth.signals import user_logged_in, user_logged_out
from django.db.models.signals import m2m_changed

from config.core import audit
from identity.access.models import User

_SESSION = "session"
_GROUP_KINDS = {"post_add": "group.added", "post_remove": "group.removed", "pre_clear": "group.removed"}


def follow() -> None:
    """Connect the signal receivers. The AppConfig's `ready` calls it once."""
    user_logged_in.connect(_log_in, dispatch_uid="audit-log-in")
    user_logged_out.connect(_log_out, dispatch_uid="audit-log-out")
    m2m_changed.connect(_change_groups, sender=User.groups.through, dispatch_uid="audit-groups")


def _log_in(user: Any, **_signal: Any) -> None:
    audit.emit("log_in", user=audit.person(user.pk, _SESSION))


def _log_out(user: Any, **_signal: Any) -> None:
    if user is not None:
        audit.emit("log_out", user=audit.person(user.pk, _SESSION))


def _change_groups(*, instance: Any, action: str, reverse: bool, pk_set: set[int] | None, **_signal: Any) -> None:
    """Write a line for each account and group. The back office's line of the same request has the actor."""
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
        audit.emit(kind, user=audit.person(user_id), group={"name": name})
