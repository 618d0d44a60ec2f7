from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from config.ops.commands import JsonCommand
from credit.scoring.verify_decision import FAIL, FILE_MAX_BYTES, SKIPPED, verify


class Command(JsonCommand):
    """Exit 0 when nothing is wrong; else 1, with the step that failed."""

    help = "Check a decision from its bundle: the score computed again, the hashes, the ledger's proof."
    requires_system_checks: list[str] = []

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("bundle", type=Path, metavar="FILE", help="The decision bundle.")
        parser.add_argument("--ledger-key", metavar="KEY", help="The ledger's verifier key, as its /key shows it.")

    def run(self, **options: Any) -> dict[str, Any]:
        try:
            with options["bundle"].open("rb") as file:
                content = file.read(FILE_MAX_BYTES + 1)
        except OSError as error:
            raise CommandError(str(error)) from error
        steps = verify(content, options["ledger_key"])
        for step in steps:
            self.stderr.write(f"{step.state:4} {step.name}: {ascii(step.detail)[1:-1]}")
        if steps[-1].state == FAIL:
            raise CommandError(f"The decision does not hold: {steps[-1].name}.")
        return {"verified": True, "not_checked": [step.name for step in steps if step.state == SKIPPED]}
