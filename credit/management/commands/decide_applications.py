from datetime import datetime

from config.ops.commands import WorkerCommand
from credit.reports.services import collect
from credit.review.automatic import FAILED, decide_scored
from credit.scoring.waiting import score_waiting


class Command(WorkerCommand):
    help = (
        "Collect reports of vendors, and score what waited for them; with DECISIONING=automatic decide by scores. "
        "Until SIGTERM; or --once."
    )
    fault = "{failed} applications could not be decided; they are tried again later."
    no_progress = frozenset({FAILED})

    def work(self, *, now: datetime) -> dict[str, int]:
        collected = collect(now=now)
        scored, failed = score_waiting(now=now)
        decided = decide_scored(now=now)
        failed += decided[FAILED] + collected[FAILED]
        return {**decided, "reports": collected["finished"], "scored": scored, FAILED: failed}
