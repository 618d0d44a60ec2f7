from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from ledger import log
from ledger.errors import LogUnavailableError
from ledger.proof_file import parse_report_hash


class Command(BaseCommand):
    help = "Print the inclusion proof of a hash (C2SP tlog-proof)."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("hash", help="The SHA-256 of the report: 64 hex characters.")
        parser.add_argument("--index", type=int, help="The index of the entry, if several have this hash.")

    def handle(self, *_args: Any, **options: Any) -> None:
        report_hash = parse_report_hash(options["hash"])
        if report_hash is None:
            raise CommandError("A hash must have exactly 64 hexadecimal characters.")
        try:
            proof = log.prove(report_hash, options["index"])
        except LogUnavailableError as error:
            raise CommandError(str(error)) from error
        if proof is None:
            raise CommandError("This hash is not anchored here.")
        self.stdout.write(proof.file().text(), ending="")
