"""`manage.py verify_proof FILE --report FILE`: check a proof offline, without database or network."""

from argparse import ArgumentParser
from hashlib import file_digest
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from config.api.commands import JsonCommand
from ledger.checkpoint import MAX_NOTE_BYTES, NoteError, Verifier
from ledger.keys import signer
from ledger.proofs import check_proof


class Command(JsonCommand):
    """Exit 0 when the report is proven; else 1, with the step that failed."""

    help = "Check a proof file against a report and the log's public key, offline."
    requires_system_checks: list[str] = []

    def arguments(self, parser: ArgumentParser) -> None:
        """Take the two files, and the key when it is not this installation's own."""
        parser.add_argument("proof", type=Path, help="The .tlog-proof file.")
        parser.add_argument("--report", type=Path, required=True, help="The report, byte for byte.")
        parser.add_argument("--key", help="The log's verifier key (name+id+base64); default: this log's own.")

    def run(self, **options: Any) -> dict[str, Any]:
        """Check every step and show them."""
        try:
            verifier = Verifier.from_vkey(options["key"]) if options["key"] else signer().verifier
            with options["proof"].open("rb") as file:
                text = file.read(MAX_NOTE_BYTES + 1).decode()
            with options["report"].open("rb") as file:
                report_hash = file_digest(file, "sha256").digest()
        except (NoteError, OSError, UnicodeDecodeError) as error:
            raise CommandError(str(error)) from error
        steps = check_proof(text, report_hash, verifier)
        for step in steps:
            self.stderr.write(f"{'ok  ' if step.ok else 'FAIL'} {step.name}: {step.detail}")
        if not steps[-1].ok:
            raise CommandError("The proof does not hold.")
        return {"verified": True, "hash": report_hash.hex()}
