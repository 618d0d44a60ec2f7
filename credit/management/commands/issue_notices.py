from datetime import datetime

from config.ops.commands import WorkerCommand
from credit.notices.services import issue_due


class Command(WorkerCommand):
    help = "Make the notices that people are owed, hand them over, and name what ran out; until SIGTERM, or --once."
    takes_a_part = True
    no_progress = frozenset({"waiting", "errors"})
    fault, fault_count = "{errors} notices or clocks failed; they are tried again later.", "errors"

    def work(self, *, now: datetime) -> dict[str, int]:
        return issue_due(now=now)
