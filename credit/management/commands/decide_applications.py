from datetime import datetime

from config.ops.commands import WorkerCommand
from credit.review.automatic import FAILED, decide_scored


class Command(WorkerCommand):
    help = "With DECISIONING=automatic approve and decline applications by their scores, until SIGTERM; or --once."
    fault = "{failed} applications could not be decided; they are tried again later."
    no_progress = frozenset({FAILED})

    def work(self, *, now: datetime) -> dict[str, int]:
        return decide_scored(now=now)
