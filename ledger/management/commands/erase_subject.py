"""`manage.py erase_subject USER_ID`: forget a person without breaking any proof."""

from argparse import ArgumentParser
from typing import Any

from config.ops.commands import JsonCommand
from ledger.erasure import erase_subject


class Command(JsonCommand):
    help = "Erase a user's metadata from the ledger; hashes and proofs stay."

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("user_id", help="The user_id exactly as it was anchored.")

    def run(self, **options: Any) -> dict[str, Any]:
        return {"user_id": options["user_id"], "entries": erase_subject(options["user_id"])}
