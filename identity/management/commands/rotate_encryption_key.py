from typing import Any

from django.core.management.base import CommandError
from django.db import transaction

from config.core.encryption import Unreadable, UnreadableSecret, encrypted_fields, kind_of
from config.ops.commands import JsonCommand
from identity.accounts import codes

_BATCH_ROWS = 500


def encrypt_again() -> tuple[int, list[UnreadableSecret]]:
    """Encrypt every encrypted value with the first key; return how many there were, and those that no key opens.

    Rows are locked in batches, so that it can run while traffic does, and can be run again after an interruption.
    """
    written, unreadable = 0, []
    for model, field in encrypted_fields():
        kind = kind_of(model, field)
        rows = batch = model._default_manager.filter(**{f"{field.name}__isnull": False}).order_by("pk")
        while True:
            with transaction.atomic():
                found = list(batch.select_for_update().values_list("pk", field.name)[:_BATCH_ROWS])
                for pk, value in found:
                    if isinstance(value, Unreadable):
                        unreadable.append(UnreadableSecret(kind, str(pk)))
                        continue
                    model._default_manager.filter(pk=pk).update(**{field.name: value})
                    written += 1
            if not found:
                break
            batch = rows.filter(pk__gt=found[-1][0])
    return written, unreadable


class Command(JsonCommand):
    """Encrypt everything with the first of FIELD_ENCRYPTION_KEYS; name what no key opens, and end with status 1."""

    help = (
        "Re-encrypt every encrypted value with the first key of FIELD_ENCRYPTION_KEYS, bound to its row. From the "
        "first run on, values that servers of version 1.0 write are refused. Safe while traffic runs; a killed run is "
        "continued by the next."
    )

    def handle(self, *arguments: Any, **options: Any) -> None:
        self._left = 0
        super().handle(*arguments, **options)
        if self._left:
            raise CommandError(
                f"{self._left} values were left as they are, because no key opens them. Everything else is rotated. "
                "Add the key that they were encrypted with and run this again, or have each secret replaced."
            )

    def run(self, **_options: Any) -> dict[str, Any]:
        written, unreadable = encrypt_again()
        codes_written, codes_unreadable = codes.encrypt_again()
        written, unreadable = written + codes_written, unreadable + codes_unreadable
        self._left = len(unreadable)
        names = [{"kind": found.kind, "record_id": found.record_id} for found in unreadable]
        return {"rows": written, "unreadable": len(names), "values": names}
