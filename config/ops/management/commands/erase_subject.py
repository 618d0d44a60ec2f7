from argparse import ArgumentParser
from typing import Any

from django.utils import timezone

from config.core.registration import declared
from config.ops.commands import JsonCommand


class Command(JsonCommand):
    help = "Erase a person's data immediately, and their metadata in the ledger. Hashes and proofs stay."

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("user_id", help="The account's `user_id`, exactly as anchored.")

    def run(self, **options: Any) -> dict[str, Any]:
        """Erase an account's data in every app of this process. Idempotent.

        Records that a law requires are retained. `prune` erases them when the legal ground ends.
        """
        result: dict[str, Any] = {"user_id": options["user_id"]}
        for erase in declared("erase_subject"):
            result |= erase(options["user_id"], now=timezone.now())
        return result
