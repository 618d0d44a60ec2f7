from datetime import datetime

from config.ops.commands import WorkerCommand
from credit.reports.services import collect
from credit.review.automatic import FAILED, decide_scored


class Command(WorkerCommand):
    help = "Collect reports of vendors; with DECISIONING=automatic decide by scores. Until SIGTERM; or --once."
    fault = "{failed} applications could not be decided; they are tried again later."
    no_progress = frozenset({FAILED})

    def work(self, *, now: datetime) -> dict[str, int]:
        collected = collect(now=now)
        decided = decide_scored(now=now)
        return {**decided, "reports": collected["finished"], FAILED: decided[FAILED] + collected[FAILED]}
