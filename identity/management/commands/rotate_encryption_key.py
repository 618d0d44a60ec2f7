from argparse import ArgumentParser
from typing import Any

from django.apps import apps

from config.core.encryption import mode
from config.ops.commands import JsonCommand
from config.ops.rotation import discard, rotate
from identity.accounts.seeds import hash_codes


class Command(JsonCommand):
    """Encrypts all data with the first key. If data can't be decrypted, lists it and exits with status 1."""

    help = (
        "Re-encrypt every encrypted value with the first key of FIELD_ENCRYPTION_KEYS, bound to its row. After "
        "the first run, the database rejects values that servers of version 1.0 write. Safe during traffic. The "
        "next run continues an interrupted run."
    )

    fault = (
        "{unreadable} values did not change, because no key decrypts them. All other values are rotated. Add the key "
        "that encrypted them and run the command again, or replace each secret."
    )
    fault_count = "unreadable"

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--discard-lost",
            action="store_true",
            help="Empty the values that no key decrypts. Use this option only if the keys are lost permanently.",
        )

    def run(self, **options: Any) -> dict[str, Any]:
        hash_codes(apps)  # version 1.0 encrypted seeds without associated data
        rotated = rotate()
        unreadable = discard(rotated.unreadable) if options["discard_lost"] else rotated.unreadable
        names = [{"kind": value.kind, "record_id": value.record_id} for value in unreadable]
        return {
            "rows": rotated.rows,
            "written": rotated.written,
            "discarded": len(rotated.unreadable) - len(unreadable),
            "unreadable": len(names),
            "values": names,
            "mode": mode.read(),
        }
