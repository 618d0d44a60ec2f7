from datetime import datetime

from config.ops.commands import WorkerCommand
from credit.notices.services import issue_due


class Command(WorkerCommand):
    help = "Create and deliver due notices, and report missed deadlines, until SIGTERM or with --once."
    takes_a_part = True
    no_progress = frozenset({"waiting", "errors"})
    fault, fault_count = "{errors} notices or deadlines failed; they are tried again later.", "errors"

    def work(self, *, now: datetime) -> dict[str, int]:
        return issue_due(now=now)
