from typing import Any

from django.core.management.base import CommandError

from config.core.encryption import encrypt_again
from config.ops.commands import JsonCommand
from config.ops.unreadable import set_aside


class Command(JsonCommand):
    """Encrypt everything with the first of FIELD_ENCRYPTION_KEYS; name what no key opens, and end with status 1."""

    help = "Re-encrypt every encrypted value with the first key of FIELD_ENCRYPTION_KEYS. Safe while traffic runs."

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
        for found in unreadable:
            set_aside(found)
        self._left = len(unreadable)
        names = [{"kind": found.kind, "record_id": found.record_id} for found in unreadable]
        return {"rows": written, "unreadable": len(names), "values": names}
