from argparse import ArgumentParser
from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import CommandError

from config.core.ids import parse_positive_int64
from config.ops.commands import JsonCommand
from credit.applications.services import erase_applicants
from credit.models import RetentionHold
from credit.review.confirmations import erase_confirmations
from credit.scoring.scores import erase_facts


class Command(JsonCommand):
    help = "Delete the facts of a person's scores, applicants, and confirmed values; scores and hashes stay."

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("user_id", help="The account's user_id.")

    def run(self, **options: Any) -> dict[str, Any]:
        """Delete facts, applicants and nonces. Without its nonce the input of a hash cannot be guessed.

        A decision whose facts are erased can no longer be computed again; that it was made, and its record, stay.
        """
        number = parse_positive_int64(options["user_id"])
        if number is None or not get_user_model().objects.filter(pk=number).exists():
            raise CommandError(f"Account {options['user_id']} not found.")
        if held := [str(pk) for pk in RetentionHold.held_of(number)]:
            raise CommandError(f"A litigation hold is on: application {', '.join(held)}. End it first (`PUT …/hold`).")
        return {
            "user_id": options["user_id"],
            "facts": erase_facts(number),
            "applicants": erase_applicants(number),
            "confirmations": erase_confirmations(number),
        }
