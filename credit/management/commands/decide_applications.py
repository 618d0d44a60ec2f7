from datetime import datetime

from config.ops.commands import WorkerCommand
from credit.reports.services import collect
from credit.review.automatic import FAILED, decide_scored
from credit.scoring.facts_of import score_waiting


class Command(WorkerCommand):
    help = (
        "Collect reports of vendors, and score the applications that wait for them, until SIGTERM or with --once. With "
        "DECISIONING=automatic, also decide by score."
    )
    fault = "{failed} applications could not be decided; they are tried again later."
    no_progress = frozenset({FAILED})

    def work(self, *, now: datetime) -> dict[str, int]:
        collected = collect(now=now)
        scored, failed = score_waiting(now=now)
        decided = decide_scored(now=now)
        failed += decided[FAILED] + collected[FAILED]
        return {**decided, "reports": collected["finished"], "scored": scored, FAILED: failed}
