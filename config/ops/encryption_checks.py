"""Whether the field keys open what is stored; apart from the other checks, because the ledger encrypts nothing."""

from typing import Any

from django.core import checks

from config.core.encryption import Unreadable, encrypted_fields, kind_of
from config.ops.checks import DOCTOR, START, register


def check_encryption_keys(**_options: Any) -> list[checks.CheckMessage]:
    """Open the newest stored value of each encrypted column."""
    opened, closed = _open_the_newest()
    return [_not_opened(closed)] if closed else [checks.Info(f"{opened} stored values opened")]


def check_keys_open_anything(**_options: Any) -> list[checks.CheckMessage]:
    """Look for other keys than everything was encrypted with. One damaged value does not prevent the start."""
    opened, closed = _open_the_newest()
    return [_not_opened(closed)] if closed and not opened else []


def _open_the_newest() -> tuple[int, list[str]]:
    """Return how many values were opened, and of which columns the newest one was not."""
    opened, closed = 0, []
    for model, field in encrypted_fields():
        rows = model._default_manager.filter(**{f"{field.name}__isnull": False}).order_by("-pk")
        newest = rows.values_list(field.name, flat=True).first()
        if isinstance(newest, Unreadable):
            closed.append(kind_of(model, field))
        else:
            opened += newest is not None
    return opened, closed


def _not_opened(kinds: list[str]) -> checks.Error:
    names = ", ".join(kinds)
    text = f"FIELD_ENCRYPTION_KEYS does not open what is stored in {names}: add the key that it was encrypted with."
    return checks.Error(text)


register(check_encryption_keys, DOCTOR)
register(check_keys_open_anything, START)
