"""Rules for the password log-in of staff, including the break-glass account."""

from typing import Any

from django.conf import settings

from config.core import audit
from config.ops.request_counts import counts_of_process


def is_break_glass(user: Any) -> bool:
    name: str = settings.STAFF_BREAK_GLASS
    return bool(name) and user.get_username().casefold() == name.casefold()


def may_use_password(user: Any) -> bool:
    """Return False for staff who must use single sign-on (`STAFF_PASSWORDS=0`)."""
    return settings.STAFF_PASSWORDS or not (user.is_staff or user.is_superuser) or is_break_glass(user)


def note_password_log_in(user: Any) -> None:
    """Count a log-in of the break-glass account, for an alert."""
    if is_break_glass(user):
        counts = counts_of_process()
        if counts is not None:
            counts.break_glass_log_ins.inc()
        audit.emit("account.break_glass", entity=audit.entity("identity.user", user.pk))
