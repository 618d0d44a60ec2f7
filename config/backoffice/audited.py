"""Audit lines of actions in the back office."""

from typing import Any

from django.contrib.admin.models import ADDITION, CHANGE, DELETION
from django.contrib.contenttypes.models import ContentType

from config.core import audit

_KINDS = {ADDITION: "back_office.added", CHANGE: "back_office.changed", DELETION: "back_office.deleted"}


def audit_entry(instance: Any, **_signal: Any) -> None:
    """Write an audit line for an entry of Django's log.

    The line excludes the entry's texts, which may contain personal names.
    """
    model = ContentType.objects.get_for_id(instance.content_type_id)
    audit.emit(
        _KINDS[instance.action_flag],
        actor={"user": audit.ocsf_user(instance.user_id, "session")},
        entity=audit.entity(f"{model.app_label}.{model.model}", instance.object_id),
    )
