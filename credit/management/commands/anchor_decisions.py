from datetime import datetime
from typing import Any

from django.core.management.base import CommandError

from config.ops.commands import WorkerCommand
from credit.anchoring import anchor_due


class Command(WorkerCommand):
    help = "Anchor decisions about applications in the ledger, until SIGTERM; with --once what is due now."

    def work(self, *, now: datetime) -> dict[str, int]:
        return anchor_due(now=now)

    def run(self, **options: Any) -> dict[str, Any]:
        counts = super().run(**options)
        if options["once"] and counts["failed"]:
            raise CommandError(f"{counts['failed']} decisions could not be anchored; they are tried again later.")
        return counts
