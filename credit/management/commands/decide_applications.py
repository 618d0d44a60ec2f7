from datetime import datetime
from typing import Any

from django.core.management.base import CommandError

from config.ops.commands import WorkerCommand
from credit.deciding import FAILED, decide_scored


class Command(WorkerCommand):
    help = "With DECISIONING=automatic approve and decline applications by their scores, until SIGTERM; or --once."
    no_progress = frozenset({FAILED})

    def work(self, *, now: datetime) -> dict[str, int]:
        return decide_scored(now=now)

    def run(self, **options: Any) -> dict[str, Any]:
        counts = super().run(**options)
        if options["once"] and counts[FAILED]:
            raise CommandError(f"{counts[FAILED]} applications could not be decided; they are tried again later.")
        return counts
