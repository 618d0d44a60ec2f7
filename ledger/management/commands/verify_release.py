from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from config.ops.commands import JsonCommand
from ledger.checkpoint import NoteError, Verifier
from ledger.policy import Policy, PolicyError
from ledger.releases.checking import Release


class Command(JsonCommand):
    """Exit 0 when the release is what its ledger says; else 1, with the first fault."""

    help = (
        "Check the files of a release, which lie beside its archive: sums, statement, SBOM, and the proof that the "
        "ledger has the statement. Offline; with --policy also that a quorum of witnesses cosigned."
    )
    requires_system_checks: list[str] = []

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("archive", type=Path, metavar="ARCHIVE", help="credit-platform-VERSION.tar.gz")
        parser.add_argument("--key", help="The verifier key (name+id+base64) of the ledger, from who runs it.")
        parser.add_argument("--policy", type=Path, metavar="FILE", help="Which logs and witnesses to trust (C2SP).")

    def handle(self, *arguments: Any, **options: Any) -> None:
        if not options["key"] and not options["policy"]:
            raise CommandError("Give the ledger's key with --key, or a policy with --policy.")
        try:
            verifier = Verifier.from_vkey(options["key"]) if options["key"] else None
            policy = Policy.read(options["policy"]) if options["policy"] else None
        except (NoteError, PolicyError, OSError) as error:
            raise CommandError(str(error)) from error
        steps = [*Release(options["archive"], verifier, policy).check()]
        super().handle(*arguments, **options, steps=steps)
        if not steps[-1].ok:
            raise CommandError(f"This is not that release. {steps[-1].name}: {steps[-1].detail}")

    def run(self, **options: Any) -> dict[str, Any]:
        steps = options["steps"]
        for step in steps:
            self.note_step("ok" if step.ok else "FAIL", step.name, step.detail)
        last = steps[-1]
        return {"ok": last.ok, "fault": None if last.ok else {"step": last.name, "detail": last.detail}}
