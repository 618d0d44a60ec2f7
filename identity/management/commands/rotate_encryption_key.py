from typing import Any

from django.apps import apps

from config.core.encryption import mode
from config.ops.commands import JsonCommand
from config.ops.rotation import rotate
from identity.accounts.seeds import hash_codes


class Command(JsonCommand):
    """Encrypt everything with the first of FIELD_ENCRYPTION_KEYS; name what no key opens, and end with status 1."""

    help = (
        "Re-encrypt every encrypted value with the first key of FIELD_ENCRYPTION_KEYS, bound to its row. From the "
        "first run on, values that servers of version 1.0 write are refused. Safe while traffic runs; a killed run is "
        "continued by the next."
    )

    fault = (
        "{unreadable} values were left as they are, because no key opens them. Everything else is rotated. Add the key "
        "that they were encrypted with and run this again, or have each secret replaced."
    )
    fault_count = "unreadable"

    def run(self, **_options: Any) -> dict[str, Any]:
        hash_codes(apps)  # seeds of version 1.0 are unbound
        rotated = rotate()
        names = [{"kind": value.kind, "record_id": value.record_id} for value in rotated.unreadable]
        return {
            "rows": rotated.rows,
            "written": rotated.written,
            "unreadable": len(names),
            "values": names,
            "mode": mode.read(),
        }
