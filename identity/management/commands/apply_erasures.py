from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError
from django.utils import timezone

from config.ops.commands import JsonCommand
from identity.accounts.erasure import apply_erasures


class Command(JsonCommand):
    help = "Erase accounts again after a restored backup, from a copy of erasures.jsonl."
    fault = "{failed} erasures failed. Run the command again."

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, help="The newest copy of erasures.jsonl.")
        parser.add_argument("--dry-run", action="store_true", dest="is_dry", help="Only count the accounts.")

    def run(self, **options: Any) -> dict[str, Any]:
        """Return counts, and the ids of the erased accounts. A ledger with a separate database also needs these ids."""
        try:
            return apply_erasures(options["file"], now=timezone.now(), is_dry=options["is_dry"])
        except (OSError, ValueError) as error:
            raise CommandError(f"{options['file']} can't be read: {error}") from error
