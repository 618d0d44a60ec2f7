from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from config.ops.commands import JsonCommand
from credit.anchoring import verify_decision
from credit.anchoring.verify_decision import FAILED, SKIPPED, STATUS, UNKNOWN, VERIFIED

_SAYS = {VERIFIED: True, UNKNOWN: None}


class Command(JsonCommand):
    """Exit 0 when the decision holds; 1 with the step that failed; 3 when a key is missing; 4 when it is unsigned."""

    help = "Check a decision from its bundle: its signature, the score computed again, the hashes, the ledger's proof."
    requires_system_checks: list[str] = []

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("bundle", metavar="FILE", help="The decision bundle.")
        verify_decision.add_keys(parser)

    def handle(self, *arguments: Any, **options: Any) -> None:
        try:
            content = verify_decision.read(options["bundle"])
            keys = verify_decision.read_keys(options["platform_key"])
        except OSError as error:
            raise CommandError(str(error)) from error
        steps = verify_decision.verify(content, options["ledger_key"], keys)
        super().handle(*arguments, **options, steps=steps)
        outcome = verify_decision.outcome_of(steps)
        if outcome != VERIFIED:
            raise CommandError(verify_decision.sentence_about(steps), returncode=STATUS[outcome])

    def run(self, **options: Any) -> dict[str, Any]:
        steps = options["steps"]
        for step in steps:
            self.note_step(step.state, step.name, ascii(step.detail)[1:-1])
        outcome = verify_decision.outcome_of(steps)
        return {
            "verified": _SAYS.get(outcome, False),
            "outcome": outcome,
            "failed": steps[-1].name if outcome == FAILED else None,
            "not_checked": [step.name for step in steps if step.state == SKIPPED],
        }
