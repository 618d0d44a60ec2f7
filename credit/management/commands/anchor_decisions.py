from datetime import datetime

from config.ops.commands import WorkerCommand
from credit.anchoring.services import anchor_due


class Command(WorkerCommand):
    help = (
        "Anchor decisions, acceptances, withdrawals from contracts, notices, and publications, until SIGTERM. "
        "With --once, anchor what is due now, and exit."
    )
    fault = "{failed} records could not be anchored; they are tried again later."

    def work(self, *, now: datetime) -> dict[str, int]:
        return anchor_due(now=now)
