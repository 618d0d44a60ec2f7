from datetime import datetime

from django.utils import timezone

from config.ops.commands import WorkerCommand
from credit.notices.services import issue_due


class Command(WorkerCommand):
    help = "Make the notices that people are owed, hand them over, and name what ran out; until SIGTERM, or --once."
    no_progress = frozenset({"waiting"})

    def work(self, *, now: datetime) -> dict[str, int]:
        return issue_due(now=now)

    def work_once(self) -> dict[str, int]:
        totals = self.work(now=timezone.now())
        while any((done := self.work(now=timezone.now())).values()):
            totals = {name: totals[name] + count for name, count in done.items()}
        return totals
