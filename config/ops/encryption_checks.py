"""Checks that FIELD_ENCRYPTION_KEYS decrypt the stored values.

They are separate from the other checks, because the ledger encrypts nothing.
"""

from typing import Any

from django.conf import settings
from django.core import checks

from config.core.encryption import BOUND, UnreadableSecret, encrypted_fields, kind_of, mode
from config.ops.checks import DOCTOR, START, register
from config.ops.rotation import count_unbound


def check_encryption_keys(**_options: Any) -> list[checks.CheckMessage]:
    """Check that the keys decrypt the newest stored value of each encrypted column."""
    opened, closed = _open_the_newest()
    return [_not_opened(closed)] if closed else [checks.Info(f"decrypted {opened} stored values")]


def check_keys_open_anything(**_options: Any) -> list[checks.CheckMessage]:
    """Check that the keys decrypt at least one value; a single damaged value does not prevent the start."""
    opened, closed = _open_the_newest()
    return [_not_opened(closed)] if closed and not opened else []


def check_encryption_mode(**_options: Any) -> list[checks.CheckMessage]:
    """Report whether encrypted values are bound to their rows, and the number of unbound values."""
    word, unbound = mode.read(), count_unbound()
    text = f"mode {word}, {unbound} stored values are not bound to their rows"
    if word != BOUND:
        return [checks.Warning(f"{text}: run `rotate_encryption_key` once no server of version 1.0 runs")]
    if unbound:
        return [checks.Warning(f"{text}, and the program rejects them: another program wrote them")]
    return [checks.Info(text)]


def _open_the_newest() -> tuple[int, list[str]]:
    """Return the number of decrypted values, and the columns whose newest value could not be decrypted."""
    opened, closed = 0, []
    for model, field in encrypted_fields():
        rows = model._default_manager.filter(**{f"{field.name}__isnull": False}).order_by("-pk")
        newest = rows.values_list("pk", field.name).first()
        if newest is None:
            continue
        pk, value = newest
        try:
            field.open(value, pk)
        except UnreadableSecret:
            closed.append(kind_of(model, field))
        else:
            opened += 1
    return opened, closed


def _not_opened(kinds: list[str]) -> checks.Error:
    names = ", ".join(kinds)
    text = f"No key in FIELD_ENCRYPTION_KEYS decrypts the stored values of {names}: add the key that encrypted them."
    return checks.Error(text)


if settings.SERVICE == "platform":  # the ledger has no encrypted column
    register(check_encryption_keys, DOCTOR)
    register(check_encryption_mode, DOCTOR)
    register(check_keys_open_anything, START)
