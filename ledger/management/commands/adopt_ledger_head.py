"""`manage.py adopt_ledger_head --size N --root HEX`: write the guard file of a log that has lost it."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from config.ops.commands import JsonCommand
from ledger import log
from ledger.adoption import NotTheHeadError, adopt_head
from ledger.errors import LogUnavailableError
from ledger.proofs import parse_report_hash


class Command(JsonCommand):
    help = (
        "Say that the database's head is the newest that was ever signed, when the guard file is lost or damaged. "
        "Compare it with a checkpoint that somebody else kept: were it older, the log would get a second history."
    )

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--size", type=int, required=True, help="Entries in the tree.")
        parser.add_argument("--root", required=True, help="Root of the tree, 64 hex characters.")

    def run(self, **options: Any) -> dict[str, Any]:
        root = parse_report_hash(options["root"])
        if root is None:
            raise CommandError("A root has exactly 64 hexadecimal characters.")
        try:
            head = adopt_head(options["size"], root)
        except NotTheHeadError as error:
            newest = log.read_head()
            raise CommandError(
                f"The database's head is --size {newest.tree_size} --root {newest.root.hex()}, not the one given. "
                "Nothing was changed."
            ) from error
        except LogUnavailableError as error:
            raise CommandError(f"{error} Nothing was changed.") from error
        return {"size": head.tree_size, "root": head.root.hex(), "block_number": head.number}
