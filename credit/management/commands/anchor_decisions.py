from datetime import datetime

from config.ops.commands import WorkerCommand
from credit.anchoring.services import anchor_due


class Command(WorkerCommand):
    help = "Anchor what is decided, accepted and published in the ledger, until SIGTERM; with --once what is due now."
    fault = "{failed} records could not be anchored; they are tried again later."

    def work(self, *, now: datetime) -> dict[str, int]:
        return anchor_due(now=now)
