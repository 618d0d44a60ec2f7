from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError
from django.db import transaction

from config.ops.commands import JsonCommand
from ledger import guard, log, signing
from ledger.errors import GuardDamagedError, GuardMissingError, LogUnavailableError
from ledger.models import database
from ledger.proof_file import parse_report_hash
from ledger.sealing import lock_and_read_heads


class Command(JsonCommand):
    help = (
        "Confirm that the database's head is the newest signed head. Use this command if the guard file is lost or "
        "damaged. First compare the head with an independent checkpoint. An older head would create a second "
        "history of the log."
    )

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--size", type=int, required=True, help="The number of entries in the tree.")
        parser.add_argument("--root", required=True, help="The root hash of the tree: 64 hex characters.")

    def run(self, **options: Any) -> dict[str, Any]:
        """Write the guard file. Idempotent.

        If the database has another head, raises CommandError and changes nothing.
        """
        size, root = options["size"], parse_report_hash(options["root"])
        if root is None:
            raise CommandError("A root hash must have exactly 64 hexadecimal characters.")
        try:
            with transaction.atomic(using=database().alias), database().cursor() as cursor:
                head, _before = lock_and_read_heads(cursor, database().vendor)
                if (head.tree_size, head.root) != (size, root):
                    here = f"--size {head.tree_size} --root {head.root.hex()}"
                    raise CommandError(
                        f"The database's head is {here} instead of the head in the command. Nothing was changed."
                    )
                _adopt(head)
        except LogUnavailableError as error:
            raise CommandError(f"{error} Nothing was changed.") from error
        return {"size": head.tree_size, "root": head.root.hex(), "block_number": head.number}


def _adopt(head: log.Head) -> None:
    """Replace a missing, empty, or damaged guard file. A readable guard file is never replaced."""
    signing.check_key(head)
    mark = guard.Mark(head.tree_size, head.root)
    try:
        signing.check_guard(head, using=database().alias)
    except (GuardMissingError, GuardDamagedError):
        guard.replace(mark)
    else:
        guard.advance(mark)
