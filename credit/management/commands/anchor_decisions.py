"""Carry decisions to the ledger."""

from datetime import datetime
from typing import Any

from django.core.management.base import CommandError

from config.ops.commands import WorkerCommand
from credit.anchoring import anchor_due


class Command(WorkerCommand):
    """Anchor approvals, rejections and reopenings in the ledger at CHAIN_URL."""

    help = "Anchor decisions about applications in the ledger, until SIGTERM; with --once what is due now."

    def work(self, *, now: datetime) -> dict[str, int]:
        """Anchor one batch."""
        return anchor_due(now=now)

    def run(self, **options: Any) -> dict[str, Any]:
        """Work; with `--once` a failure is the command's own."""
        counts = super().run(**options)
        if options["once"] and counts["failed"]:
            raise CommandError(f"{counts['failed']} decisions could not be anchored; they are tried again later.")
        return counts
